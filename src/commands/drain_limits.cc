#include "commands/drain_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "drain/holds.h"
#include "kube/decode.h"
#include "kube/node_decoder.h"
#include "limits/limit.h"
#include "limits/waits_text.h"

namespace careen::app {

using io::Task;

namespace {
// A node that still waits says so again, with what has become of its turn.
constexpr io::Duration kTellAgain = io::minutes{5};
}  // namespace

DrainLimits::DrainLimits(KubeSession& session, int page_size)
    : session_(session),
      page_size_(page_size),
      since_(session.now()),
      ledger_(session.loop, session.client, session.problems, io::Log(), session.metrics, std::nullopt) {}

Task<bool> DrainLimits::find(const std::vector<kube::Node>& nodes) {
  bool concerned = false;
  const auto listed =
      co_await read_list(session_, limits::kLimitResource, "", [&](kube::RawObject& raw) -> io::Result<bool> {
        auto object = kube::decode_object(raw);
        if (!object) return tl::make_unexpected(object.error());
        const limits::Limit limit = limits::parse_limit(*object);
        concerned |= limit.subject == limits::Subject::node &&
                     std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) { return limit.selects(node); });
        return true;
      });
  if (!listed && listed.error().not_found()) co_return true;
  if (!listed && listed.error().forbidden()) {
    session_.screen.note(fmt::format("MaintenanceLimits may not be read: {}; the drain does not wait for them.",
                                     listed.error().message));
    co_return true;
  }
  if (!listed) {
    session_.screen.error(fmt::format("MaintenanceLimits cannot be read: {}; --ignore-limits drains nevertheless",
                                      server_error(listed.error())));
    co_return false;
  }
  if (!concerned) co_return true;
  nodes_ = std::make_unique<kube::Watched<kube::Node>>(
      session_.watch_parts(), kube::ReflectorOptions{.resource = kube::resources::nodes, .page_size = page_size_},
      session_.nodes);
  limits_ = std::make_unique<kube::Watched<kube::Object>>(
      session_.watch_parts(), kube::ReflectorOptions{.resource = limits::kLimitResource, .page_size = page_size_},
      [](kube::RawObject& raw) { return kube::decode_object(raw); });
  desk_ = std::make_unique<limits::Desk>(session_.loop, nodes_->store(), limits_->store(), ledger_);
  told_ = desk_->on_turn([this](const std::string& node, const std::string&) {
    if (const auto turn = turns_.find(node); turn != turns_.end()) turn->second.notify();
  });
  nodes_->start();
  limits_->start();
  co_await nodes_->synced_gate().wait();
  co_await limits_->synced_gate().wait();
  desk_->known();
  co_return true;
}

limits::Asking DrainLimits::asking(const std::string& node) const {
  return {.node = node, .who = session_.owner, .actor = session_.owner, .rank = limits::Rank::person, .since = since_};
}

bool DrainLimits::has_cordoned(const kube::Node& node) const {
  return node.unschedulable && node.annotation(drain::kHoldsAnnotation) &&
         drain::holds_of(node).by_owner.contains(session_.owner);
}

std::optional<limits::Desk::Answer> DrainLimits::refusal(const kube::Node& node) {
  if (!desk_) return std::nullopt;
  if (!has_cordoned(node)) {
    limits::Desk::Answer answer = desk_->ask(asking(node.name), limits::Desk::Detail::text);
    if (!answer.allowed) return answer;
  }
  desk_->take({node.name, node.uid, session_.owner, session_.owner, session_.now()});
  return std::nullopt;
}

std::string DrainLimits::foresee(const kube::Node& node) {
  const auto refused = refusal(node);
  return refused ? limits::waits_text(refused->text) : std::string();
}

Task<void> DrainLimits::turn(kube::Node node, std::function<void(const std::string&)> tell) {
  std::string told;
  for (auto refused = refusal(node); refused; refused = refusal(node)) {
    if (refused->text != told) tell(limits::waits_text(told = refused->text));
    desk_->wait(asking(node.name));
    io::Signal& mine = turns_.try_emplace(node.name, session_.loop).first->second;
    io::Duration patience = kTellAgain;
    if (refused->changes_at) patience = std::clamp<io::Duration>(*refused->changes_at - session_.now(), {}, patience);
    co_await heard_within(session_.loop, patience, mine);
  }
}

void DrainLimits::give_up(const std::string& node) {
  if (desk_) desk_->release(node, session_.owner);
}

}  // namespace careen::app
