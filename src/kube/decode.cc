#include "kube/decode.h"

#include <algorithm>
#include <utility>

#include "kube/raw_object.h"

namespace careen::kube {

namespace {

using raw::Key;
using raw::value;
using Labels = std::vector<std::pair<Atom, Atom>>;
using Annotations = std::vector<std::pair<Atom, std::string>>;

template <class Pairs>
void sort_by_key(Pairs& pairs) {
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first.view() < b.first.view(); });
  pairs.shrink_to_fit();
}

void read_labels(value& v, AtomPool& atoms, Labels& out) {
  raw::each_text(
      v, [&](std::string_view key, std::string_view text) { out.emplace_back(atoms.intern(key), atoms.intern(text)); });
  sort_by_key(out);
}

void read_annotations(value& v, AtomPool& atoms, Annotations& out) {
  raw::each_text(v, [&](std::string_view key, std::string_view text) { out.emplace_back(atoms.intern(key), text); });
  sort_by_key(out);
}

void read_texts(value& v, std::vector<std::string>& out) {
  raw::each_element(v, [&](value& element) {
    if (auto text = raw::text(element)) out.emplace_back(*text);
  });
}

void read_atom(value& v, AtomPool& atoms, Atom& out) {
  if (auto text = raw::text(v)) out = atoms.intern(*text);
}

void read_time(value& v, std::optional<io::Wall>& out) {
  if (auto text = raw::text(v)) out = io::parse_rfc3339(*text);
}

void read_int32(value& v, std::optional<int32_t>& out) {
  if (auto number = raw::integer(v); number && *number == static_cast<int32_t>(*number)) {
    out = static_cast<int32_t>(*number);
  }
}

// visit(Key, value&) for the fields of an object besides its metadata; `meta` and metadata(Key, value&) get those.
template <class M, class F>
io::Result<raw::Meta> read_object(RawObject& raw, M&& metadata, F&& visit) {
  raw::Meta meta;
  raw::each_field(raw.object, [&](Key key, value& field) {
    if (key == "metadata") return raw::each_meta_field(field, meta, metadata);
    visit(key, field);
  });
  if (auto ok = raw::complete(meta); !ok) return tl::make_unexpected(ok.error());
  return meta;
}

void read_taint(value& v, AtomPool& atoms, std::vector<Taint>& out) {
  Taint taint;
  raw::each_field(v, [&](Key key, value& field) {
    if (key == "key") return read_atom(field, atoms, taint.key);
    if (key == "value") return read_atom(field, atoms, taint.value);
    if (key == "effect") return read_atom(field, atoms, taint.effect);
    if (key == "timeAdded") return read_atom(field, atoms, taint.time_added);
  });
  out.push_back(std::move(taint));
}

void read_condition(value& v, AtomPool& atoms, std::vector<NodeCondition>& out) {
  NodeCondition condition;
  raw::each_field(v, [&](Key key, value& field) {
    if (key == "type") return read_atom(field, atoms, condition.type);
    if (key == "status") return read_atom(field, atoms, condition.status);
    if (key == "reason") return read_atom(field, atoms, condition.reason);
    if (key == "lastTransitionTime") {
      if (auto text = raw::text(field)) condition.since = io::parse_rfc3339(*text).value_or(io::Wall{});
    }
  });
  out.push_back(std::move(condition));
}

void read_node_spec(value& v, AtomPool& atoms, Node& node) {
  raw::each_field(v, [&](Key key, value& field) {
    if (key == "unschedulable") {
      node.unschedulable = raw::boolean(field).value_or(false);
    } else if (key == "taints") {
      raw::each_element(field, [&](value& taint) { read_taint(taint, atoms, node.taints); });
    }
  });
}

void read_node_status(value& v, AtomPool& atoms, Node& node) {
  raw::each_field(v, [&](Key key, value& field) {
    if (key == "conditions") {
      raw::each_element(field, [&](value& condition) { read_condition(condition, atoms, node.conditions); });
    } else if (key == "nodeInfo") {
      raw::each_field(field, [&](Key info, value& text) {
        if (info == "kubeletVersion") read_atom(text, atoms, node.kubelet_version);
      });
    }
  });
}

// One entry of managedFields, as far as it is about spec.unschedulable and conditions that do not say why they hold.
struct Manager {
  std::string_view name;
  io::Wall time{};
  bool cordons = false;
  std::vector<size_t> conditions;  // of those that are looked for
};

