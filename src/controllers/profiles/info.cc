#include "controllers/profiles/info.h"

#include <algorithm>
#include <map>

#include "kube/json_writer.h"
#include "kube/node.h"

namespace careen::profiles {

namespace {

using kube::append_json;
using kube::Members;

// About this much is made in one go: some 30 nodes with a few checks each.
constexpr size_t kPiece = 64 << 10;

// The first value of a key is kept: checks report what matters first.
void append_check_info(std::string& out, const CheckOutcome& check) {
  std::map<std::string_view, const InfoValue*> sorted;
  for (const auto& [key, value] : check.info) sorted.emplace(key, &value);
  const InfoValue error = check.error;
  if (!check.error.empty()) sorted.emplace("error", &error);
  Members info(out, '{', '}');
  for (const auto& [key, value] : sorted) {
    std::visit([&, name = key](const auto& v) { append_json(info.next(name), v); }, *value);
  }
}

void append_check(std::string& out, const CheckOutcome& check) {
  Members members(out, '{', '}');
  append_json(members.next("id"), check.type);
  append_json(members.next("passed"), check.passed);
  append_check_info(members.next("info"), check);
  if (!check.reason.empty()) append_json(members.next("reason"), check.reason);
}

// A chain may ask an instance more than once; the last answer is shown.
void append_checks(std::string& out, const std::vector<CheckOutcome>& checks) {
  std::map<std::string_view, const CheckOutcome*> sorted;
  for (const CheckOutcome& check : checks) sorted.insert_or_assign(check.instance, &check);
  Members members(out, '{', '}');
  for (const auto& [instance, check] : sorted) append_check(members.next(instance), *check);
}

void append_transition(std::string& out, const TransitionOutcome& transition) {
  Members members(out, '{', '}');
  append_json(members.next("passed"), transition.passed);
  append_json(members.next("target"), name_of(transition.target));
  append_json(members.next("error"), transition.error);
  Members chain(members.next("chain"), '{', '}');
  append_json(chain.next("passed"), transition.chain_passed);
  append_json(chain.next("expression"), transition.expression);
  append_checks(chain.next("info"), transition.checks);
}

void append_applied(std::string& out, const ProfileOutcome& profile) {
  Members applied(out, '{', '}');
  append_json(applied.next("next"), profile.next);
  append_json(applied.next("error"), profile.error);
  for (const Why& why : profile.held_up) {
    if (why.code == Why::Code::paused) append_json(applied.next("reason"), why.text);
  }
  Members transitions(applied.next("transitions"), '[', ']');
  for (const TransitionOutcome& transition : profile.transitions) append_transition(transitions.next(), transition);
}

void append_profile(std::string& out, const ProfileOutcome& profile, const NodeInfo& node) {
  Members members(out, '{', '}');
  append_json(members.next("name"), profile.name);
  append_json(members.next("state"), profile.state);
  append_applied(members.next("applied"), profile);
  const auto wake = std::find_if(node.wakes.begin(), node.wakes.end(),
                                 [&](const auto& candidate) { return candidate.first == profile.name; });
  if (wake != node.wakes.end()) append_json(members.next("wake"), wake->second);
}

void append_pending(std::string& out, const PendingNotification& pending) {
  Members members(out, '{', '}');
  append_json(members.next("instance"), pending.instance);
  append_json(members.next("profile"), pending.profile);
  members.next("attempts") += std::to_string(pending.attempts);
  append_json(members.next("error"), pending.error);
  append_json(members.next("since"), pending.since);
}

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> shown_labels(const kube::Node& node,
                                                                        const std::vector<std::string>& filter) {
  std::map<std::string_view, std::string_view> shown;
  for (const std::string& key : filter) {
    if (const kube::Atom* value = node.label(key)) shown.emplace(key, value->view());
  }
  return {shown.begin(), shown.end()};
}

void append_node_info(std::string& out, const NodeInfo& node) {
  Members members(out, '{', '}');
  append_json(members.next("node"), node.name);
  {
    Members profiles(members.next("profiles"), '[', ']');
    for (const ProfileOutcome& profile : node.profiles) append_profile(profiles.next(), profile, node);
  }
  {
    Members labels(members.next("labels"), '{', '}');
    for (const auto& [key, value] : node.labels) append_json(labels.next(key), value);
  }
  append_json(members.next("updated"), node.updated);
  Members pending(members.next("pending"), '[', ']');
  for (const PendingNotification& notification : node.pending) append_pending(pending.next(), notification);
}

bool InfoPieces::read(std::string& into) {
  if (state_ == State::complete) return false;
  const size_t enough = into.size() + kPiece;
  while (into.size() < enough) {
    const std::optional<NodeInfo> node = next_(last_);
    if (state_ == State::nothing) into += '[';
    if (!node) {
      into += ']';
      state_ = State::complete;
      return true;
    }
    if (state_ == State::nodes) into += ',';
    state_ = State::nodes;
    last_ = node->name;
    append_node_info(into, *node);
  }
  return true;
}

}  // namespace careen::profiles
