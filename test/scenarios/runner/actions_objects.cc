#include <fmt/format.h>

#include <algorithm>

#include "actions.h"
#include "controllers/profiles/names.h"

namespace careen::scenarios {

using kube::Json;
using kube::JsonView;

namespace {

constexpr std::string_view kPerson = "person";

std::string node_path(std::string_view node) { return fmt::format("/api/v1/nodes/{}", node); }

// Does it to every node that is there and that the names fit; none is a mistake of the scenario.
std::string on_each(Stage& stage, const std::vector<std::string>& names,
                    const std::function<void(const std::string& path, size_t index)>& act) {
  std::vector<std::string> chosen;
  for (const std::string& name : names) {
    const size_t before = chosen.size();
    for (const auto& [node, view] : stage.witness.nodes()) {
      if (matches(name, node)) chosen.push_back(node);
    }
    if (chosen.size() == before) return fmt::format("there is no node {}", name);
  }
  for (size_t i = 0; i < chosen.size(); ++i) act(node_path(chosen[i]), i);
  return {};
}

// {NODES: {key: value}}, into labels or annotations; values may take turns.
Perform read_metadata(const Value& value, Reading& reading, std::string_view map) {
  std::vector<std::pair<std::vector<std::string>, KeyValues>> changes;
  for (const Member& member : members(value, "the value", reading.faults)) {
    changes.emplace_back(reading.node_names(member.key, member.where),
                         read_key_values(member.value, map, reading.faults));
  }
  return [changes, map](Stage& stage) -> std::string {
    for (const auto& [names, keys] : changes) {
      const std::string wrong = on_each(stage, names, [&](const std::string& path, size_t index) {
        Json patch = Json::object();
        for (const auto& [key, text] : keys) {
          patch.set({"metadata", map, key}, text ? Json(in_turn(*text, index)) : Json());
        }
        stage.cluster.api.merge(path, patch, kPerson);
      });
      if (!wrong.empty()) return wrong;
    }
    return {};
  };
}

// {NODES: key} or {NODES: [keys]}.
Perform read_removal(const Value& value, Reading& reading, std::string_view map) {
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> changes;
  for (const Member& member : members(value, "the value", reading.faults)) {
    auto& [names, keys] =
        changes.emplace_back(reading.node_names(member.key, member.where), std::vector<std::string>{});
    for (const Value* item : items(member.value)) {
      if (const auto key = read_text(*item, "a key", reading.faults)) keys.push_back(*key);
    }
  }
  return [changes, map](Stage& stage) -> std::string {
    for (const auto& [names, keys] : changes) {
      const std::string wrong = on_each(stage, names, [&](const std::string& path, size_t) {
        Json patch = Json::object();
        for (const std::string& key : keys) patch.set({"metadata", map, key}, nullptr);
        stage.cluster.api.merge(path, patch, kPerson);
      });
      if (!wrong.empty()) return wrong;
    }
    return {};
  };
}

struct Taint {
  std::string key, value, effect;
};

// key=value:Effect or key:Effect.
std::optional<Taint> read_one_taint(const Value& value, Faults& faults) {
  const auto text = read_text(value, "a taint", faults);
  if (!text) return std::nullopt;
  const size_t colon = text->rfind(':');
  const std::string effect = colon == std::string::npos ? "" : text->substr(colon + 1);
  if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
    faults.add(value.where, fmt::format("a taint is written key=value:Effect with the effect NoSchedule, "
                                        "PreferNoSchedule or NoExecute, not \"{}\"",
                                        *text));
    return std::nullopt;
  }
  const std::string pair = text->substr(0, colon);
  const size_t equals = pair.find('=');
  return Taint{pair.substr(0, equals), equals == std::string::npos ? "" : pair.substr(equals + 1), effect};
}

Json taint_json(const Taint& taint) {
  Json out = Json::object({{"key", taint.key}, {"effect", taint.effect}});
  if (!taint.value.empty()) out.set({"value"}, taint.value);
  return out;
}

// The node's taints but those with that key.
Json taints_without(const Json& node, std::string_view key) {
  Json out = Json::array();
  node.at("/spec/taints").for_each_element([&](JsonView taint) {
    if (taint["key"].text() != key) out.push_back(Json(taint));
  });
  return out;
}

void set_taints(Stage& stage, const std::string& path, Json taints) {
  Json patch = Json::object();
  patch.set({"spec", "taints"}, std::move(taints));
  stage.cluster.api.merge(path, patch, kPerson);
}

Perform set_unschedulable(const Value& value, Reading& reading, bool unschedulable) {
  return [names = reading.node_names(value), unschedulable](Stage& stage) {
    return on_each(stage, names, [&](const std::string& path, size_t) {
      Json patch = Json::object();
      patch.set({"spec", "unschedulable"}, unschedulable ? Json(true) : Json());
      stage.cluster.api.merge(path, patch, kPerson);
    });
  };
}

Json plain_node(const std::string& name) {
  Json node = Json::object({{"apiVersion", "v1"}, {"kind", "Node"}});
  node.set({"metadata", "name"}, name);
  return node;
}

sim::Kubelets::Labels pairs(JsonView object) {
  sim::Kubelets::Labels out;
  object.for_each_member(
      [&](std::string_view key, JsonView value) { out.emplace_back(key, value.text().value_or("")); });
  return out;
}

void set_all(Json& object, std::string_view map, const KeyValues& keys, size_t index) {
  for (const auto& [key, text] : keys) {
    if (text) object.set({"metadata", map, key}, in_turn(*text, index));
  }
}

KeyValues optional_keys(Fields& fields, std::string_view key) {
  const Value* value = fields.find(key);
  return value ? read_key_values(*value, key, fields.faults()) : KeyValues{};
}

}  // namespace