void read_managed_spec(value& v, Manager& manager) {
  raw::each_field(v, [&](Key key, value&) { manager.cordons |= key == "f:unschedulable"; });
}

// {"f:conditions":{"k:{\"type\":\"Drained\"}":{…}}}
void read_managed_status(value& v, const std::vector<std::string>& conditions, Manager& manager) {
  raw::each_field(v, [&](Key part, value& fields) {
    if (part != "f:conditions") return;
    raw::each_field(fields, [&](Key key, value&) {
      for (size_t i = 0; i < conditions.size(); ++i) {
        if (key == std::string_view(conditions[i])) manager.conditions.push_back(i);
      }
    });
  });
}

void read_manager(value& v, const std::vector<std::string>& conditions, Manager& manager) {
  raw::each_field(v, [&](Key key, value& field) {
    if (key == "manager") {
      manager.name = raw::text(field).value_or("");
    } else if (key == "time") {
      manager.time = io::parse_rfc3339(raw::text(field).value_or("")).value_or(io::Wall{});
    } else if (key == "fieldsV1") {
      raw::each_field(field, [&](Key part, value& fields) {
        if (part == "f:spec") return read_managed_spec(fields, manager);
        if (part == "f:status" && !conditions.empty()) read_managed_status(fields, conditions, manager);
      });
    }
  });
}

// Those whose reason nobody gives. A kubelet gives one for each of its own; of Ready nobody asks who.
std::vector<Atom> unexplained_conditions(const Node& node) {
  constexpr std::string_view kEscaped = "\"\\";
  std::vector<Atom> types;
  for (const NodeCondition& condition : node.conditions) {
    const bool unexplained = condition.status == std::string_view("True") && condition.reason.empty() &&
                             condition.type != std::string_view("Ready");
    if (unexplained && condition.type.view().find_first_of(kEscaped) == std::string_view::npos)
      types.push_back(condition.type);
  }
  return types;
}

// Half of a node's bytes can be managedFields, so they are read only of nodes that are cordoned or have such a
// condition, and on a second pass: whether they do stands behind them.
void read_managers(raw::object& document, const std::vector<Atom>& types, AtomPool& atoms, Node& node) {
  std::vector<std::string> keys;
  for (const Atom& type : types) keys.push_back("k:{\\\"type\\\":\\\"" + std::string(type.view()) + "\\\"}");
  Manager last;
  std::vector<Manager> writers(types.size());
  const auto read_entry = [&](value& entry) {
    Manager manager;
    read_manager(entry, keys, manager);
    for (const size_t i : manager.conditions) {
      if (writers[i].name.empty() || manager.time > writers[i].time) writers[i] = {manager.name, manager.time};
    }
    if (manager.cordons && (!last.cordons || manager.time > last.time)) last = manager;
  };
  raw::each_field(document, [&](Key key, value& metadata) {
    if (key != "metadata") return;
    raw::each_field(metadata, [&](Key part, value& entries) {
      if (part == "managedFields") raw::each_element(entries, read_entry);
    });
  });
  for (size_t i = 0; i < types.size(); ++i) {
    if (!writers[i].name.empty()) node.condition_managers.emplace_back(types[i], atoms.intern(writers[i].name));
  }
  if (!node.unschedulable) return;
  node.cordoned_by = atoms.intern(last.name);
  node.cordoned = last.time;
}

// Copies the parts of a node that are wanted as they are written, but for the fields that every heartbeat changes.
class SectionReader {
 public:
  SectionReader(const NodeSections& sections, AtomPool& atoms, Node& node)
      : sections_(sections), atoms_(atoms), node_(node) {}

  void read(raw::object& document) {
    read_fields(document, sections_.branches(), Place::node);
    sort_by_key(node_.sections);
  }

 private:
  // Where in the node a value stands, as far as it matters for what is left out.
  enum class Place { elsewhere, node, metadata, status, conditions, condition };

  static Place inside(Place place, Key key) {
    if (place == Place::node && key == "metadata") return Place::metadata;
    if (place == Place::node && key == "status") return Place::status;
    if (place == Place::status && key == "conditions") return Place::conditions;
    return Place::elsewhere;
  }
  static bool is_left_out(Place place, Key key) {
    if (place == Place::metadata) return key == "resourceVersion" || key == "managedFields";
    return place == Place::condition && key == "lastHeartbeatTime";
  }

