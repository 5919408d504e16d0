#include "turnstile/registration.h"

#include <fmt/format.h>

#include <utility>

#include "io/problems.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/resource.h"
#include "limits/desk.h"
#include "limits/foreign_places.h"
#include "limits/limit.h"
#include "limits/webhook_state.h"
#include "turnstile/question.h"

namespace careen::turnstile {

using io::Task;
using kube::Json;
using kube::JsonView;
using State = limits::WebhookState::Is;

namespace {

const kube::Resource kConfigurations{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                     "ValidatingWebhookConfiguration", false};

// Between two looks at what cannot be watched: certificates, and an API server that refuses us.
constexpr io::Duration kLookAgain = io::seconds{30};
// Between two writes, whoever changes it back.
constexpr io::Duration kShortestPause = io::seconds{1};

// A cordon, and nothing else that anybody does to a node.
constexpr const char* kCordons =
    "has(object.spec.unschedulable) && object.spec.unschedulable && "
    "!(has(oldObject.spec.unschedulable) && oldObject.spec.unschedulable)";

io::Result<kube::Object> as_object(kube::RawObject& raw) { return kube::decode_object(raw); }

struct Rule {
  const char* name;
  std::string_view path;
  const char* group;
  const char* version;
  const char* resource;
  const char* operation;
};

io::Result<Json> webhook_of(const Rule& rule, const ClientConfig& reach) {
  auto client = reach(std::string(rule.path));
  if (!client) return tl::make_unexpected(client.error());
  Json webhook =
      Json::object({{"name", rule.name},
                    {"admissionReviewVersions", Json::array({"v1"})},
                    {"sideEffects", "NoneOnDryRun"},
                    {"failurePolicy", "Ignore"},
                    {"timeoutSeconds", 1},
                    {"clientConfig", std::move(*client)},
                    {"rules", Json::array({Json::object({{"apiGroups", Json::array({rule.group})},
                                                         {"apiVersions", Json::array({rule.version})},
                                                         {"resources", Json::array({rule.resource})},
                                                         {"operations", Json::array({rule.operation})}})})}});
  if (rule.path == kCordonPath) {
    webhook.set({"matchConditions"}, Json::array({Json::object({{"name", "cordons"}, {"expression", kCordons}})}));
  }
  return webhook;
}

}  // namespace

Wanted wanted_by(const limits::Desk& desk) {
  Wanted wanted;
  desk.for_each_limit([&](const limits::Limit& limit) {
    if (!limits::makes_wait(limit)) return;
    wanted.evictions = true;
    wanted.others = wanted.others || limit.mode == limits::Mode::enforce;
  });
  return wanted;
}

io::Result<Json> configuration_of(const std::string& name, const Wanted& wanted, const ClientConfig& reach) {
  constexpr Rule kEvictions{"evictions.limits.careen.dev", kEvictionPath, "", "v1", "pods/eviction", "CREATE"};
  constexpr Rule kOthers[] = {
      {"cordons.limits.careen.dev", kCordonPath, "", "v1", "nodes", "UPDATE"},
      {"machines.limits.careen.dev", kDeletionPath, "cluster.x-k8s.io", "*", "machines", "DELETE"},
      {"nodeclaims.limits.careen.dev", kDeletionPath, "karpenter.sh", "*", "nodeclaims", "DELETE"}};
  Json webhooks = Json::array();
  auto evictions = webhook_of(kEvictions, reach);
  if (!evictions) return evictions;
  webhooks.push_back(std::move(*evictions));
  for (const Rule& rule : kOthers) {
    if (!wanted.others) break;
    auto webhook = webhook_of(rule, reach);
    if (!webhook) return webhook;
    webhooks.push_back(std::move(*webhook));
  }
  return Json::object(
      {{"apiVersion", kConfigurations.api_version()},
       {"kind", kConfigurations.kind},
       {"metadata",
        Json::object({{"name", name}, {"labels", Json::object({{"app.kubernetes.io/managed-by", "careen"}})}})},
       {"webhooks", std::move(webhooks)}});
}

bool covers(JsonView object, JsonView wanted) {
  if (wanted.is_object()) {
    bool all = object.is_object();
    wanted.for_each_member([&](std::string_view key, JsonView value) { all = all && covers(object[key], value); });
    return all;
  }
  if (!wanted.is_array()) return object == wanted;
  if (!object.is_array()) return false;
  std::vector<JsonView> there, here;
  object.for_each_element([&](JsonView one) { there.push_back(one); });
  wanted.for_each_element([&](JsonView one) { here.push_back(one); });
  if (there.size() != here.size()) return false;
  for (size_t i = 0; i < here.size(); ++i) {
    if (!covers(there[i], here[i])) return false;
  }
  return true;
}

Registration::Registration(RegistrationParts parts, std::string name)
    : p_(std::move(parts)),
      name_(std::move(name)),
      changed_(p_.loop),
      there_({p_.loop, p_.reader, p_.metrics, p_.problems, p_.random, p_.log},
             kube::ReflectorOptions::of_one(kConfigurations, "", name_, "limit webhook"), as_object) {
  changes_ = there_.store().subscribe([this](const kube::Object*, const kube::Object*) { changed_.notify(); });
}

Registration::~Registration() { p_.problems.drop(kProblem); }

void Registration::reach(ClientConfig config) {
  reach_ = std::move(config);
  changed_.notify();
}

Task<void> Registration::run() {
  limit_changes_ = p_.desk.on_change([this] {
    if (p_.desk.is_known() && wanted_by(p_.desk) != known_) changed_.notify();
  });
  for (;;) {
    if (p_.desk.is_known()) co_await round();
    co_await io::sleep_for(p_.loop, kShortestPause);
    co_await pause();
  }
}

Task<void> Registration::pause() {
  const auto until_changed = [](io::Signal& changed) -> Task<void> { co_await changed.wait(); };
  co_await io::with_timeout(p_.loop, kLookAgain, io::completed(until_changed(changed_)));
}

Task<void> Registration::round() {
  known_ = wanted_by(p_.desk);
  if (!known_.evictions) {
    p_.problems.clear(kProblem);
    p_.state.set(State::unwanted);
    co_await take_away();
    co_return;
  }
  if (p_.state.is() != State::serving) p_.state.set(State::pending, "the webhook is being registered");
  if (!reach_) {
    failed("careen serves no webhook: it was started without --webhook-bind-address");
    co_await take_away();
    co_return;
  }
  const auto wanted = configuration_of(name_, known_, reach_);
  if (!wanted) {
    failed(wanted.error().message);
    co_return;
  }
  gone_ = false;
  there_.start();
  const kube::Object* const there = there_.synced() ? there_.store().find(name_) : nullptr;
  if (there && covers(there->document.view(), wanted->view())) {
    p_.problems.clear(kProblem);
    p_.state.set(State::serving);
    co_return;
  }
  kube::CallOptions options;
  options.repeatable = true;
  const std::string body = wanted->dump();
  auto answer = co_await p_.client.patch(kConfigurations, "", name_, kube::PatchType::merge, body, {}, options);
  if (!answer && answer.error().not_found()) answer = co_await p_.client.create(kConfigurations, "", body);
  if (!answer) {
    failed(fmt::format("ValidatingWebhookConfiguration {} cannot be written: {}", name_, answer.error().message));
    co_return;
  }
  p_.log.info("the API server asks about evictions from now on", "configuration", name_);
  p_.problems.clear(kProblem);
  p_.state.set(State::serving);
}

// A predecessor may have left one, and the API server would go on asking where nobody answers. Where we may not even
// see it, none of us has made it.
Task<void> Registration::take_away() {
  there_.stop();
  if (gone_) co_return;
  const auto there = co_await p_.reader.get(kConfigurations, "", name_);
  if (there) {
    const auto answer = co_await p_.client.remove(kConfigurations, "", name_);
    if (answer) p_.log.info("the API server asks about no evictions any more", "configuration", name_);
    gone_ = answer || answer.error().not_found() || answer.error().code == 403;
  } else {
    gone_ = there.error().not_found() || there.error().code == 403;
  }
}

void Registration::failed(const std::string& why) {
  p_.problems.raise(kProblem, "limits of mode Queue and Enforce only observe what others do: " + why);
  p_.state.set(State::failed, why);
}

}  // namespace careen::turnstile
