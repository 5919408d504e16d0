#include "commands/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "commands/gather_folder.h"
#include "commands/home_objects.h"
#include "controllers/slot/kind.h"
#include "plan/take_snapshot.h"
#include "replica/controllers.h"
#include "session/kube_session.h"
#include "version_info.h"

namespace careen::app {

using io::Task;
using kube::Json;
using kube::JsonView;
using kube::Resource;

namespace {

const Resource kGatheredDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                    "CustomResourceDefinition", false};
const Resource kGatheredWebhooks{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                 "ValidatingWebhookConfiguration", false};
const Resource kGatheredDeployments{"apps", "v1", "deployments", "Deployment", true};
const Resource kGatheredBudgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true};

constexpr int kObjectsOfAPage = 500;
// The end of a log that is longer than this.
constexpr int kLinesOfALog = 100'000;

std::string_view gathered_name(JsonView object) { return object["metadata"]["name"].text().value_or(""); }

// The identity of who holds it is pod-name_uuid.
std::string holding_pod(const replica::HomeObject& named, const Json& object) {
  const std::string identity = holder_of(named, object);
  return identity.substr(0, identity.find('_'));
}

// It is asked about objects of a controller.
bool concerns_controllers(JsonView configuration) {
  bool found = false;
  configuration["webhooks"].for_each_element([&](JsonView webhook) {
    webhook["rules"].for_each_element([&](JsonView rule) {
      rule["apiGroups"].for_each_element([&](JsonView group) {
        for (const controllers::Kind* kind : replica::object_kinds()) found |= group.text() == kind->object.group;
      });
    });
  });
  return found;
}

class Gathering {
 public:
  Gathering(KubeSession& session, GatherOptions options)
      : session_(session), options_(std::move(options)), folder_(options_.dest) {}

  Task<int> run() {
    keep("version", fmt::format("careen\n{}\n", CAREEN_VERSION));
    if (!unwritable_.empty()) co_return failed(unwritable_);
    if (!co_await keep_all(kube::resources::nodes, "")) co_return failed(missing_.back());
    for (const controllers::Kind* kind : replica::object_kinds()) {
      co_await keep_all(kind->object, "");
      co_await keep_definition(kind->object);
    }
    co_await keep_webhooks();
    co_await find_homes();
    co_await keep_all(kube::resources::core_events, "default");
    for (const auto& [ns, holders] : homes_) co_await keep_home(ns, holders);
    co_await keep_snapshot();
    std::string told;
    for (const std::string& one : missing_) told += one + "\n";
    if (!told.empty()) keep("missing.txt", told);
    if (!unwritable_.empty()) co_return failed(unwritable_);
    session_.screen.note(fmt::format("{}: {} objects, {} logs", folder_.root(), objects_, logs_));
    co_return 0;
  }

 private:
  using Holders = std::set<std::string>;

  int failed(const std::string& why) {
    session_.screen.error(why);
    return kFailed;
  }

  void miss(const std::string& what, const kube::ApiError& error) {
    missing_.push_back(fmt::format("{}: {}", what, server_error(error)));
    session_.screen.warning("left out: " + missing_.back());
  }

  bool written(const io::Result<bool>& result) {
    if (!result && unwritable_.empty()) unwritable_ = result.error().message;
    return result.has_value();
  }
  void keep(const std::string& path, const std::string& content) { written(folder_.put(path, content)); }
  void keep_object(const Resource& resource, JsonView object) {
    if (written(folder_.put_object(resource, object))) ++objects_;
  }

  // All objects of a kind; nullopt, and a word about it, if they cannot be read.
  Task<std::optional<std::vector<Json>>> list(Resource resource, std::string ns, std::string query = "") {
    std::vector<Json> found;
    std::string token;
    do {
      kube::CallOptions call;
      call.timeout = io::seconds{60};
      call.query = fmt::format("limit={}{}", kObjectsOfAPage, query);
      if (!token.empty()) call.query += "&continue=" + url_text(token);
      const auto body = co_await session_.client.list(resource, ns, std::move(call));
      const std::string what = ns.empty() ? resource.plural : fmt::format("{} of {}", resource.plural, ns);
      if (!body) {
        miss(what, body.error());
        co_return std::nullopt;
      }
      const auto page = Json::parse(*body);
      if (!page) {
        miss(what, kube::to_api_error(page.error()));
        co_return std::nullopt;
      }
      (*page)["items"].for_each_element([&](JsonView item) { found.emplace_back(item); });
      token = page->at("/metadata/continue").text().value_or("");
    } while (!token.empty());
    co_return found;
  }

  Task<bool> keep_all(Resource resource, std::string ns) {
    const auto found = co_await list(resource, ns);
    if (!found) co_return false;
    for (const Json& object : *found) keep_object(resource, object.view());
    co_return true;
  }

  Task<void> keep_definition(Resource resource) {
    const std::string name = resource.plural + "." + resource.group;
    const auto body = co_await session_.client.get(kGatheredDefinitions, "", name);
    if (!body) co_return miss("the definition " + name, body.error());
    if (const auto definition = Json::parse(*body)) keep_object(kGatheredDefinitions, definition->view());
  }

  Task<void> keep_webhooks() {
    const auto found = co_await list(kGatheredWebhooks, "");
    if (!found) co_return;
    for (const Json& one : *found) {
      if (concerns_controllers(one.view())) keep_object(kGatheredWebhooks, one.view());
    }
  }