std::vector<PlannedObject> read_nodes(const Value& value, Reading& reading) {
  std::vector<PlannedObject> out;
  for (const Member& member : members(value, "nodes", reading.faults)) {
    const Value empty{
        .kind = Value::Kind::map, .where = member.where, .text = {}, .integer = {}, .items = {}, .entries = {}};
    Fields fields(member.value.kind == Value::Kind::null ? empty : member.value, "a node", reading.faults);
    const auto profile = fields.text("profile");
    const KeyValues labels = optional_keys(fields, "labels");
    const KeyValues annotations = optional_keys(fields, "annotations");
    const bool cordoned = fields.flag("cordoned");
    Json taints = Json::array();
    if (const Value* list = fields.find("taints")) {
      for (const Value* item : items(*list)) {
        if (const auto taint = read_one_taint(*item, reading.faults)) taints.push_back(taint_json(*taint));
      }
    }
    fields.finish();
    size_t index = 0;
    for (const std::string& name : expand(member.key)) {
      Json node = plain_node(name);
      if (profile) node.set({"metadata", "labels", profiles::kProfileLabel}, in_turn(*profile, index));
      set_all(node, "labels", labels, index);
      set_all(node, "annotations", annotations, index);
      if (cordoned) node.set({"spec", "unschedulable"}, true);
      if (taints.view().size() > 0) node.set({"spec", "taints"}, taints);
      out.push_back({node_path(name), std::move(node)});
      ++index;
    }
  }
  return out;
}

std::vector<PlannedObject> read_paths(const Value& value, Reading& reading) {
  std::vector<PlannedObject> out;
  for (const Member& member : members(value, "objects", reading.faults)) {
    if (!member.key.starts_with("/")) {
      reading.faults.add(member.where, "an object is named by its path: /api/v1/namespaces/default/pods/web-1");
    }
    if (member.value.kind != Value::Kind::map) reading.faults.add(member.value.where, "an object is a map");
    for (std::string& path : expand(member.key)) out.push_back({std::move(path), to_json(member.value)});
  }
  return out;
}

namespace {

// KIND/NAME. The owner itself need not exist.
void set_owner(Json& pod, const Value& value, Faults& faults) {
  const auto text = read_text(value, "owner", faults);
  const size_t slash = text ? text->find('/') : 0;
  if (!text || slash == std::string::npos) {
    faults.add(value.where, "an owner is written KIND/NAME: DaemonSet/agent");
    return;
  }
  const std::string kind = text->substr(0, slash), name = text->substr(slash + 1);
  Json owner = Json::object({{"apiVersion", "apps/v1"}, {"kind", kind}, {"name", name}, {"uid", name + "-uid"}});
  pod.set({"metadata", "ownerReferences"}, Json::array().push_back(owner.set({"controller"}, true)));
}

// A preferred node affinity to nodes that are operational.
void prefer_operational(Json& pod) {
  Json rule = Json::object({{"key", profiles::kStateLabel}, {"operator", "In"}});
  rule.set({"values"}, Json::array().push_back("operational"));
  Json term = Json::object({{"weight", 1}});
  term.set({"preference", "matchExpressions"}, Json::array().push_back(std::move(rule)));
  pod.set({"spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"},
          Json::array().push_back(std::move(term)));
}

}  // namespace

