#include "profiles/info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "kube/json_text.h"
#include "kube/node.h"

namespace careen::profiles {

namespace {

using kube::append_json_text;

// About this much is made in one go: some 30 nodes with a few checks each.
constexpr size_t kPiece = 64 << 10;

// Writes `{"key":…,"key":…}`, and the same for arrays without keys.
class Members {
 public:
  Members(std::string& out, char open, char close) : out_(out), close_(close) { out_ += open; }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() { out_ += close_; }
  std::string& next() {
    if (!first_) out_ += ',';
    first_ = false;
    return out_;
  }
  std::string& next(std::string_view key) {
    append_json_text(next(), key);
    out_ += ':';
    return out_;
  }

 private:
  std::string& out_;
  char close_;
  bool first_ = true;
};

void append(std::string& out, std::string_view text) { append_json_text(out, text); }
void append(std::string& out, const std::string& text) { append_json_text(out, text); }
void append(std::string& out, bool yes) { out += yes ? "true" : "false"; }
void append(std::string& out, io::Wall time) { append_json_text(out, io::format_rfc3339(time)); }
void append(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "\"NaN\"";
  } else if (std::isinf(number)) {
    out += number > 0 ? "\"+Inf\"" : "\"-Inf\"";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", number);
  }
}
template <class T>
void append(std::string& out, const std::vector<T>& values) {
  Members array(out, '[', ']');
  for (const T& value : values) append(array.next(), value);
}

// The first value of a key is kept: checks report what matters first.
void append_check_info(std::string& out, const CheckOutcome& check) {
  std::map<std::string_view, const InfoValue*> sorted;
  for (const auto& [key, value] : check.info) sorted.emplace(key, &value);
  const InfoValue error = check.error;
  if (!check.error.empty()) sorted.emplace("error", &error);
  Members info(out, '{', '}');
  for (const auto& [key, value] : sorted) {
    std::visit([&, name = key](const auto& v) { append(info.next(name), v); }, *value);
  }
}

void append_check(std::string& out, const CheckOutcome& check) {
  Members members(out, '{', '}');
  append(members.next("id"), check.type);
  append(members.next("passed"), check.passed);
  append_check_info(members.next("info"), check);
  if (!check.reason.empty()) append(members.next("reason"), check.reason);
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
  append(members.next("passed"), transition.passed);
  append(members.next("target"), name_of(transition.target));
  append(members.next("error"), transition.error);
  Members chain(members.next("chain"), '{', '}');
  append(chain.next("passed"), transition.chain_passed);
  append(chain.next("expression"), transition.expression);
  append_checks(chain.next("info"), transition.checks);
}

void append_applied(std::string& out, const ProfileOutcome& profile) {
  Members applied(out, '{', '}');
  append(applied.next("next"), profile.next);
  append(applied.next("error"), profile.error);
  Members transitions(applied.next("transitions"), '[', ']');
  for (const TransitionOutcome& transition : profile.transitions) append_transition(transitions.next(), transition);
}

void append_profile(std::string& out, const ProfileOutcome& profile, const NodeInfo& node) {
  Members members(out, '{', '}');
  append(members.next("name"), profile.name);
  append(members.next("state"), profile.state);
  append_applied(members.next("applied"), profile);
  const auto wake = std::find_if(node.wakes.begin(), node.wakes.end(),
                                 [&](const auto& candidate) { return candidate.first == profile.name; });
  if (wake != node.wakes.end()) append(members.next("wake"), wake->second);
}

void append_pending(std::string& out, const PendingNotification& pending) {
  Members members(out, '{', '}');
  append(members.next("instance"), pending.instance);
  append(members.next("profile"), pending.profile);
  members.next("attempts") += std::to_string(pending.attempts);
  append(members.next("error"), pending.error);
  append(members.next("since"), pending.since);
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
  append(members.next("node"), node.name);
  {
    Members profiles(members.next("profiles"), '[', ']');
    for (const ProfileOutcome& profile : node.profiles) append_profile(profiles.next(), profile, node);
  }
  {
    Members labels(members.next("labels"), '{', '}');
    for (const auto& [key, value] : node.labels) append(labels.next(key), value);
  }
  append(members.next("updated"), node.updated);
  Members pending(members.next("pending"), '[', ']');
  for (const PendingNotification& notification : node.pending) append_pending(pending.next(), notification);
}

std::string info_document(std::vector<NodeInfo> nodes) {
  std::vector<const NodeInfo*> sorted;
  sorted.reserve(nodes.size());
  for (const NodeInfo& node : nodes) sorted.push_back(&node);
  std::sort(sorted.begin(), sorted.end(), [](const NodeInfo* a, const NodeInfo* b) { return a->name < b->name; });
  std::string out;
  {
    Members elements(out, '[', ']');
    for (const NodeInfo* node : sorted) append_node_info(elements.next(), *node);
  }
  return out;
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
