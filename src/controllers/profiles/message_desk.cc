#include "controllers/profiles/message_desk.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/config.h"
#include "controllers/profiles/decision.h"
#include "controllers/profiles/decision_guard.h"
#include "controllers/profiles/failing_nodes.h"
#include "controllers/profiles/message_text.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/node_reports.h"
#include "controllers/profiles/write_slots.h"
#include "io/metrics.h"
#include "kube/client.h"
#include "kube/node.h"
#include "kube/node_document.h"
#include "kube/object_writer.h"
#include "kube/queue.h"
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

std::string parcel_id(const std::string& uid, const std::string& message) { return uid + "/" + message; }

}  // namespace

MessageDesk::MessageDesk(MessageDeskParts parts)
    : p_(std::move(parts)),
      turns_(p_.loop, p_.problems, deliveries_,
             [this](const std::string& name) {
               if (const kube::Node* const node = p_.nodes.find(name)) collect(*node);
             }),
      courier_(p_.outside, p_.metrics, p_.random,
               {.on_sent = [this](const std::string& id) { sent(id); },
                .on_failed = [this](const std::string& id,
                                    const notify::Courier::Failure& failure) { failed(id, failure); }}),
      sends_(p_.loop, p_.sends_in_flight),
      scope_(p_.loop) {}

MessageDesk::~MessageDesk() = default;

void MessageDesk::open() {
  open_ = true;
  collect_all();
  scope_.spawn(courier_.run());
}

void MessageDesk::config_changed() {
  turns_.set_pace(message_pace(*p_.config));
  collect_all();
}

void MessageDesk::node_gone(const kube::Node& node) {
  drop(node.uid, {});
  deliveries_.forget(node.uid);
  turns_.end(node.name);
}

void MessageDesk::collect_all() {
  if (!open_ || !p_.config) return;
  // With another configuration the same message may go another way, unless it is on its way just now: it would arrive
  // twice.
  std::erase_if(parcels_, [&](const auto& item) {
    if (courier_.is_flying(item.first)) return false;
    courier_.forget(item.first);
    return true;
  });
  p_.nodes.for_each([&](const kube::Node& node) { collect(node); });
}

void MessageDesk::collect(const kube::Node& node) {
  if (!open_) return;
  const auto messages = outbox_of(node);
  if (!messages) return;  // the next decision removes it
  deliveries_.keep_only(node.uid, *messages);
  drop(node.uid, *messages);
  for (const OutboxMessage& message : *messages) {
    const std::string id = message.id();
    const std::string parcel = parcel_id(node.uid, id);
    if (deliveries_.sent(node.uid, id) || parcels_.contains(parcel)) continue;
    const NotifyInstance* instance = notification_of(*p_.config, message);
    if (!instance) {
      p_.log.warn("a message waits whose notification is no longer configured; it is dropped", "node", node.name,
                  "instance", message.instance);
      deliveries_.set_sent(node.uid, id, p_.loop.wall_now());
      p_.queue.wake(node.name);
      continue;
    }
    // Those after it do not overtake it.
    if (!turns_.has_turn(node.name, node.uid, id) || !has_text(node, message, *instance)) return;
    const auto sender = instance->notify->sender();
    parcels_.emplace(parcel, Parcel{node.name, node.uid, id, message.instance, sender});
    courier_.add({.id = parcel,
                  .lane = node.name,
                  .instance = message.instance,
                  .message = *deliveries_.text(node.uid, id),
                  .sender = sender});
  }
  turns_.end(node.name);
}

// What another process has left, or somebody has forged: it says what the template says, and nothing else.
bool MessageDesk::has_text(const kube::Node& node, const OutboxMessage& message, const NotifyInstance& instance) {
  const std::string id = message.id();
  if (deliveries_.text(node.uid, id)) return true;
  if (instance.notify->fields().whole) {
    if (rendering_.insert(parcel_id(node.uid, id)).second) scope_.spawn(render_whole(node.name, node.uid, id));
    return false;
  }
  const OutboxMessage about = completed(message, node, *p_.config);
  const kube::Json document = kube::node_document(node);
  deliveries_.set_text(node.uid, id, render_message(instance, about, node.name, document.view(), *p_.config));
  return true;
}