std::vector<PlannedObject> read_pods(const Value& value, Reading& reading) {
  std::vector<PlannedObject> out;
  for (const Member& member : members(value, "pods", reading.faults)) {
    Fields fields(member.value, "a pod", reading.faults);
    const std::string ns = fields.text("namespace").value_or("default");
    const KeyValues labels = optional_keys(fields, "labels");
    const Value* nodes_value = fields.find("nodes");
    if (!nodes_value) reading.faults.add(member.where, "a pod needs `nodes`: those it runs on, in turn");
    const auto nodes = nodes_value ? reading.node_names(*nodes_value) : std::vector<std::string>{};
    const Value* owner = fields.find("owner");
    const bool prefers_operational = fields.flag("prefers-operational");
    Json behaviour = Json::object(), spec = Json::object();
    read_behaviour(fields, behaviour, spec);
    fields.finish();
    size_t index = 0;
    for (const std::string& name : expand(member.key)) {
      Json pod = behaviour;
      pod.set({"apiVersion"}, "v1").set({"kind"}, "Pod").set({"spec"}, spec);
      pod.set({"metadata", "name"}, name).set({"metadata", "namespace"}, ns);
      set_all(pod, "labels", labels, index);
      if (!nodes.empty()) pod.set({"spec", "nodeName"}, nodes[index % nodes.size()]);
      pod.set({"status", "phase"}, "Running");
      pod.set({"status", "conditions"}, Json::array().push_back(Json::object({{"type", "Ready"}, {"status", "True"}})));
      if (owner) set_owner(pod, *owner, reading.faults);
      if (prefers_operational) prefer_operational(pod);
      out.push_back({fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name), std::move(pod)});
      ++index;
    }
  }
  return out;
}

namespace {

// That of a path, if it is not there yet.
void make_namespace(Stage& stage, std::string_view path) {
  constexpr std::string_view kBefore = "/namespaces/";
  const size_t at = path.find(kBefore);
  if (at == std::string_view::npos) return;
  const std::string_view name = path.substr(at + kBefore.size());
  const std::string own = fmt::format("/api/v1/namespaces/{}", name.substr(0, name.find('/')));
  if (own == path || stage.cluster.api.text(own)) return;
  Json active = Json::object();
  stage.cluster.api.put(own, active.set({"status", "phase"}, "Active"), kPerson);
}

}  // namespace

std::string make_object(Stage& stage, const PlannedObject& planned, io::Duration ready_after) {
  make_namespace(stage, planned.path);
  if (planned.posted) return post_object(stage, planned);
  if (!planned.path.starts_with("/api/v1/nodes/")) {
    stage.cluster.api.put(planned.path, planned.object, kPerson);
    return {};
  }
  auto machine = sim::Kubelets::usual_machine();
  machine.ready_after = ready_after;
  const Json& node = planned.object;
  stage.cluster.kubelets.add(std::string(node.at("/metadata/name").text().value_or("")),
                             pairs(node.at("/metadata/labels")), pairs(node.at("/metadata/annotations")), machine);
  if (!node["spec"]) return {};
  Json taints(stage.cluster.api.object(planned.path).at("/spec/taints"));
  node.at("/spec/taints").for_each_element([&](JsonView taint) { taints.push_back(Json(taint)); });
  Json patch = Json::object({{"spec", Json(node["spec"])}});
  patch.set({"spec", "taints"}, std::move(taints));
  stage.cluster.api.merge(planned.path, patch, kPerson);
  return {};
}

Perform read_stop_kubelet(const Value& value, Reading& reading) {
  return [names = reading.node_names(value)](Stage& stage) {
    return on_each(stage, names, [&](const std::string& path, size_t) {
      stage.cluster.kubelets.stop(path.substr(path.rfind('/') + 1));
    });
  };
}

Perform read_start_kubelet(const Value& value, Reading& reading) {
  return [names = reading.node_names(value)](Stage& stage) {
    return on_each(stage, names, [&](const std::string& path, size_t) {
      stage.cluster.kubelets.start(path.substr(path.rfind('/') + 1));
    });
  };
}