  void read_fields(raw::object fields, const std::vector<NodeSections::Branch>& branches, Place place) {
    raw::each_field(fields, [&](Key key, value& field) {
      for (const NodeSections::Branch& branch : branches) {
        if (key == branch.key) return read_branch(field, branch, inside(place, key));
      }
    });
  }
  void read_branch(value& field, const NodeSections::Branch& branch, Place place) {
    if (branch.pointer) {
      std::string text;
      copy(field, place, text);
      node_.sections.emplace_back(atoms_.intern(sections_.pointers()[*branch.pointer]), std::move(text));
    } else if (auto fields = raw::if_type(field.get_object())) {
      read_fields(*fields, branch.below, place);
    }
  }

  static void copy(value& v, Place place, std::string& out) {
    using Type = simdjson::ondemand::json_type;
    const Type type = v.type();
    if (type == Type::object) return copy_object(v.get_object(), place, out);
    if (type == Type::array) return copy_array(v.get_array(), place, out);
    append(v.raw_json_token(), out);
  }
  // Raw text may have the blanks that follow it.
  static void append(std::string_view raw, std::string& out) {
    out += raw.substr(0, raw.find_last_not_of(" \t\r\n") + 1);
  }
  // With its quotes, escaped as it is written.
  static std::string_view written(Key key) {
    const char* const begin = key.raw();
    const char* end = begin;
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    return {begin - 1, static_cast<size_t>(end - begin) + 2};
  }
  static void copy_object(raw::object o, Place place, std::string& out) {
    if (place == Place::elsewhere) return append(o.raw_json(), out);
    out += '{';
    const char* separator = "";
    raw::each_field(o, [&](Key key, value& member) {
      if (is_left_out(place, key)) return;
      out += std::exchange(separator, ",");
      out += written(key);
      out += ':';
      copy(member, inside(place, key), out);
    });
    out += '}';
  }
  static void copy_array(raw::array a, Place place, std::string& out) {
    if (place != Place::conditions) return append(a.raw_json(), out);
    out += '[';
    const char* separator = "";
    for (auto element : a) {
      out += std::exchange(separator, ",");
      value condition = element.value();
      copy(condition, Place::condition, out);
    }
    out += ']';
  }

  const NodeSections& sections_;
  AtomPool& atoms_;
  Node& node_;
};

}  // namespace

io::Result<Node> decode_node(RawObject& raw, AtomPool& atoms, const NodeSections& sections) {
  return raw::guarded("a node", [&]() -> io::Result<Node> {
    Node node;
    auto meta = read_object(
        raw,
        [&](Key key, value& field) {
          if (key == "labels") return read_labels(field, atoms, node.labels);
          if (key == "annotations") return read_annotations(field, atoms, node.annotations);
          if (key == "finalizers") return read_texts(field, node.finalizers);
        },
        [&](Key key, value& field) {
          if (key == "spec") return read_node_spec(field, atoms, node);
          if (key == "status") return read_node_status(field, atoms, node);
        });
    if (!meta) return tl::make_unexpected(meta.error());
    node.name = meta->name;
    node.uid = meta->uid;
    node.version = meta->version;
    node.created = io::parse_rfc3339(meta->created).value_or(io::Wall{});
    node.deleting = !meta->deleted.empty();
    node.taints.shrink_to_fit();
    node.conditions.shrink_to_fit();
    if (const auto unexplained = unexplained_conditions(node); node.unschedulable || !unexplained.empty()) {
      (void)raw.object.reset().value();
      read_managers(raw.object, unexplained, atoms, node);
    }
    if (!sections.empty()) {
      (void)raw.object.reset().value();
      SectionReader(sections, atoms, node).read(raw.object);
    }
    return node;
  });
}

