#include "controllers/requests/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "controllers/requests/request.h"
#include "controllers/requests/roster.h"
#include "kube/cache.h"
#include "kube/events.h"
#include "kube/json.h"
#include "kube/names.h"
#include "kube/node.h"
#include "kube/objects.h"

namespace careen::requests {

using kube::JsonView;

namespace {

constexpr size_t kLongestPart = 40;

// FNV-1a: it names things, and keeps nobody out.
uint64_t digest(std::initializer_list<std::string_view> parts) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::string_view part : parts) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ 0xff) * 0x100000001b3;
  }
  return hash;
}

bool matches(const Selector& selector, const kube::Node& node) {
  return selector.selector.matches([&](std::string_view key) -> std::optional<std::string_view> {
    const kube::Atom* const label = node.label(key);
    return label ? std::optional(label->view()) : std::nullopt;
  });
}

}  // namespace

Selector parse_selector(const kube::Object& object) {
  const JsonView spec = object.document["spec"], status = object.document["status"];
  Selector out;
  out.ns = object.ns;
  out.name = object.name;
  out.uid = object.uid;
  out.version = object.version;
  out.deleting = object.document["metadata"]["deletionTimestamp"].exists();
  out.client = spec["clientName"].text().value_or("");
  out.paused = spec["paused"].boolean().value_or(false);
  out.matched = status["matched"].integer().value_or(0);
  out.created = status["created"].integer().value_or(0);
  out.message = kube::cut_text(status["message"].text().value_or(""), 1024);
  const JsonView selector = spec["selector"];
  out.wants = selector.exists() && !selector.is_null();
  if (!out.wants) return out;
  auto read = selector.is_object() ? kube::LabelSelector::from_json(selector)
                                   : io::fail(io::ErrorKind::invalid, "it must be an object");
  if (!read) {
    // It quotes what stands there.
    out.mistake = kube::cut_text(fmt::format("spec.selector: {}", read.error().message), 1024);
    return out;
  }
  out.selector = std::move(*read);
  const JsonView type = spec["type"];
  if (type.exists() && type.text() != "node") {
    out.mistake = "spec.type: node is the only one there is";
  } else if (out.client.empty()) {
    out.mistake = "spec.clientName is missing: whose requests they are";
  } else if (!kube::label_value_errors(out.client).empty()) {
    out.mistake = "spec.clientName: it must be fit for a label's value";
  } else if (!kube::label_value_errors(out.name).empty()) {
    out.mistake = "metadata.name: it must be fit for a label's value";
  }
  return out;
}

SelectorPlan plan_of(const Selector& selector, const kube::Store<kube::Node>& nodes, const Roster& roster,
                     const std::vector<Request>& of_it) {
  SelectorPlan plan;
  if (!selector.wants || !selector.mistake.empty()) return plan;
  std::map<std::string_view, const Request*> last_over;  // by node
  for (const Request& request : of_it) {
    if (request.live()) ++plan.created;
    if (request.live()) continue;
    const Request*& last = last_over[request.node];
    if (!last || last->before(request)) last = &request;
  }
  nodes.for_each([&](const kube::Node& node) {
    if (node.deleting || !matches(selector, node)) return;
    ++plan.matched;
    bool asked = false;
    roster.for_each_on(node.name,
                       [&](const std::string&, const Roster::Entry& one) { asked |= one.client == selector.client; });
    const auto over = last_over.find(node.name);
    // One that goes has to be gone.
    if (asked || (over != last_over.end() && over->second->deleting)) return;
    const std::string_view before = over == last_over.end() ? std::string_view() : over->second->uid;
    plan.create.push_back(
        {fmt::format("{}-{:016x}", selector.name.substr(0, kLongestPart), digest({selector.uid, node.uid, before})),
         node.name});
  });
  for (const Request& request : of_it) {
    if (!request.live() || request.state != State::pending) continue;
    const Roster::Entry* const entry = roster.find(request.name);
    if (entry && entry->placed) continue;
    const kube::Node* const node = nodes.find(request.node);
    if (!node || !matches(selector, *node)) plan.remove.push_back(request.name);
  }
  return plan;
}

}  // namespace careen::requests