Perform read_label(const Value& value, Reading& reading) { return read_metadata(value, reading, "labels"); }
Perform read_unlabel(const Value& value, Reading& reading) { return read_removal(value, reading, "labels"); }
Perform read_annotate(const Value& value, Reading& reading) { return read_metadata(value, reading, "annotations"); }
Perform read_unannotate(const Value& value, Reading& reading) { return read_removal(value, reading, "annotations"); }
Perform read_cordon(const Value& value, Reading& reading) { return set_unschedulable(value, reading, true); }
Perform read_uncordon(const Value& value, Reading& reading) { return set_unschedulable(value, reading, false); }

Perform read_taint(const Value& value, Reading& reading) {
  std::vector<std::pair<std::vector<std::string>, std::vector<Taint>>> changes;
  for (const Member& member : members(value, "the value", reading.faults)) {
    auto& [names, taints] = changes.emplace_back(reading.node_names(member.key, member.where), std::vector<Taint>{});
    for (const Value* item : items(member.value)) {
      if (const auto taint = read_one_taint(*item, reading.faults)) taints.push_back(*taint);
    }
  }
  return [changes](Stage& stage) -> std::string {
    for (const auto& [names, taints] : changes) {
      const std::string wrong = on_each(stage, names, [&](const std::string& path, size_t) {
        for (const Taint& taint : taints) {
          Json all = taints_without(stage.cluster.api.object(path), taint.key);
          all.push_back(taint_json(taint));
          set_taints(stage, path, std::move(all));
        }
      });
      if (!wrong.empty()) return wrong;
    }
    return {};
  };
}

Perform read_untaint(const Value& value, Reading& reading) {
  std::vector<std::pair<std::vector<std::string>, std::string>> changes;
  for (const Member& member : members(value, "the value", reading.faults)) {
    if (const auto key = read_text(member.value, "a taint's key", reading.faults)) {
      changes.emplace_back(reading.node_names(member.key, member.where), *key);
    }
  }
  return [changes](Stage& stage) -> std::string {
    for (const auto& [names, key] : changes) {
      const std::string wrong = on_each(stage, names, [&](const std::string& path, size_t) {
        set_taints(stage, path, taints_without(stage.cluster.api.object(path), key));
      });
      if (!wrong.empty()) return wrong;
    }
    return {};
  };
}

namespace {
Perform create_all(std::vector<PlannedObject> objects) {
  return [objects = std::move(objects)](Stage& stage) -> std::string {
    for (const PlannedObject& object : objects) {
      if (stage.cluster.api.text(object.path)) return fmt::format("{} is there already", object.path);
      make_object(stage, object, sim::Kubelets::usual_machine().ready_after);
    }
    return {};
  };
}
}  // namespace

// Nodes, or any objects by their paths.
Perform read_create(const Value& value, Reading& reading) {
  const bool paths =
      value.kind == Value::Kind::map && !value.entries.empty() && value.entries.begin()->first.starts_with("/");
  return create_all(paths ? read_paths(value, reading) : read_nodes(value, reading));
}

Perform read_create_pods(const Value& value, Reading& reading) { return create_all(read_pods(value, reading)); }

Perform read_delete(const Value& value, Reading& reading) {
  std::vector<std::string> paths, nodes;
  for (const Value* item : items(value)) {
    if (item->kind == Value::Kind::string && item->text.starts_with("/")) {
      paths.push_back(item->text);
    } else {
      for (std::string& name : reading.node_names(*item)) nodes.push_back(std::move(name));
    }
  }
  return [paths, nodes](Stage& stage) -> std::string {
    for (const std::string& path : paths) {
      if (!stage.cluster.api.text(path)) return fmt::format("there is no {}", path);
      stage.cluster.api.erase(path, kPerson);
    }
    return on_each(stage, nodes, [&](const std::string& path, size_t) { stage.cluster.api.erase(path, kPerson); });
  };
}

Perform read_patch(const Value& value, Reading& reading) {
  std::vector<std::pair<std::string, Json>> patches;
  for (const Member& member : members(value, "the value", reading.faults)) {
    const bool path = member.key.starts_with("/");
    if (!path) reading.node_names(member.key, member.where);
    patches.emplace_back(path ? member.key : node_path(member.key), to_json(member.value));
  }
  return [patches](Stage& stage) -> std::string {
    for (const auto& [path, patch] : patches) {
      if (!stage.cluster.api.text(path)) return fmt::format("there is no {}", path);
      stage.cluster.api.merge(path, patch, kPerson);
    }
    return {};
  };
}

}  // namespace careen::scenarios