// It prints all of the node, which is not cached.
Task<void> MessageDesk::render_whole(std::string name, std::string uid, std::string id) {
  for (;;) {
    const auto answer = co_await p_.client.get(kube::resources::nodes, "", name);
    const auto document = kube::Json::parse(answer ? *answer : std::string());
    const kube::Node* node = p_.nodes.find(name);
    const auto message = node && node->uid == uid ? find_message(*node, id) : std::nullopt;
    const NotifyInstance* instance = message ? notification_of(*p_.config, *message) : nullptr;
    if (instance && !document) {
      co_await io::sleep_for(p_.loop, kFetchAgain);
      continue;
    }
    if (instance) {
      const OutboxMessage about = completed(*message, *node, *p_.config);
      deliveries_.set_text(uid, id, render_message(*instance, about, name, document->view(), *p_.config));
    }
    rendering_.erase(parcel_id(uid, id));
    if (node) collect(*node);
    co_return;
  }
}

void MessageDesk::keep_texts(const std::string& key, const Decision& decision) {
  if (decision.effects.posted.empty()) return;
  const kube::Node* node = p_.nodes.find(key);
  deliveries_.keep_only(decision.uid, outbox_of(*node).value_or(std::vector<OutboxMessage>{}));
  for (const RenderedMessage& due : decision.effects.posted)
    deliveries_.set_text(decision.uid, due.what.id(), due.message);
}

