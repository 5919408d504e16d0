#include "message_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "controllers/profiles/names.h"
#include "controllers/profiles/outbox.h"

namespace careen::explore {

using profiles::State;

namespace {

std::string key_of(const std::string& uid, std::string_view profile, std::string_view state, io::Wall since) {
  return fmt::format("{} {} {} {}", uid, profile, state, since.time_since_epoch().count());
}

std::string outbox_of(const NodeFacts& node) {
  const auto found = node.annotations.find(profiles::kOutboxAnnotation);
  return found == node.annotations.end() ? "" : found->second;
}

// What its outbox has, as expected messages are named.
std::set<std::string> waiting_of(const NodeFacts& node) {
  std::set<std::string> waiting;
  const auto messages = profiles::parse_outbox(outbox_of(node));
  if (!messages) return waiting;
  for (const profiles::OutboxMessage& message : *messages) {
    const std::string_view state = message.state ? name_of(*message.state) : std::string_view{};
    waiting.insert(fmt::format("{} {}", message.instance, key_of(node.uid, message.profile, state, message.since)));
  }
  return waiting;
}

}  // namespace

const Telling* MessageWatch::find(std::string_view instance) const {
  for (const Plan& plan : settings_.plans) {
    for (const Telling& telling : plan.tellings) {
      if (telling.name == instance) return &telling;
    }
  }
  return nullptr;
}

void MessageWatch::seen(const NodeFacts& node) {
  std::erase_if(attached_, [&](const std::string& known) {
    return known.starts_with(node.uid) && !node.profile(known.substr(known.find(' ') + 1));
  });
  if (!node.data) return;
  for (const auto& [name, profile] : node.data->profiles) {
    // A new one begins operational, and may leave that with the same write.
    if (attached_.insert(fmt::format("{} {}", node.uid, name)).second) {
      true_.insert(key_of(node.uid, name, name_of(State::operational), profile.transition));
    }
    true_.insert(key_of(node.uid, name, profile.current.text(), profile.transition));
  }
}

void MessageWatch::expect(const std::string& instance, const std::string& key) {
  expected_.emplace(fmt::format("{} {}", instance, key), key.substr(0, key.find(' ')));
}

void MessageWatch::moved(const Plan& plan, const NodeFacts& before, const NodeFacts& after) {
  // Decided while there were notifications; but what waits is dropped when there are none any more.
  if (!muted_.empty()) return;
  const auto* to = after.profile(plan.name);
  const auto* from = before.profile(plan.name);
  Entered& entered = entered_[fmt::format("{} {}", after.uid, plan.name)];
  if (from && entered.at == from->transition) {
    for (const Telling& telling : plan.tellings) {
      const bool due = entered.oneshots.contains(telling.name) && to->transition - from->transition >= telling.span;
      if (due) expect(telling.name, entered.key);
    }
  }
  entered = {key_of(after.uid, plan.name, to->current.text(), to->transition), to->transition, {}};
  for (const Telling& telling : plan.tellings) {
    if (!telling.tells(*to->current.known())) continue;
    if (telling.when == Telling::When::periodic) expect(telling.name, entered.key);
    if (telling.when != Telling::When::oneshot) continue;
    const auto last = before.data->notifications.find(telling.name);
    // With the clock of another leader the last one may seem to have been later.
    if (last == before.data->notifications.end() || last->second <= to->transition)
      entered.oneshots.insert(telling.name);
  }
}

void MessageWatch::altered(const NodeFacts& now) {
  altered_.insert(now.uid);
  const std::set<std::string> waiting = waiting_of(now);
  std::erase_if(expected_, [&](const auto& expected) {
    return expected.second == now.uid && !told_.contains(expected.first) && !waiting.contains(expected.first);
  });
  std::erase_if(entered_, [&](const auto& entered) { return entered.first.starts_with(now.uid); });
}

void MessageWatch::gone(const std::string& uid) {
  std::erase_if(expected_, [&](const auto& expected) { return expected.second == uid; });
  std::erase_if(entered_, [&](const auto& entered) { return entered.first.starts_with(uid); });
}

void MessageWatch::configured(const std::string& replica, bool muted) {
  if (!muted) {
    muted_.erase(replica);
    return;
  }
  muted_.insert(replica);
  was_muted_ = true;
  // What waits is dropped with its notification.
  std::erase_if(expected_, [&](const auto& expected) { return !told_.contains(expected.first); });
  entered_.clear();
}

void MessageWatch::arrived(const sim::Outside::Message& message) {
  if (message.way == "slackThread" && message.thread.empty()) return title_arrived(message);
  std::istringstream words(message.text);
  std::string instance, node, uid, profile, state;
  int64_t since = 0;
  words >> instance >> node >> uid >> profile >> state >> since;
  const std::string key = key_of(uid, profile, state, io::Wall{io::Duration{since}});
  const Telling* telling = find(instance);
  if (!telling) return report_("message", "nobody has asked for: " + message.text);
  const auto forged = forged_.find(uid);
  if (!true_.contains(key)) {
    // A forged record names no state; its message is sent once, unless repetitions are allowed.
    if (forged != forged_.end() && (repeats_are_fine_ || forged->second-- > 0)) return;
    return report_("message", "this was never so: " + message.text);
  }
  ++told_nodes_[fmt::format("{} {}", instance, uid)];
  check_count(*telling, uid, io::Wall{io::Duration{since}}, ++told_[fmt::format("{} {}", instance, key)], message.at);
}

void MessageWatch::check_count(const Telling& telling, const std::string& uid, io::Wall transition, int count,
                               io::Wall now) {
  if (repeats_are_fine_) return;
  const auto forged = forged_.find(uid);
  int64_t most = 1 + (forged == forged_.end() ? 0 : forged->second);
  if (telling.when == Telling::When::periodic) most += (now + skews_ - transition) / telling.span;
  if (telling.when == Telling::When::scheduled) {
    // Removing careen's data makes it forget what it has announced.
    if (altered_.contains(uid)) return;
    count = told_nodes_[fmt::format("{} {}", telling.name, uid)];
  }
  if (count > most)
    report_("message", fmt::format("{} told {} times of the same of node {}", telling.name, count, uid));
}

void MessageWatch::title_arrived(const sim::Outside::Message& message) {
  if (message.text.find(kForgedText) != std::string::npos) report_("message", "a stranger's title: " + message.text);
  if (last_title_ && !repeats_are_fine_ && !thread_broken_ && message.at - *last_title_ <= kThreadPeriod - stepped_) {
    report_("message", "a second thread was opened within the period of the first");
  }
  last_title_ = message.at;
}

void MessageWatch::check_end(const std::map<std::string, NodeFacts, std::less<>>& nodes, io::Wall now) {
  for (const auto& [name, node] : nodes) {
    if (!outbox_of(node).empty()) report_("message", fmt::format("node {} still has messages to send", name));
  }
  for (const auto& [key, entered] : entered_) {
    for (const std::string& instance : entered.oneshots) {
      if (now - entered.at > find(instance)->span + io::minutes{1}) expect(instance, entered.key);
    }
  }
  for (const auto& [expected, uid] : expected_) {
    if (!told_.contains(expected)) report_("message", "nobody was told: " + expected);
  }
  for (const Plan& plan : settings_.plans) {
    for (const Telling& telling : plan.tellings) {
      if (telling.when == Telling::When::scheduled) check_scheduled(telling, plan.name, nodes);
    }
  }
}

void MessageWatch::check_scheduled(const Telling& telling, const std::string& profile,
                                   const std::map<std::string, NodeFacts, std::less<>>& nodes) {
  if (was_muted_) return;
  for (const auto& [name, node] : nodes) {
    const auto named = node.named_profiles();
    if (altered_.contains(node.uid) || std::find(named.begin(), named.end(), profile) == named.end()) continue;
    if (!told_nodes_.contains(fmt::format("{} {}", telling.name, node.uid))) {
      report_("message", fmt::format("{} did not tell of node {} on its day", telling.name, name));
    }
  }
}

}  // namespace careen::explore