  // careen is where its locks are, and wherever somebody says it is.
  Task<void> find_homes() {
    for (const std::string& ns : options_.namespaces) homes_[ns];
    // Heartbeats of nodes have a namespace of their own.
    const auto found =
        co_await list(kube::resources::leases, "", "&fieldSelector=metadata.namespace%21%3Dkube-node-lease");
    if (!found) co_return;
    for (const Json& lease : *found) {
      if (is_home_lease(gathered_name(lease.view()))) {
        const std::string ns(lease["metadata"]["namespace"].text().value_or(""));
        homes_[ns].insert(holding_pod({}, lease));
      }
    }
    for (const replica::HomeObject& named : home_objects()) {
      if (named.kind == kube::LockKind::config_map) co_await find_home_in_config_maps(named);
    }
    for (const Json& lease : *found) {
      const std::string ns(lease["metadata"]["namespace"].text().value_or(""));
      if (std::ranges::count(options_.lease_namespaces, ns) > 0 || homes_.contains(ns))
        keep_object(kube::resources::leases, lease.view());
    }
  }

  Task<void> find_home_in_config_maps(replica::HomeObject named) {
    const auto found = co_await find_home_objects(session_.client, named);
    if (!found) co_return miss("ConfigMaps named " + named.name, found.error());
    for (const Json& one : *found) {
      homes_[std::string(one["metadata"]["namespace"].text().value_or(""))].insert(holding_pod(named, one));
      keep_object(kube::resources::config_maps, one.view());
    }
  }

  Task<void> keep_home(std::string ns, Holders holders) {
    if (ns != "default") co_await keep_all(kube::resources::core_events, ns);
    co_await keep_all(kGatheredDeployments, ns);
    co_await keep_all(kGatheredBudgets, ns);
    const auto pods = co_await list(kube::resources::pods, ns);
    if (!pods) co_return;
    for (const JsonView pod : pods_of_careen(*pods, holders)) {
      keep_object(kube::resources::pods, pod);
      std::vector<std::string> containers;
      pod["spec"]["containers"].for_each_element(
          [&](JsonView one) { containers.emplace_back(one["name"].text().value_or("")); });
      for (const std::string& container : containers) {
        co_await keep_log(pod, container, false);
        co_await keep_log(pod, container, true);
      }
    }
  }

  Task<void> keep_log(JsonView pod, std::string container, bool previous) {
    const std::string ns(pod["metadata"]["namespace"].text().value_or(""));
    const std::string name(gathered_name(pod));
    kube::Request request;
    request.path = fmt::format("{}?container={}&tailLines={}{}", kube::resources::pods.path(ns, name, "log"),
                               url_text(container), kLinesOfALog, previous ? "&previous=true" : "");
    request.accept = "*/*";
    kube::CallOptions call;
    call.timeout = io::seconds{60};
    call.attempts = 2;
    const auto text = co_await session_.client.call(std::move(request), kube::resources::pods, "get", std::move(call));
    if (text) {
      if (written(folder_.put_log(pod, container, previous, *text))) ++logs_;
      co_return;
    }
    // A container that never ended has no log from before.
    if (previous && text.error().code == 400) co_return;
    miss(fmt::format("{}log of {}/{}/{}", previous ? "previous " : "", ns, name, container), text.error());
  }

  Task<void> keep_snapshot() {
    plan::SnapshotScope scope;
    scope.careen = CAREEN_VERSION;
    const auto taken = co_await plan::take_snapshot(session_.client, std::move(scope));
    if (!taken) co_return miss("the snapshot for careen plan", taken.error());
    const std::string name = "careen-snapshot.json.gz";
    keep(name, plan::pack_for(name, plan::snapshot_text(*taken)));
  }

  KubeSession& session_;
  const GatherOptions options_;
  GatherFolder folder_;
  std::map<std::string, Holders> homes_;  // by namespace: who holds locks there
  std::vector<std::string> missing_;
  std::string unwritable_;  // the first file that could not be written, and why
  size_t objects_ = 0, logs_ = 0;
};

}  // namespace

bool is_home_lease(std::string_view lease) {
  const replica::HomeObject wanted{.name = std::string(lease)};
  return std::ranges::find(home_objects(), wanted) != home_objects().end();
}

std::vector<JsonView> pods_of_careen(const std::vector<Json>& pods, const std::set<std::string>& holders) {
  const auto owner_of = [](JsonView pod) {
    return std::string(pod.at("/metadata/ownerReferences/0/uid").text().value_or(""));
  };
  const auto is_known = [&](JsonView pod) {
    const JsonView labels = pod["metadata"]["labels"];
    const auto replaced = [&](const controllers::Kind* kind) {
      return !kind->original.pod_label.empty() && labels[kind->original.pod_label].exists();
    };
    return labels["app.kubernetes.io/name"].text() == "careen" ||
           std::ranges::any_of(replica::controller_kinds(), replaced) ||
           holders.contains(std::string(gathered_name(pod)));
  };
  std::set<std::string> owners;
  for (const Json& pod : pods) {
    if (is_known(pod.view())) owners.insert(owner_of(pod.view()));
  }
  owners.erase("");
  std::vector<JsonView> found;
  for (const Json& pod : pods) {
    if (is_known(pod.view()) || owners.contains(owner_of(pod.view()))) found.push_back(pod.view());
  }
  return found;
}

Task<int> gather(KubeSession& session, GatherOptions options) {
  Gathering gathering(session, std::move(options));
  co_return co_await gathering.run();
}

}  // namespace careen::app
