#include "view/info_source.h"

#include "controllers/profiles/config.h"
#include "controllers/profiles/controller.h"
#include "controllers/profiles/decision.h"
#include "controllers/profiles/hosted.h"
#include "controllers/profiles/info.h"
#include "controllers/profiles/outbox.h"
#include "controllers/profiles/outcome.h"
#include "kube/node.h"
#include "replica/replica.h"
#include "web/info.h"

namespace careen::view {

using replica::Replica;

namespace {

using profiles::NodeInfo;

// One node after the other, decided again when it is its turn.
class Nodes {
 public:
  explicit Nodes(Replica& replica) : replica_(replica) {}

  std::optional<NodeInfo> next(std::string_view after) {
    const kube::Node* node = replica_.nodes().next(after);
    const profiles::Controller* controller = profiles::controller_in(replica_.hosted());
    if (!node || !controller || !controller->config()) return std::nullopt;
    decision_ = controller->explain(node->name);
    NodeInfo info{node->name,
                  decision_.profiles,
                  profiles::shown_labels(*node, controller->config()->dashboard_label_filter),
                  replica_.now(),
                  pending_notifications(*node, controller),
                  {}};
    for (const profiles::ProfileOutcome& profile : decision_.profiles) {
      if (profile.wake) info.wakes.emplace_back(profile.name, *profile.wake);
    }
    return info;
  }

 private:
  Replica& replica_;
  profiles::Decision decision_;
};

}  // namespace

std::vector<profiles::PendingNotification> pending_notifications(const kube::Node& node,
                                                                 const profiles::Controller* controller) {
  static const profiles::Deliveries kNone;
  const profiles::Deliveries& deliveries = controller ? controller->deliveries() : kNone;
  std::vector<profiles::PendingNotification> all;
  const auto messages = profiles::outbox_of(node);
  if (!messages) return all;
  for (const profiles::OutboxMessage& message : *messages) {
    const std::string id = message.id();
    if (deliveries.sent(node.uid, id)) continue;
    const profiles::Deliveries::Attempt* attempt = deliveries.attempt(node.uid, id);
    const bool waits = deliveries.turn(node.uid, id) == profiles::Deliveries::Turn::waits;
    all.push_back({message.instance, message.profile, attempt ? attempt->tries : 0,
                   attempt ? attempt->error
                   : waits ? std::string(profiles::kTooManyMessages)
                           : std::string(),
                   message.at});
  }
  return all;
}

web::InfoSource info_source(Replica& replica) {
  web::InfoSource source;
  source.leading = [&replica] { return replica.running(); };
  source.document = [&replica]() -> web::Pieces {
    const auto nodes = std::make_shared<Nodes>(replica);
    const auto pieces =
        std::make_shared<profiles::InfoPieces>([nodes](std::string_view after) { return nodes->next(after); });
    return [pieces](std::string& into) { return pieces->read(into); };
  };
  return source;
}

}  // namespace careen::view
