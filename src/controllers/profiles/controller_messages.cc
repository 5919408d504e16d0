// Messages: what lies in a node's outbox goes to the courier, and what was sent is noted so that the next write of the
// node takes it out.
#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/config.h"
#include "controllers/profiles/controller.h"
#include "controllers/profiles/message_text.h"
#include "controllers/profiles/names.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/redact.h"
#include "kube/client.h"
#include "kube/node.h"
#include "kube/node_document.h"
#include "templates/analysis.h"

namespace careen::profiles {

using io::Task;

namespace {

// A process that stops has a few seconds for all it does.
constexpr io::Duration kDrainMessages = io::seconds{5};
// Between two tries to fetch a node for a message.
constexpr io::Duration kFetchAgain = io::seconds{5};

const NotifyInstance* find_notify(const Config& config, std::string_view name) {
  const auto found = std::find_if(config.notifies.begin(), config.notifies.end(),
                                  [&](const NotifyInstance& instance) { return instance.name == name; });
  return found == config.notifies.end() ? nullptr : &*found;
}

bool is_current(const Config& config, std::string_view name, const notify::Sender& sender) {
  const NotifyInstance* instance = find_notify(config, name);
  return instance && instance->notify->sender().get() == &sender;
}

std::optional<OutboxMessage> find_message(const kube::Node& node, std::string_view id) {
  const auto messages = outbox_of(node);
  if (!messages) return std::nullopt;
  const auto found = std::find_if(messages->begin(), messages->end(),
                                  [&](const OutboxMessage& message) { return message.id() == id; });
  return found == messages->end() ? std::nullopt : std::optional(*found);
}

std::string ration_problem(const std::string& node) { return "messages node/" + node; }

std::string parcel_id(const std::string& uid, const std::string& message) { return uid + "/" + message; }

}  // namespace

void Controller::collect_all_messages() {
  if (!running_ || !config_) return;
  // With another configuration the same message may go another way, unless it is on its way just now: it would arrive
  // twice.
  std::erase_if(parcels_, [&](const auto& item) {
    if (courier_.is_flying(item.first)) return false;
    courier_.forget(item.first);
    return true;
  });
  p_.nodes.for_each([&](const kube::Node& node) { collect_messages(node); });
}

void Controller::collect_messages(const kube::Node& node) {
  if (!running_ || options_.dry_run) return;
  const auto messages = outbox_of(node);
  if (!messages) return;  // the next decision removes it
  deliveries_.keep_only(node.uid, *messages);
  drop_messages(node.uid, *messages);
  for (const OutboxMessage& message : *messages) {
    const std::string id = message.id();
    const std::string parcel = parcel_id(node.uid, id);
    if (deliveries_.sent(node.uid, id) || parcels_.contains(parcel)) continue;
    const NotifyInstance* instance = notification_of(*config_, message);
    if (!instance) {
      p_.log.warn("a message waits whose notification is no longer configured; it is dropped", "node", node.name,
                  "instance", message.instance);
      deliveries_.set_sent(node.uid, id, p_.loop.wall_now());
      queue_.wake(node.name);
      continue;
    }
    // Those after it do not overtake it.
    if (!has_turn(node, id) || !has_text(node, message, *instance)) return;
    const auto sender = instance->notify->sender();
    parcels_.emplace(parcel, Parcel{node.name, node.uid, id, message.instance, sender});
    courier_.add({.id = parcel,
                  .lane = node.name,
                  .instance = message.instance,
                  .message = *deliveries_.text(node.uid, id),
                  .sender = sender});
  }
  end_ration(node.name);
}

bool Controller::has_turn(const kube::Node& node, const std::string& id) {
  using Turn = Deliveries::Turn;
  if (deliveries_.turn(node.uid, id) == Turn::given) return true;
  const auto later = ration_.take(node.name, p_.loop.now());
  deliveries_.set_turn(node.uid, id, later ? Turn::waits : Turn::given);
  if (!later) return true;
  p_.problems.raise(ration_problem(node.name),
                    fmt::format("node {} has sent very many messages; the rest of them waits, and one goes every {}",
                                node.name, io::format_duration(ration_.pace())));
  rationed_[node.name] = *later;
  arm_ration();
  return false;
}

void Controller::end_ration(const std::string& node) {
  if (rationed_.erase(node) > 0) p_.problems.clear(ration_problem(node));
}

void Controller::collect_rationed() {
  const io::Steady now = p_.loop.now();
  for (const auto& [name, when] : std::map(rationed_)) {
    const kube::Node* node = p_.nodes.find(name);
    if (!node) end_ration(name);
    if (!node || when > now) continue;
    // Should it wait for something else.
    rationed_[name] = now + ration_.pace();
    collect_messages(*node);
  }
  arm_ration();
}

void Controller::arm_ration() {
  const auto sooner = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto first = std::min_element(rationed_.begin(), rationed_.end(), sooner);
  if (first != rationed_.end()) ration_alarm_.set(first->second);
}

// What another process has left, or somebody has forged: it says what the template says, and nothing else.
bool Controller::has_text(const kube::Node& node, const OutboxMessage& message, const NotifyInstance& instance) {
  const std::string id = message.id();
  if (deliveries_.text(node.uid, id)) return true;
  if (instance.notify->fields().whole) {
    if (rendering_.insert(parcel_id(node.uid, id)).second) acting_.spawn(render_whole(node.name, node.uid, id));
    return false;
  }
  const OutboxMessage about = completed(message, node, *config_);
  const kube::Json document = kube::node_document(node);
  deliveries_.set_text(node.uid, id, render_message(instance, about, node.name, document.view(), *config_));
  return true;
}

// It prints all of the node, which is not cached.
Task<void> Controller::render_whole(std::string name, std::string uid, std::string id) {
  for (;;) {
    const auto answer = co_await p_.client.get(kube::resources::nodes, "", name);
    const auto document = kube::Json::parse(answer ? *answer : std::string());
    const kube::Node* node = p_.nodes.find(name);
    const auto message = node && node->uid == uid ? find_message(*node, id) : std::nullopt;
    const NotifyInstance* instance = message ? notification_of(*config_, *message) : nullptr;
    if (instance && !document) {
      co_await io::sleep_for(p_.loop, kFetchAgain);
      continue;
    }
    if (instance) {
      const OutboxMessage about = completed(*message, *node, *config_);
      deliveries_.set_text(uid, id, render_message(*instance, about, name, document->view(), *config_));
    }
    rendering_.erase(parcel_id(uid, id));
    if (node) collect_messages(*node);
    co_return;
  }
}

// What the decision has rendered is sent unchanged, once the write that records it has taken effect. What an earlier
// decision rendered and could not write is forgotten.
void Controller::keep_texts(const std::string& key, const Decision& decision) {
  if (decision.effects.posted.empty()) return;
  const kube::Node* node = p_.nodes.find(key);
  deliveries_.keep_only(decision.uid, outbox_of(*node).value_or(std::vector<OutboxMessage>{}));
  for (const RenderedMessage& due : decision.effects.posted)
    deliveries_.set_text(decision.uid, due.what.id(), due.message);
}

// What no longer is in the outbox of that node is not to be sent.
void Controller::drop_messages(const std::string& uid, const std::vector<OutboxMessage>& except) {
  const std::string prefix = parcel_id(uid, "");
  for (auto it = parcels_.lower_bound(prefix); it != parcels_.end() && it->first.starts_with(prefix);) {
    const bool stays = std::any_of(except.begin(), except.end(),
                                   [&](const OutboxMessage& message) { return message.id() == it->second.message; });
    if (stays) {
      ++it;
      continue;
    }
    courier_.forget(it->first);
    it = parcels_.erase(it);
  }
}

void Controller::message_sent(const std::string& id) {
  const auto found = parcels_.find(id);
  if (found == parcels_.end()) return;
  const Parcel parcel = std::move(found->second);
  parcels_.erase(found);
  p_.log.info("notification sent", "node", parcel.node, "instance", parcel.instance);
  if (on_message_sent) on_message_sent(parcel.node, parcel.instance);
  deliveries_.set_sent(parcel.uid, parcel.message, p_.loop.wall_now());
  queue_.wake(parcel.node);
}

void Controller::message_failed(const std::string& id, const notify::Courier::Failure& failure) {
  const auto found = parcels_.find(id);
  if (found == parcels_.end()) return;
  const Parcel parcel = found->second;
  const std::string error = io::redact(failure.error, config_->secrets);
  p_.log.error("a notification could not be sent", "node", parcel.node, "instance", parcel.instance, "cause", error,
               "tries", failure.attempt);
  deliveries_.set_failed(parcel.uid, parcel.message, failure.attempt, error);
  const kube::Node* node = p_.nodes.find(parcel.node);
  if (!node || node->uid != parcel.uid) return;
  record(*node, "NotificationFailed",
         fmt::format("Notification {} could not be sent and will be tried again: {}", parcel.instance, error),
         "Warning");
  if (is_current(*config_, parcel.instance, *parcel.sender)) return;
  // It flew while the configuration changed: the next try is the new one's.
  courier_.forget(id);
  parcels_.erase(found);
  collect_messages(*node);
}

// What is being sent comes to its end, and what was sent leaves the outboxes, so that nobody sends it again.
Task<void> Controller::end_messages() {
  // One that hangs does not keep the others in.
  co_await io::with_timeout(p_.loop, kDrainMessages, io::completed(courier_.drain()));
  io::Scope removals(p_.loop);
  p_.nodes.for_each([&](const kube::Node& node) {
    if (deliveries_.any_sent(node.uid)) removals.spawn(remove_sent(node.name));
  });
  co_await removals.join();
}

Task<void> Controller::remove_sent(std::string name) {
  const auto slot = co_await slots_.acquire();
  for (;;) {
    const kube::Node* node = p_.nodes.find(name);
    if (!node) co_return;
    auto messages = outbox_of(*node);
    if (!messages) co_return;
    const auto was_sent = [&](const OutboxMessage& message) {
      return deliveries_.sent(node->uid, message.id()).has_value();
    };
    if (std::erase_if(*messages, was_sent) == 0) co_return;
    const uint64_t version = node->version;
    kube::Json patch = kube::Json::object();
    patch.set({"metadata", "resourceVersion"}, std::to_string(version));
    patch.set({"metadata", "annotations", kOutboxAnnotation},
              messages->empty() ? kube::Json() : kube::Json(format_outbox(*messages)));
    const auto answer =
        co_await p_.client.patch(kube::resources::nodes, "", name, kube::PatchType::merge, patch.dump());
    if (answer) {
      enter_world(*answer);
      co_return;
    }
    if (answer.error().conflict() && co_await read_again(name)) {
      const kube::Node* now = p_.nodes.find(name);
      if (!now || now->version != version) continue;
    }
    p_.log.warn("a message that was sent stays in the node's outbox and may be sent again", "node", name, "cause",
                answer.error().message);
    co_return;
  }
}

void Controller::report_dropped(const kube::Node& node, const std::vector<OutboxMessage>& dropped) {
  for (const OutboxMessage& message : dropped) {
    p_.log.error("too many messages wait; the oldest is dropped", "node", node.name, "instance", message.instance,
                 "due", io::format_rfc3339(message.at));
    p_.metrics.counter("careen_notifications_dropped_total", "Messages that gave way to newer ones, unsent.").add();
    record(node, "NotificationDropped",
           fmt::format("Notification {} of {} was not sent: more than {} messages wait", message.instance,
                       io::format_rfc3339(message.at), kMostMessages),
           "Warning");
  }
}

// Before the profile moves on, as with the original.
Task<void> Controller::send_first(std::string key, const Decision& decision, Basis on) {
  const OutboxMessage& message = decision.effects.announced->message.what;
  const Config& config = *on.config;
  const auto sender = find_notify(config, message.instance)->notify->sender();
  const auto turn = co_await sends_.acquire();
  // Somebody has paused its profile while it waited for its turn.
  if (on.pauses != pause_guard_.changes()) {
    queue_.wake(key);
    co_return;
  }
  if (const auto later = ration_.wait(key, p_.loop.now())) {
    deliveries_.set_refused(decision.uid, message, std::string(kTooManyMessages));
    held_.insert(key);
    queue_.wake_at(key, *later);
    co_return;
  }
  const auto sent = co_await sender->send(decision.effects.announced->message.message, p_.outside);
  if (sent) {
    ration_.take(key, p_.loop.now());
    p_.log.info("notification sent", "node", key, "instance", message.instance);
    if (on_message_sent) on_message_sent(key, message.instance);
    deliveries_.set_told(decision.uid, message);
    queue_.wake(key);
    co_return;
  }
  const std::string error = io::redact(sent.error().text, config.secrets);
  deliveries_.set_refused(decision.uid, message, error);
  report_failure(key, {message.profile, "At least one notification plugin failed",
                       fmt::format("{}: {}", message.instance, error), decision.effects.announced->state});
  held_.insert(key);
  if (config_->requeue > io::Duration{0}) queue_.wake_at(key, p_.loop.now() + config_->requeue);
}

Task<void> Controller::fetch_document(std::string key) {
  const auto answer = co_await p_.client.get(kube::resources::nodes, "", key);
  if (!answer) {
    failed(key, answer.error());
    co_return;
  }
  auto document = kube::Json::parse(*answer);
  if (!document || !enter_world(*answer)) {
    queue_.wake_after_failure(key);
    co_return;
  }
  documents_.insert_or_assign(key, std::move(*document));
  queue_.wake(key);
}

}  // namespace careen::profiles
