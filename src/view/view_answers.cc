#include "view/view_answers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "controllers/slot/controller.h"
#include "controllers/slot/kind.h"
#include "kube/cache.h"
#include "kube/lock.h"
#include "kube/node.h"
#include "replica/controllers.h"
#include "replica/replica.h"
#include "view/changes.h"
#include "view/fleet.h"
#include "view/story.h"

namespace careen::view {

namespace {

// Without a leader to ask, or being it, a replica answers itself, also while it cannot decide for want of a valid
// configuration: the problem is then part of what it shows.
bool answers_itself(const replica::Replica& replica) {
  return !replica.options().leader_election || replica.election().leading();
}

std::string unknown(const replica::Replica& replica) {
  const bool about_nodes = std::ranges::any_of(replica.hosted(), [](const auto& one) { return one.kind.nodes; });
  if (!about_nodes && !replica.hosted().empty()) return {};
  return replica.nodes().position() == 0 ? "the nodes have not been listed yet" : std::string();
}

}  // namespace

web::ViewAnswers view_answers(Shown shown, Changes& changes, std::function<io::Task<std::string>(int hours)> plan) {
  web::ViewAnswers answers;
  replica::Replica& replica = shown.replica;
  answers.leading = [&replica] { return answers_itself(replica); };
  answers.unknown = [&replica] { return unknown(replica); };
  answers.fleet = [shown]() -> web::Pieces {
    const auto pieces = std::make_shared<FleetPieces>(shown);
    return [pieces](std::string& into) { return pieces->read(into); };
  };
  answers.stream = [&changes] { return changes.listen(); };
  answers.node = [shown](std::string_view name) { return story(shown, name); };
  for (const controllers::Kind* kind : replica::object_kinds()) {
    const kube::Resource& object = kind->object;
    answers.objects[object.plural] = {object.kind,
                                      [shown, &object](std::string_view name) -> std::optional<std::string> {
                                        const auto node = node_of_object(shown.replica, object.plural, name);
                                        return node ? story(shown, *node) : std::nullopt;
                                      }};
  }
  for (const controllers::Kind* kind : replica::controller_kinds()) {
    if (kind->explained.empty()) continue;
    const std::string plural(kind->explained);
    answers.objects[plural] = {std::string(kind->event_source), [shown, plural](std::string_view name) {
                                 return told_document(shown.replica, plural, name);
                               }};
  }
  answers.timeline = [shown](std::string_view node) { return timeline_document(shown, node); };
  answers.plan = std::move(plan);
  return answers;
}

}  // namespace careen::view
