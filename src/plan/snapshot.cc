#include "plan/snapshot.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/hypervisors.h"
#include "controllers/slot/kind.h"
#include "kube/disruption_budget.h"
#include "limits/limit.h"
#include "replica/controllers.h"
#include "sim/value.h"

namespace careen::plan {

namespace json = boost::json;

const std::vector<KindEntry>& kinds() {
  static const std::vector<KindEntry> all = [] {
    std::vector<KindEntry> list = {
        {Kind::nodes, "nodes", kube::resources::nodes},
        {Kind::pods, "pods", kube::resources::pods},
        {Kind::budgets, "poddisruptionbudgets", kube::resources::disruption_budgets},
        {Kind::deployments, "deployments", {"apps", "v1", "deployments", "Deployment", true}},
        {Kind::replica_sets, "replicasets", {"apps", "v1", "replicasets", "ReplicaSet", true}},
        {Kind::stateful_sets, "statefulsets", {"apps", "v1", "statefulsets", "StatefulSet", true}},
        {Kind::daemon_sets, "daemonsets", {"apps", "v1", "daemonsets", "DaemonSet", true}},
        {Kind::jobs, "jobs", {"batch", "v1", "jobs", "Job", true}},
        {Kind::leases, "leases", kube::resources::leases},
        {Kind::hypervisors, "hypervisors", profiles::kHypervisorResource},
        {Kind::limits, limits::kLimitResource.plural, limits::kLimitResource},
    };
    for (const controllers::Kind* kind : replica::object_kinds()) {
      list.push_back({kind_of(*kind), kind->object.plural, kind->object});
    }
    return list;
  }();
  return all;
}

Kind kind_of(const controllers::Kind& controller) {
  const auto& all = replica::object_kinds();
  const auto place = std::find(all.begin(), all.end(), &controller) - all.begin();
  return static_cast<Kind>(static_cast<size_t>(Kind::first_of_controllers) + static_cast<size_t>(place));
}

const KindEntry& entry_of(Kind kind) { return kinds()[static_cast<size_t>(kind)]; }

const std::vector<kube::Json>& Snapshot::of(Kind kind) const {
  static const std::vector<kube::Json> none;
  const auto found = objects.find(kind);
  return found == objects.end() ? none : found->second;
}

std::string snapshot_text(const Snapshot& snapshot) {
  std::string out = fmt::format(R"({{"kind":"CareenSnapshot","format":{},"time":{},"server":{},"careen":{})",
                                Snapshot::kFormat, kube::Json(io::format_rfc3339(snapshot.time)).dump(),
                                kube::Json(snapshot.server).dump(), kube::Json(snapshot.careen).dump());
  if (!snapshot.config.empty()) out += ",\"config\":" + kube::Json(snapshot.config).dump();
  if (!snapshot.missing.empty()) {
    kube::Json missing = kube::Json::array();
    for (const std::string& one : snapshot.missing) missing.push_back(one);
    out += ",\"missing\":" + missing.dump();
  }
  out += ",\n\"objects\":{";
  bool first_kind = true;
  for (const KindEntry& entry : kinds()) {
    const auto& objects = snapshot.of(entry.kind);
    if (objects.empty()) continue;
    out += fmt::format("{}\n\"{}\":[", first_kind ? "" : ",", entry.section);
    first_kind = false;
    for (size_t i = 0; i < objects.size(); ++i) {
      out += i == 0 ? "\n" : ",\n";
      out += objects[i].dump();
    }
    out += "]";
  }
  return out + "}}\n";
}

namespace {

io::Result<std::string> text_member(const json::object& document, std::string_view key) {
  const json::value* value = document.if_contains(key);
  if (!value) return std::string();
  if (!value->is_string()) return io::refuse(fmt::format("{}: must be a text", key));
  return std::string(value->get_string());
}

// What the model cannot do without.
std::string mistake_of(const KindEntry& entry, const json::value& object) {
  if (!object.is_object()) return ": must be an object";
  const json::value* meta = sim::member(object, "metadata");
  if (!meta || !meta->is_object()) return ".metadata: must be an object";
  const auto is_name = [](std::string_view text) {
    return !text.empty() && text.size() <= 253 && text.find_first_of("/?#% \n") == std::string_view::npos;
  };
  if (!is_name(sim::text_at(*meta, "name"))) return ".metadata.name: must be the name of an object";
  if (entry.resource.namespaced && !is_name(sim::text_at(*meta, "namespace"))) {
    return ".metadata.namespace: must be the name of a namespace";
  }
  for (const char* key : {"labels", "annotations"}) {
    const json::value* map = sim::member(*meta, key);
    if (!map) continue;
    if (!map->is_object()) return fmt::format(".metadata.{}: must be an object", key);
    for (const auto& [name, value] : map->get_object()) {
      if (!value.is_string()) return fmt::format(".metadata.{}.{}: must be a text", key, std::string_view(name));
    }
  }
  for (const char* key : {"spec", "status"}) {
    const json::value* part = sim::member(object, key);
    if (part && !part->is_object()) return fmt::format(".{}: must be an object", key);
  }
  return {};
}

io::Result<std::vector<kube::Json>> read_section(const KindEntry& entry, const json::value& section) {
  if (!section.is_array()) return io::refuse(fmt::format("objects.{}: must be a list", entry.section));
  std::vector<kube::Json> out;
  out.reserve(section.get_array().size());
  for (const json::value& object : section.get_array()) {
    if (const std::string mistake = mistake_of(entry, object); !mistake.empty()) {
      return io::refuse(fmt::format("objects.{}[{}]{}", entry.section, out.size(), mistake));
    }
    // A hand-made snapshot may hold whole objects; what is not needed does not get further.
    out.push_back(reduce(entry.kind, object));
  }
  return out;
}

const KindEntry* find_section(std::string_view name) {
  for (const KindEntry& entry : kinds()) {
    if (entry.section == name) return &entry;
  }
  return nullptr;
}

std::string known_sections() {
  std::string out;
  for (const KindEntry& entry : kinds()) out += (out.empty() ? "" : ", ") + std::string(entry.section);
  return out;
}

io::Result<Snapshot> read_head(const json::object& document) {
  if (sim::text_at(document, "kind") != "CareenSnapshot") {
    return io::refuse("kind: must be CareenSnapshot; this is no snapshot that careen took");
  }
  const json::value* format = document.if_contains("format");
  if (!format || !format->is_int64()) return io::refuse("format: must be a number");
  if (format->get_int64() != Snapshot::kFormat) {
    return io::refuse(
        fmt::format("format: is {}, but this careen reads format {} only; take the snapshot with the same "
                    "version",
                    format->get_int64(), Snapshot::kFormat));
  }
  Snapshot snapshot;
  const auto time = io::parse_rfc3339(sim::text_at(document, "time"));
  if (!time) return io::refuse("time: must be a time such as 2026-03-01T10:00:00Z");
  // Room for a plan on both sides.
  constexpr auto kEarliest = io::Wall(io::hours{24}), kLatest = io::Wall(io::hours{24 * 365 * 200});
  if (*time < kEarliest || *time > kLatest) return io::refuse("time: must lie between 1970 and 2170");
  snapshot.time = *time;
  for (const auto& [key, into] :
       {std::pair{"server", &snapshot.server}, {"careen", &snapshot.careen}, {"config", &snapshot.config}}) {
    auto text = text_member(document, key);
    if (!text) return tl::make_unexpected(text.error());
    *into = std::move(*text);
  }
  const json::value* missing = document.if_contains("missing");
  if (missing && missing->is_array()) {
    for (const json::value& one : missing->get_array()) {
      if (one.is_string()) snapshot.missing.emplace_back(one.get_string());
    }
  }
  return snapshot;
}

}  // namespace

io::Result<Snapshot> parse_snapshot(std::string_view text) {
  boost::system::error_code failed;
  json::parse_options options;
  options.max_depth = 64;
  const json::value document = json::parse(text, failed, {}, options);
  if (failed) return io::refuse("is no JSON document: " + failed.message());
  if (!document.is_object()) return io::refuse("must be a JSON object");
  auto snapshot = read_head(document.get_object());
  if (!snapshot) return snapshot;
  const json::value* objects = document.get_object().if_contains("objects");
  if (!objects || !objects->is_object()) return io::refuse("objects: must be an object");
  for (const auto& [name, section] : objects->get_object()) {
    const KindEntry* entry = find_section(name);
    if (!entry) {
      return io::refuse(
          fmt::format("objects.{}: is not known; there may be {}", std::string_view(name), known_sections()));
    }
    auto read = read_section(*entry, section);
    if (!read) return tl::make_unexpected(read.error());
    snapshot->objects[entry->kind] = std::move(*read);
  }
  return snapshot;
}

}  // namespace careen::plan
