#include "controllers/profiles/outbox.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/names.h"
#include "kube/json.h"
#include "kube/node.h"

namespace careen::profiles {

using kube::Json;
using kube::JsonView;

std::string OutboxMessage::id() const { return fmt::format("{}/{}@{}", profile, instance, io::format_rfc3339(at)); }

io::Result<std::vector<OutboxMessage>> parse_outbox(std::string_view annotation) {
  std::vector<OutboxMessage> messages;
  if (annotation.empty()) return messages;
  if (annotation.size() > kMostOutboxBytes) {
    return io::fail(io::ErrorKind::protocol, fmt::format("it is longer than {} bytes", kMostOutboxBytes));
  }
  const auto document = Json::parse(annotation);
  if (!document) return tl::make_unexpected(document.error());
  if (!document->view().is_array()) return io::fail(io::ErrorKind::protocol, "it is no list");
  document->view().for_each_element([&](JsonView item) {
    const auto text = [&](std::string_view key) { return std::string(item[key].text().value_or("")); };
    const auto at = io::parse_rfc3339(text("at"));
    // What lacks its instance or its time was not written by careen.
    if (!at || !item["instance"].text() || messages.size() == kMostMessages) return;
    messages.push_back({text("instance"), text("profile"), *at, parse_state(text("state")),
                        io::parse_rfc3339(text("since")).value_or(kZeroTime), text("last"),
                        item["inMaintenance"].boolean().value_or(false)});
  });
  return messages;
}

io::Result<std::vector<OutboxMessage>> outbox_of(const kube::Node& node) {
  const std::string* text = node.annotation(kOutboxAnnotation);
  return parse_outbox(text ? std::string_view(*text) : std::string_view{});
}

std::string format_outbox(const std::vector<OutboxMessage>& messages) {
  Json list = Json::array();
  for (const OutboxMessage& message : messages) {
    Json item = Json::object(
        {{"instance", message.instance}, {"profile", message.profile}, {"at", io::format_rfc3339(message.at)}});
    if (message.state) item.set({"state"}, name_of(*message.state));
    if (message.since != kZeroTime) item.set({"since"}, io::format_rfc3339(message.since));
    if (!message.last.empty()) item.set({"last"}, message.last);
    if (message.in_maintenance) item.set({"inMaintenance"}, true);
    list.push_back(std::move(item));
  }
  return list.dump();
}

const Deliveries::Known* Deliveries::find(std::string_view node_uid, std::string_view id) const {
  const auto node = nodes_.find(node_uid);
  if (node == nodes_.end()) return nullptr;
  const auto known = node->second.find(id);
  return known == node->second.end() ? nullptr : &known->second;
}

std::optional<io::Wall> Deliveries::sent(std::string_view node_uid, std::string_view id) const {
  const Known* known = find(node_uid, id);
  return known ? known->sent : std::nullopt;
}

void Deliveries::set_sent(const std::string& node_uid, const std::string& id, io::Wall at) {
  nodes_[node_uid][id].sent = at;
}

bool Deliveries::any_sent(std::string_view node_uid) const {
  const auto node = nodes_.find(node_uid);
  return node != nodes_.end() && std::any_of(node->second.begin(), node->second.end(),
                                             [](const auto& known) { return known.second.sent.has_value(); });
}

const Deliveries::Attempt* Deliveries::attempt(std::string_view node_uid, std::string_view id) const {
  const Known* known = find(node_uid, id);
  return known && known->attempt.tries > 0 ? &known->attempt : nullptr;
}

void Deliveries::set_failed(const std::string& node_uid, const std::string& id, int tries, std::string error) {
  nodes_[node_uid][id].attempt = {tries, std::move(error)};
}

const notify::Message* Deliveries::text(std::string_view node_uid, std::string_view id) const {
  const Known* known = find(node_uid, id);
  return known && known->text ? &*known->text : nullptr;
}

void Deliveries::set_text(const std::string& node_uid, const std::string& id, notify::Message message) {
  nodes_[node_uid][id].text = std::move(message);
}

Deliveries::Turn Deliveries::turn(std::string_view node_uid, std::string_view id) const {
  const Known* known = find(node_uid, id);
  return known ? known->turn : Turn::unknown;
}

void Deliveries::set_turn(const std::string& node_uid, const std::string& id, Turn turn) {
  nodes_[node_uid][id].turn = turn;
}

void Deliveries::keep_only(std::string_view node_uid, const std::vector<OutboxMessage>& messages) {
  const auto node = nodes_.find(node_uid);
  if (node == nodes_.end()) return;
  std::vector<std::string> ids;
  for (const OutboxMessage& message : messages) ids.push_back(message.id());
  std::erase_if(node->second,
                [&](const auto& known) { return std::find(ids.begin(), ids.end(), known.first) == ids.end(); });
  if (node->second.empty()) nodes_.erase(node);
}

const Deliveries::Told* Deliveries::find_told(std::string_view node_uid, std::string_view profile,
                                              std::string_view instance) const {
  const auto node = told_.find(node_uid);
  if (node == told_.end()) return nullptr;
  const auto known = node->second.find({std::string(profile), std::string(instance)});
  return known == node->second.end() ? nullptr : &known->second;
}

std::optional<io::Wall> Deliveries::told(std::string_view node_uid, std::string_view profile,
                                         std::string_view instance) const {
  const Told* known = find_told(node_uid, profile, instance);
  return known ? known->at : std::nullopt;
}

std::string_view Deliveries::refused(std::string_view node_uid, std::string_view profile,
                                     std::string_view instance) const {
  const Told* known = find_told(node_uid, profile, instance);
  return known ? std::string_view(known->error) : std::string_view{};
}

void Deliveries::set_told(const std::string& node_uid, const OutboxMessage& message) {
  told_[node_uid][{message.profile, message.instance}] = {message.at, {}};
}

void Deliveries::set_refused(const std::string& node_uid, const OutboxMessage& message, std::string error) {
  told_[node_uid][{message.profile, message.instance}].error = std::move(error);
}

void Deliveries::forget(std::string_view node_uid) {
  if (const auto told = told_.find(node_uid); told != told_.end()) told_.erase(told);
  if (const auto node = nodes_.find(node_uid); node != nodes_.end()) nodes_.erase(node);
}

}  // namespace careen::profiles
