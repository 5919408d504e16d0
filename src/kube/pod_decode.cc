#include "kube/pod_store.h"
#include "kube/raw_object.h"

namespace careen::kube {

namespace {

using raw::Key;
using raw::value;

PodPhase phase_of(std::string_view text) {
  if (text == "Running") return PodPhase::running;
  if (text == "Pending") return PodPhase::pending;
  if (text == "Succeeded") return PodPhase::succeeded;
  if (text == "Failed") return PodPhase::failed;
  return PodPhase::unknown;
}

void read_owner(value& v, PodFacts& pod) {
  std::string_view api, kind, name;
  bool controller = false;
  raw::each_field(v, [&](Key key, value& field) {
    if (key == "apiVersion") {
      api = raw::text(field).value_or(std::string_view{});
    } else if (key == "kind") {
      kind = raw::text(field).value_or(std::string_view{});
    } else if (key == "name") {
      name = raw::text(field).value_or(std::string_view{});
    } else if (key == "controller") {
      controller = raw::boolean(field).value_or(false);
    }
  });
  pod.flags.daemon_kind |= kind == "DaemonSet";
  if (!controller) {
    pod.others.emplace_back(kind, name);
    return;
  }
  pod.owner_kind = kind;
  pod.owner_name = name;
  pod.flags.daemon_set = kind == "DaemonSet" && api.starts_with("apps/");
}

void read_metadata(Key key, value& field, PodFacts& pod) {
  if (key == "labels") {
    raw::each_text(field, [&](std::string_view k, std::string_view v) { pod.labels.emplace_back(k, v); });
  } else if (key == "annotations") {
    raw::each_field(field, [&](Key k, value&) {
      if (k == "kubernetes.io/config.mirror") pod.flags.mirror = true;
    });
  } else if (key == "ownerReferences") {
    raw::each_element(field, [&](value& owner) { read_owner(owner, pod); });
  } else if (key == "finalizers") {
    raw::each_element(field, [&](value& one) {
      if (const auto text = raw::text(one)) pod.finalizers.push_back(*text);
    });
  } else if (key == "deletionGracePeriodSeconds") {
    if (const auto seconds = raw::integer(field)) pod.deletion_grace = io::seconds{*seconds};
  }
}

bool is_the_expression(value& v, const NodePreference& wanted) {
  bool key_fits = false, op_fits = false, value_fits = false;
  size_t values = 0;
  raw::each_field(v, [&](Key name, value& field) {
    if (name == "key") {
      key_fits = raw::text(field) == wanted.key;
    } else if (name == "operator") {
      op_fits = raw::text(field) == wanted.op;
    } else if (name == "values") {
      raw::each_element(field, [&](value& one) {
        ++values;
        value_fits = raw::text(one) == wanted.value;
      });
    }
  });
  return key_fits && op_fits && value_fits && values == 1;
}

// From the pod's affinity down to the expressions of its preferred terms.
bool has_preference(value& affinity, const NodePreference& wanted) {
  bool found = false;
  const auto in_term = [&](Key name, value& preference) {
    if (name != "preference") return;
    raw::each_field(preference, [&](Key part, value& expressions) {
      if (part != "matchExpressions") return;
      raw::each_element(expressions, [&](value& one) { found |= is_the_expression(one, wanted); });
    });
  };
  raw::each_field(affinity, [&](Key kind, value& node_affinity) {
    if (kind != "nodeAffinity") return;
    raw::each_field(node_affinity, [&](Key strength, value& terms) {
      if (strength != "preferredDuringSchedulingIgnoredDuringExecution") return;
      raw::each_element(terms, [&](value& term) { raw::each_field(term, in_term); });
    });
  });
  return found;
}

void read_spec(Key key, value& field, PodFacts& pod, const NodePreference* marking) {
  if (key == "nodeName") {
    pod.node = raw::text(field).value_or(std::string_view{});
  } else if (key == "priority") {
    const int64_t priority = raw::integer(field).value_or(0);
    if (priority == static_cast<int32_t>(priority)) pod.priority = static_cast<int32_t>(priority);
  } else if (key == "affinity") {
    if (marking != nullptr) pod.flags.marked = has_preference(field, *marking);
  } else if (key == "volumes") {
    raw::each_element(field, [&](value& volume) {
      raw::each_field(volume, [&](Key kind, value&) {
        if (kind == "emptyDir") pod.flags.local_storage = true;
      });
    });
  }
}

void read_status(Key key, value& field, PodFacts& pod) {
  if (key == "phase") {
    pod.phase = phase_of(raw::text(field).value_or(std::string_view{}));
  } else if (key == "conditions") {
    raw::each_element(field, [&](value& condition) {
      std::string_view type, status;
      raw::each_field(condition, [&](Key name, value& v) {
        if (name == "type") type = raw::text(v).value_or(std::string_view{});
        if (name == "status") status = raw::text(v).value_or(std::string_view{});
      });
      if (type == "Ready") pod.flags.ready = status == "True";
    });
  }
}

}  // namespace

io::Result<bool> decode_pod(RawObject& raw, PodFacts& pod, const NodePreference* marking) {
  return raw::guarded("a pod", [&]() -> io::Result<bool> {
    auto labels = std::move(pod.labels);
    labels.clear();
    pod = PodFacts{};
    pod.labels = std::move(labels);
    raw::Meta meta;
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") {
        raw::each_meta_field(field, meta, [&](Key name, value& v) { read_metadata(name, v, pod); });
      } else if (key == "spec") {
        raw::each_field(field, [&](Key name, value& v) { read_spec(name, v, pod, marking); });
      } else if (key == "status") {
        raw::each_field(field, [&](Key name, value& v) { read_status(name, v, pod); });
      }
    });
    if (auto ok = raw::complete(meta); !ok) return ok;
    if (meta.name.find('\0') != std::string_view::npos) {
      return io::fail(io::ErrorKind::invalid, "a pod whose name has a NUL character");
    }
    pod.ns = meta.ns;
    pod.name = meta.name;
    pod.uid = meta.uid;
    pod.version = meta.version;
    if (!meta.deleted.empty()) pod.deletion = io::parse_rfc3339(meta.deleted);
    return true;
  });
}

io::Result<bool> PodStore::put_json(std::string_view json) {
  return raw::on_text("a pod", json, [this](RawObject& raw) -> io::Result<bool> {
    PodFacts facts;
    if (auto ok = decode_pod(raw, facts, marking()); !ok) return ok;
    return put(facts);
  });
}

}  // namespace careen::kube
