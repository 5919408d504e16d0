#include "controllers/nodemaintenance/webhook.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/nodemaintenance/names.h"
#include "kube/client.h"
#include "kube/url.h"

namespace careen::nodemaintenance {

using io::Task;
using kube::AdmissionRequest;
using kube::AdmissionVerdict;
using kube::Json;
using kube::JsonView;

namespace {

// Of one attempt; a second one fits into the patience of a decision.
constexpr io::Duration kOneRead = io::seconds{3};
constexpr int kAttempts = 2;
// Between two looks for an object that was admitted.
constexpr io::Duration kFirstPause = io::milliseconds{100};
constexpr io::Duration kLongestPause = io::seconds{1};
// So long after its admission an object that comes at all is in the list, nearly always.
constexpr io::Duration kComesSoon = io::seconds{1};
constexpr int kPageSize = 500;
constexpr size_t kLongestName = 253;

Task<AdmissionVerdict> told_at_once(AdmissionVerdict verdict) { co_return verdict; }

std::string_view text_at(JsonView object, std::string_view pointer) { return object.at(pointer).text().value_or(""); }

AdmissionVerdict already_exists(std::string_view node) {
  return AdmissionVerdict::deny(fmt::format("invalid nodeName, a NodeMaintenance for node {} already exists", node));
}

// Why the object cannot be judged, or nothing.
std::optional<AdmissionVerdict> unreadable(const Json& object, std::string_view which) {
  if (!object.view().is_object()) {
    return AdmissionVerdict::error(400, fmt::format("the request has no {}", which));
  }
  const JsonView node = object.at("/spec/nodeName");
  if (node && !node.is_null() && !node.is_string()) {
    return AdmissionVerdict::error(400, fmt::format("spec.nodeName of the {} is not a string", which));
  }
  return std::nullopt;
}

}  // namespace

Webhook::Webhook(kube::Client& client, WebhookOptions options)
    : loop_(client.loop()),
      client_(client),
      options_(options),
      reads_(loop_, options.most_reads),
      waiting_(options.most_waiting, options.most_waiting_for_a_peer) {}

Task<AdmissionVerdict> Webhook::judge(const AdmissionRequest& request) {
  const std::string& operation = request.operation;
  if (operation == "UPDATE") return told_at_once(judge_update(request));
  if (operation == "DELETE" || operation == "CONNECT") return told_at_once(AdmissionVerdict::allow());
  if (operation != "CREATE") {
    return told_at_once(
        AdmissionVerdict::error(400, fmt::format("unknown operation \"{}\"", operation.substr(0, kLongestName))));
  }
  if (auto refused = unreadable(request.object, "object")) return told_at_once(std::move(*refused));
  // A generated name is in the object, but not in the request.
  Subject subject{.name = std::string(text_at(request.object.view(), "/metadata/name")),
                  .node = std::string(text_at(request.object.view(), "/spec/nodeName")),
                  .peer = request.peer,
                  .dry_run = request.dry_run,
                  .give_up = loop_.wall_now() + options_.patience};
  if (subject.name.empty()) subject.name = request.name;
  // No object could have such a name, and it would be remembered.
  if (subject.name.size() > kLongestName) {
    return told_at_once(
        AdmissionVerdict::error(400, fmt::format("the name is longer than {} characters", kLongestName)));
  }
  if (subject.node.size() > kLongestName) {
    return told_at_once(AdmissionVerdict::deny(
        fmt::format("invalid nodeName, no node has a name of more than {} characters", kLongestName)));
  }
  return judge_creation(std::move(subject));
}

AdmissionVerdict Webhook::judge_update(const AdmissionRequest& request) {
  if (auto refused = unreadable(request.object, "object")) return std::move(*refused);
  if (auto refused = unreadable(request.old_object, "old object")) return std::move(*refused);
  if (text_at(request.object.view(), "/spec/nodeName") != text_at(request.old_object.view(), "/spec/nodeName")) {
    return AdmissionVerdict::deny("updating spec.NodeName isn't allowed");
  }
  return AdmissionVerdict::allow();
}

Task<AdmissionVerdict> Webhook::judge_creation(Subject subject) {
  const std::string absent = fmt::format("invalid nodeName, no node with name {} found", subject.node);
  // A read without a name would be a list.
  if (subject.node.empty()) co_return AdmissionVerdict::deny(absent);
  const auto node = co_await read_node(subject.node, subject.give_up);
  if (!node && node.error().not_found()) co_return AdmissionVerdict::deny(absent);
  auto parsed = node ? Json::parse(*node) : io::fail(io::ErrorKind::protocol, node.error().message);
  if (!parsed) {
    co_return AdmissionVerdict::deny(
        "could not get node for validating spec.NodeName, please try again: could not get node: " +
        parsed.error().message);
  }
  subject.node_object = std::move(*parsed);
  co_return co_await judge_existing_node(std::move(subject));
}

Task<kube::Result<std::string>> Webhook::read_node(std::string name, io::Wall give_up) {
  const auto turn = co_await reads_.acquire();
  co_return co_await client_.get(kube::resources::nodes, "", std::move(name), reading(give_up));
}

Task<AdmissionVerdict> Webhook::judge_existing_node(Subject subject) {
  for (io::Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    uint64_t arrivals = arrivals_;
    subject.looked_at = loop_.now();
    const auto objects = co_await list(kResource, "", "", subject.give_up);
    if (!objects) {
      co_return AdmissionVerdict::deny(
          "could not list NodeMaintenances for validating spec.NodeName, please try again: " + objects.error().message);
    }
    std::vector<Listed> maintenances;
    for (const Json& object : *objects) {
      maintenances.push_back({std::string(text_at(object.view(), "/metadata/name")),
                              std::string(text_at(object.view(), "/spec/nodeName"))});
    }
    // What another's list has shown meanwhile, and is remembered no more, may be missing from ours.
    const bool outdated = arrivals != arrivals_;
    forget_what_is_there(maintenances);
    arrivals = arrivals_;
    if (std::any_of(maintenances.begin(), maintenances.end(),
                    [&](const Listed& one) { return one.node == subject.node; })) {
      co_return already_exists(subject.node);
    }
    if (outdated) continue;
    AdmissionVerdict unless_it_changes = already_exists(subject.node);
    if (!awaits_another(subject)) {
      Spared spared = co_await judge_control_plane(subject, maintenances);
      if (!spared.verdict.allowed && !spared.may_change) co_return std::move(spared.verdict);
      // Asked again: others were judged while this one waited for answers.
      if (arrivals != arrivals_) continue;
      if (spared.verdict.allowed && !awaits_another(subject)) co_return admit(subject);
      if (!spared.verdict.allowed) unless_it_changes = std::move(spared.verdict);
    }
    if (loop_.wall_now() + pause >= subject.give_up) co_return unless_it_changes;
    co_await io::sleep_for(loop_, pause);
  }
}

void Webhook::forget_what_is_there(const std::vector<Listed>& maintenances) {
  std::erase_if(on_the_way_, [&](const auto& entry) { return entry.second.forget_at <= loop_.now(); });
  for (const Listed& one : maintenances) {
    const auto it = on_the_way_.find(one.node);
    if (it == on_the_way_.end() || it->second.name != one.name) continue;
    on_the_way_.erase(it);
    ++arrivals_;
  }
}

bool Webhook::may_wait(Subject& subject) {
  if (!subject.waits_since) {
    subject.waits_since = loop_.now();
    subject.place = waiting_.enter(subject.peer);
  }
  return subject.place && !subject.place->lost();
}

bool Webhook::has_waited_enough(const Subject& subject) const {
  return subject.waits_since && loop_.now() >= *subject.waits_since + options_.on_the_way;
}

bool Webhook::awaits_another(Subject& subject) {
  const auto it = on_the_way_.find(subject.node);
  if (it == on_the_way_.end() || it->second.forget_at <= loop_.now()) return false;
  // No request waits longer, even if one after the other is admitted and never appears.
  if (has_waited_enough(subject)) return false;
  if (!it->second.name.empty() && it->second.name == subject.name) return false;
  // Without a place the list decides: if both come, the controller settles it.
  return may_wait(subject);
}

bool Webhook::may_still_come(std::string_view node, const Subject& subject) const {
  const auto it = on_the_way_.find(node);
  if (it == on_the_way_.end() || it->second.forget_at <= loop_.now()) return false;
  // Nothing settles two that pass at once. So a request that gets no place is refused rather than let through unseen.
  if (!has_waited_enough(subject) || !subject.place || subject.place->lost()) return true;
  // It has waited as long as anything may take that was on the way when it came. What was admitted since may be another
  // that has waited, and was faster: its object gets the time to appear. If there is always one more, most likely none
  // of them is real, and the list decides before time is up.
  return subject.looked_at < it->second.since + kComesSoon && loop_.wall_now() + kLongestPause < subject.give_up;
}

AdmissionVerdict Webhook::admit(const Subject& subject) {
  if (!subject.dry_run) remember(subject);
  return AdmissionVerdict::allow();
}

void Webhook::remember(const Subject& subject) {
  if (on_the_way_.size() >= options_.most_on_the_way && !on_the_way_.contains(subject.node)) {
    on_the_way_.erase(std::min_element(on_the_way_.begin(), on_the_way_.end(), [](const auto& a, const auto& b) {
      return a.second.forget_at < b.second.forget_at;
    }));
  }
  Admitted& entry = on_the_way_[subject.node];
  // A creation that is tried again is not newer: asking again and again must not keep others waiting.
  const bool again = entry.forget_at > loop_.now() && entry.name == subject.name;
  entry = {subject.name, again ? entry.since : loop_.now(), loop_.now() + options_.on_the_way};
}

kube::CallOptions Webhook::reading(io::Wall give_up, std::string query) const {
  kube::CallOptions options;
  options.timeout = kOneRead;
  options.attempts = kAttempts;
  options.not_after = give_up;
  options.query = std::move(query);
  return options;
}

// All pages, from the server's latest state.
Task<kube::Result<std::vector<Json>>> Webhook::list(kube::Resource resource, std::string ns, std::string selectors,
                                                    io::Wall give_up) {
  std::vector<Json> objects;
  std::string next;
  do {
    std::string query = fmt::format("limit={}", kPageSize);
    if (!selectors.empty()) query += "&" + selectors;
    if (!next.empty()) {
      query += "&continue=";
      kube::append_encoded(query, next);
    }
    std::optional turn(co_await reads_.acquire());
    const auto page = co_await client_.list(resource, ns, reading(give_up, std::move(query)));
    turn.reset();
    if (!page) co_return tl::make_unexpected(page.error());
    const auto parsed = Json::parse(*page);
    if (!parsed) co_return tl::make_unexpected(kube::to_api_error(parsed.error()));
    (*parsed)["items"].for_each_element([&](JsonView item) { objects.emplace_back(item); });
    next = text_at(parsed->view(), "/metadata/continue");
  } while (!next.empty());
  co_return objects;
}

}  // namespace careen::nodemaintenance