// What no longer is in the outbox of that node is not to be sent.
void MessageDesk::drop(const std::string& uid, const std::vector<OutboxMessage>& except) {
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

void MessageDesk::sent(const std::string& id) {
  const auto found = parcels_.find(id);
  if (found == parcels_.end()) return;
  const Parcel parcel = std::move(found->second);
  parcels_.erase(found);
  p_.log.info("notification sent", "node", parcel.node, "instance", parcel.instance);
  p_.sent(parcel.node, parcel.instance);
  deliveries_.set_sent(parcel.uid, parcel.message, p_.loop.wall_now());
  p_.queue.wake(parcel.node);
}

void MessageDesk::failed(const std::string& id, const notify::Courier::Failure& failure) {
  const auto found = parcels_.find(id);
  if (found == parcels_.end()) return;
  const Parcel parcel = found->second;
  const std::string error = p_.config->redact(failure.error);
  p_.log.error("a notification could not be sent", "node", parcel.node, "instance", parcel.instance, "cause", error,
               "tries", failure.attempt);
  deliveries_.set_failed(parcel.uid, parcel.message, failure.attempt, error);
  const kube::Node* node = p_.nodes.find(parcel.node);
  if (!node || node->uid != parcel.uid) return;
  p_.reports.event(*node, "NotificationFailed",
                   fmt::format("Notification {} could not be sent and will be tried again: {}", parcel.instance, error),
                   "Warning");
  if (is_current(*p_.config, parcel.instance, *parcel.sender)) return;
  // It flew while the configuration changed: the next try is the new one's.
  courier_.forget(id);
  parcels_.erase(found);
  collect(*node);
}

Task<void> MessageDesk::end() {
  // One that hangs does not keep the others in.
  co_await io::with_timeout(p_.loop, kDrainMessages, io::completed(courier_.drain()));
  io::Scope removals(p_.loop);
  p_.nodes.for_each([&](const kube::Node& node) {
    if (deliveries_.any_sent(node.uid)) removals.spawn(remove_sent(node.name));
  });
  co_await removals.join();
}

Task<void> MessageDesk::remove_sent(std::string name) {
  const auto slot = co_await p_.slots.regular().acquire();
  for (;;) {
    const kube::Node* node = p_.nodes.find(name);
    if (!node) co_return;
    auto messages = outbox_of(*node);
    if (!messages) co_return;
    const auto was_sent = [&](const OutboxMessage& message) {
      return deliveries_.sent(node->uid, message.id()).has_value();
    };
    if (std::erase_if(*messages, was_sent) == 0) co_return;
    kube::Json patch = kube::Json::object();
    patch.set({"metadata", "resourceVersion"}, std::to_string(node->version));
    patch.set({"metadata", "annotations", kOutboxAnnotation},
              messages->empty() ? kube::Json() : kube::Json(format_outbox(*messages)));
    const kube::WriteResult result =
        co_await p_.writer.write({.name = name, .body = patch.dump(), .version = node->version});
    if (result.done()) co_return;
    if (result.fate == kube::WriteFate::conflict) continue;
    p_.log.warn("a message that was sent stays in the node's outbox and may be sent again", "node", name, "cause",
                result.error->message);
    co_return;
  }
}

void MessageDesk::report_dropped(const kube::Node& node, const std::vector<OutboxMessage>& dropped) {
  for (const OutboxMessage& message : dropped) {
    p_.log.error("too many messages wait; the oldest is dropped", "node", node.name, "instance", message.instance,
                 "due", io::format_rfc3339(message.at));
    p_.metrics.counter("careen_notifications_dropped_total", "Messages that gave way to newer ones, unsent.").add();
    p_.reports.event(node, "NotificationDropped",
                     fmt::format("Notification {} of {} was not sent: more than {} messages wait", message.instance,
                                 io::format_rfc3339(message.at), kMostMessages),
                     "Warning");
  }
}

Task<void> MessageDesk::announce(std::string node, const Decision& decision, Basis on) {
  const auto& [message, state] = *decision.effects.announced;
  const OutboxMessage& what = message.what;
  const auto sender = find_notify(*on.config, what.instance)->notify->sender();
  const auto turn = co_await sends_.acquire();
  // Somebody has paused its profile while it waited for its turn.
  if (p_.guard.other_pauses(on)) {
    p_.queue.wake(node);
    co_return;
  }
  if (const auto later = turns_.wait(node)) {
    deliveries_.set_refused(decision.uid, what, std::string(kTooManyMessages));
    p_.failing.wait_until(node, *later);
    co_return;
  }
  const auto sent = co_await sender->send(message.message, p_.outside);
  if (sent) {
    turns_.sent(node);
    p_.log.info("notification sent", "node", node, "instance", what.instance);
    p_.sent(node, what.instance);
    deliveries_.set_told(decision.uid, what);
    p_.queue.wake(node);
    co_return;
  }
  const std::string error = on.config->redact(sent.error().text);
  deliveries_.set_refused(decision.uid, what, error);
  p_.reports.failure(node, {what.profile, "At least one notification plugin failed",
                            fmt::format("{}: {}", what.instance, error), state});
  p_.failing.wait(node);
}

Task<void> MessageDesk::fetch_document(std::string node) {
  const auto answer = co_await p_.client.get(kube::resources::nodes, "", node);
  if (!answer) {
    p_.failing.write_failed(node, answer.error());
    co_return;
  }
  auto document = kube::Json::parse(*answer);
  if (!document || p_.writer.enter(*answer)) {
    p_.queue.wake_after_failure(node);
    co_return;
  }
  documents_.insert_or_assign(node, std::move(*document));
  p_.queue.wake(node);
}

std::optional<kube::Json> MessageDesk::take_document(const std::string& node) {
  auto found = documents_.extract(node);
  return found ? std::optional(std::move(found.mapped())) : std::nullopt;
}

std::vector<std::pair<std::string_view, size_t>> MessageDesk::unfinished() const {
  return {{"messages with the courier", parcels_.size() + courier_.pending()},
          {"messages being rendered", rendering_.size()},
          {"nodes fetched for a message", documents_.size()},
          {"nodes over their ration of messages", turns_.waiting()}};
}

}  // namespace careen::profiles