io::Result<Lease> decode_lease(RawObject& raw, AtomPool& atoms) {
  return raw::guarded("a lease", [&]() -> io::Result<Lease> {
    Lease lease;
    const auto read_spec = [&](Key key, value& field) {
      if (key == "holderIdentity") {
        if (auto text = raw::text(field)) lease.holder = *text;
      } else if (key == "acquireTime") {
        read_time(field, lease.acquired);
      } else if (key == "renewTime") {
        read_time(field, lease.renewed);
      } else if (key == "leaseDurationSeconds") {
        read_int32(field, lease.duration_seconds);
      } else if (key == "leaseTransitions") {
        read_int32(field, lease.transitions);
      }
    };
    auto meta = read_object(
        raw,
        [&](Key key, value& field) {
          if (key == "annotations") read_annotations(field, atoms, lease.annotations);
        },
        [&](Key key, value& field) {
          if (key == "spec") raw::each_field(field, read_spec);
        });
    if (!meta) return tl::make_unexpected(meta.error());
    lease.name = meta->name;
    lease.ns = meta->ns;
    lease.uid = meta->uid;
    lease.version = meta->version;
    lease.deleting = !meta->deleted.empty();
    return lease;
  });
}

io::Result<Namespace> decode_namespace(RawObject& raw, AtomPool& atoms) {
  return raw::guarded("a namespace", [&]() -> io::Result<Namespace> {
    Namespace space;
    auto meta = read_object(
        raw,
        [&](Key key, value& field) {
          if (key == "labels") return read_labels(field, atoms, space.labels);
          if (key == "annotations") return read_annotations(field, atoms, space.annotations);
        },
        [](Key, value&) {});
    if (!meta) return tl::make_unexpected(meta.error());
    space.name = meta->name;
    space.uid = meta->uid;
    space.version = meta->version;
    space.deleting = !meta->deleted.empty();
    return space;
  });
}

io::Result<Object> decode_object(RawObject& raw) {
  return raw::guarded("an object", [&]() -> io::Result<Object> {
    const std::string_view text = raw.object.raw_json();
    auto document = Json::parse(text);
    if (!document) return tl::make_unexpected(document.error());
    const JsonView metadata = (*document)["metadata"];
    const auto field = [&](const char* key) { return metadata[key].text().value_or(std::string_view{}); };
    raw::Meta meta;
    meta.name = field("name");
    meta.version_text = field("resourceVersion");
    if (auto ok = raw::complete(meta); !ok) return tl::make_unexpected(ok.error());
    Object object;
    object.name = meta.name;
    object.ns = field("namespace");
    object.uid = field("uid");
    object.version = meta.version;
    document->remove({"metadata", "managedFields"});
    document->remove({"metadata", "resourceVersion"});
    object.document = std::move(*document);
    return object;
  });
}

io::Result<Identity> decode_identity(RawObject& raw) {
  return raw::guarded("an object", [&]() -> io::Result<Identity> {
    auto meta = read_object(raw, [](Key, value&) {}, [](Key, value&) {});
    if (!meta) return tl::make_unexpected(meta.error());
    return Identity{std::string(meta->name), std::string(meta->ns), std::string(meta->uid), meta->version};
  });
}

io::Result<uint64_t> decode_version(RawObject& raw) {
  return raw::guarded("an object", [&]() -> io::Result<uint64_t> {
    raw::Meta meta;
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") raw::each_meta_field(field, meta, [](Key, value&) {});
    });
    const auto version = raw::version(meta.version_text);
    if (!version) return io::fail(io::ErrorKind::invalid, "an object without a resource version");
    return *version;
  });
}

io::Result<std::string> decode_text(RawObject& raw) {
  return raw::guarded("an object", [&]() -> io::Result<std::string> {
    const std::string_view text = raw.object.raw_json();
    return std::string(text);
  });
}

io::Result<Node> decode_node(std::string_view json, AtomPool& atoms, const NodeSections& sections) {
  return raw::on_text("a node", json, [&](RawObject& raw) { return decode_node(raw, atoms, sections); });
}

io::Result<Lease> decode_lease(std::string_view json, AtomPool& atoms) {
  return raw::on_text("a lease", json, [&](RawObject& raw) { return decode_lease(raw, atoms); });
}

io::Result<Namespace> decode_namespace(std::string_view json, AtomPool& atoms) {
  return raw::on_text("a namespace", json, [&](RawObject& raw) { return decode_namespace(raw, atoms); });
}

io::Result<Object> decode_object(std::string_view json) {
  return raw::on_text("an object", json, [](RawObject& raw) { return decode_object(raw); });
}

io::Result<Identity> decode_identity(std::string_view json) {
  return raw::on_text("an object", json, [](RawObject& raw) { return decode_identity(raw); });
}

}  // namespace careen::kube
