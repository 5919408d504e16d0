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
  std::string_view kind, name;
  bool controller = false;
  raw::each_field(v, [&](Key key, value& field) {
    if (key == "kind") {
      kind = raw::text(field).value_or(std::string_view{});
    } else if (key == "name") {
      name = raw::text(field).value_or(std::string_view{});
    } else if (key == "controller") {
      controller = raw::boolean(field).value_or(false);
    }
  });
  if (!controller) return;
  pod.owner_kind = kind;
  pod.owner_name = name;
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
    raw::each_element(field, [&](value&) { pod.flags.finalizers = true; });
  }
}

void read_spec(Key key, value& field, PodFacts& pod) {
  if (key == "nodeName") {
    pod.node = raw::text(field).value_or(std::string_view{});
  } else if (key == "priority") {
    const int64_t priority = raw::integer(field).value_or(0);
    if (priority == static_cast<int32_t>(priority)) pod.priority = static_cast<int32_t>(priority);
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

io::Result<bool> decode_pod(RawObject& raw, PodFacts& pod) {
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
        raw::each_field(field, [&](Key name, value& v) { read_spec(name, v, pod); });
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
    if (auto ok = decode_pod(raw, facts); !ok) return ok;
    return put(facts);
  });
}

}  // namespace careen::kube
