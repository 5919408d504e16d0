#include "sim/apply.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <vector>

namespace careen::sim {

namespace {

// Steps from the root: f:name of a member, k:{keys} of a list's element, v:value of a set's, "." the element itself.
using Path = std::vector<std::string>;
using Paths = std::set<Path>;

// How a part of the object merges: from the type of a built-in kind, or the schema of a custom one.
struct Part {
  const Type* type = nullptr;
  const Field* field = nullptr;
  const json::value* schema = nullptr;

  Part member_part(std::string_view key) const {
    if (type) {
      const Field* found = type->field(key);
      Part part{nullptr, found, nullptr};
      if (found && found->container == Field::Container::none) part.type = found->type;
      return part;
    }
    if (!schema) return {};
    if (const json::value* properties = member(*schema, "properties")) {
      if (const json::value* found = member(*properties, key)) return {nullptr, nullptr, found};
    }
    const json::value* additional = member(*schema, "additionalProperties");
    return {nullptr, nullptr, additional && additional->is_object() ? additional : nullptr};
  }
  Part element_part() const {
    if (field) return {field->type, nullptr, nullptr};
    return {nullptr, nullptr, schema ? member(*schema, "items") : nullptr};
  }
  std::vector<std::string> keys() const {
    if (field) return field->apply_keys;
    std::vector<std::string> out;
    if (!schema || text_at(*schema, "x-kubernetes-list-type") != "map") return out;
    const json::value* list = member(*schema, "x-kubernetes-list-map-keys");
    if (!list || !list->is_array()) return out;
    for (const json::value& one : list->get_array()) out.emplace_back(std::string_view(one.get_string()));
    return out;
  }
  bool is_set() const { return field ? field->set : schema && text_at(*schema, "x-kubernetes-list-type") == "set"; }
  bool is_atomic_map() const {
    if (field && field->shape == Shape::any) return false;
    return schema && text_at(*schema, "x-kubernetes-map-type") == "atomic";
  }
};

std::string key_step(const json::value& element, const std::vector<std::string>& keys) {
  json::object out;
  std::vector<std::string> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& key : sorted) {
    const json::value* found = member(element, key);
    if (found) {
      out[key] = *found;
    } else if (key == "protocol") {
      out[key] = "TCP";
    }
  }
  return "k:" + json::serialize(out);
}

std::string value_step(const json::value& value) { return "v:" + json::serialize(value); }

void collect(const json::value& value, const Part& part, Path& path, Paths& into) {
  if (value.is_object() && !value.get_object().empty() && !part.is_atomic_map()) {
    for (const auto& one : value.get_object()) {
      path.push_back("f:" + std::string(one.key()));
      collect(one.value(), part.member_part(one.key()), path, into);
      path.pop_back();
    }
    return;
  }
  const auto keys = part.keys();
  if (value.is_array() && (!keys.empty() || part.is_set())) {
    for (const json::value& one : value.get_array()) {
      path.push_back(keys.empty() ? value_step(one) : key_step(one, keys));
      if (!keys.empty()) {
        path.emplace_back(".");
        into.insert(path);
        path.pop_back();
        collect(one, part.element_part(), path, into);
      } else {
        into.insert(path);
      }
      path.pop_back();
    }
    return;
  }
  into.insert(path);
}

// Clients say these to be understood, not to own them.
Paths owned_paths(const json::value& applied, const Part& root) {
  Paths out;
  Path path;
  collect(applied, root, path, out);
  std::erase_if(out, [](const Path& one) {
    static const std::set<std::string> system = {
        "f:name",       "f:namespace", "f:uid",          "f:resourceVersion", "f:creationTimestamp",
        "f:generation", "f:selfLink",  "f:managedFields"};
    return one.empty() || (one[0] == "f:metadata" && (one.size() == 1 || system.contains(one[1])));
  });
  return out;
}

json::value to_fields(const Paths& paths) {
  json::object root;
  for (const Path& path : paths) {
    json::object* at = &root;
    for (const std::string& step : path) at = &object_at(*at, step);
  }
  return root;
}

void from_fields(const json::value& fields, Path& path, Paths& into) {
  if (!fields.is_object()) return;
  if (fields.get_object().empty() && !path.empty()) into.insert(path);
  for (const auto& one : fields.get_object()) {
    path.emplace_back(one.key());
    from_fields(one.value(), path, into);
    path.pop_back();
  }
}

template <class Value>
Value* step_into(Value& value, const std::string& step) {
  if (step == ".") return &value;
  const std::string_view rest = std::string_view(step).substr(2);
  if (step[0] == 'f') return member(value, rest);
  if (!value.is_array()) return nullptr;
  const auto wanted = parse(rest);
  for (auto& one : value.get_array()) {
    if (step[0] == 'v') {
      if (wanted && one == *wanted) return &one;
      continue;
    }
    std::vector<std::string> keys;
    for (const auto& key : wanted->get_object()) keys.emplace_back(key.key());
    if (key_step(one, keys) == step) return &one;
  }
  return nullptr;
}

const json::value* at_path(const json::value& object, const Path& path) {
  const json::value* at = &object;
  for (const std::string& step : path) {
    at = step_into(*at, step);
    if (!at) return nullptr;
  }
  return at;
}

void remove_path(json::value& object, const Path& path) {
  Path parent_path = path;
  if (parent_path.back() == ".") parent_path.pop_back();
  const std::string last = parent_path.back();
  parent_path.pop_back();
  auto* parent = const_cast<json::value*>(at_path(object, parent_path));
  if (!parent) return;
  if (last[0] == 'f' && parent->is_object()) {
    auto* const at = parent->get_object().find(last.substr(2));
    if (at != parent->get_object().end()) parent->get_object().stable_erase(at);
  } else if (json::value* element = step_into(*parent, last); element && parent->is_array()) {
    parent->get_array().erase(parent->get_array().begin() + (element - parent->get_array().data()));
  }
}

void merge_value(json::value& target, const json::value& applied, const Part& part) {
  if (applied.is_object() && target.is_object() && !part.is_atomic_map()) {
    for (const auto& one : applied.get_object()) {
      if (json::value* known = member(target, one.key())) {
        merge_value(*known, one.value(), part.member_part(one.key()));
      } else {
        target.get_object()[one.key()] = one.value();
      }
    }
    return;
  }
  const auto keys = part.keys();
  if (!applied.is_array() || !target.is_array() || (keys.empty() && !part.is_set())) {
    target = applied;
    return;
  }
  for (const json::value& one : applied.get_array()) {
    json::value* known = step_into(target, keys.empty() ? value_step(one) : key_step(one, keys));
    if (!known) {
      target.get_array().push_back(one);
    } else if (!keys.empty()) {
      merge_value(*known, one, part.element_part());
    }
  }
}

// .spec.containers[name="c"].image
std::string in_words(const Path& path) {
  std::string out;
  for (const std::string& step : path) {
    if (step == ".") continue;
    if (step[0] == 'f') {
      out += "." + step.substr(2);
      continue;
    }
    std::string inside;
    if (step[0] == 'v') {
      inside = "=" + step.substr(2);
    } else {
      const auto keys = parse(step.substr(2));
      for (const auto& one : keys->get_object()) {
        inside += (inside.empty() ? "" : ",") + std::string(one.key()) + "=" + json::serialize(one.value());
      }
    }
    out += "[" + inside + "]";
  }
  return out;
}

Failure conflict_of(const std::map<std::string, std::vector<Path>>& conflicts) {
  Failure failure{.code = 409, .reason = "Conflict"};
  size_t count = 0;
  std::string text;
  for (const auto& [manager, paths] : conflicts) {
    count += paths.size();
    if (!text.empty()) text += "\n";
    text += std::string(paths.size() > 1 ? "conflicts" : "conflict") + " with " + quoted(manager) + ":";
    for (const Path& path : paths) {
      text += (paths.size() > 1 ? "\n- " : " ") + in_words(path);
      failure.causes.push_back({"FieldManagerConflict", "conflict with " + quoted(manager), in_words(path)});
    }
  }
  failure.message = "Apply failed with " + std::to_string(count) + (count > 1 ? " conflicts: " : " conflict: ") + text;
  return failure;
}

// Whether one of the paths goes on from this one: what was applied empty has been filled since.
bool leads_into(const Path& path, const Paths& paths) {
  const auto next = paths.upper_bound(path);
  return next != paths.end() && next->size() > path.size() && std::equal(path.begin(), path.end(), next->begin());
}

// A map or list whose last member went goes too, unless somebody applied it as such.
void remove_emptied(json::value& out, Path path, std::initializer_list<const Paths*> owners) {
  for (path.pop_back(); path.size() > 1; path.pop_back()) {
    const json::value* left = at_path(out, path);
    const bool empty =
        left && ((left->is_object() && left->get_object().empty()) || (left->is_array() && left->get_array().empty()));
    if (!empty) return;
    for (const Paths* paths : owners) {
      if (paths->contains(path) || leads_into(path, *paths)) return;
    }
    remove_path(out, path);
  }
}

}  // namespace

tl::expected<json::value, Failure> server_side_apply(const json::value& known, const json::value& applied,
                                                     const Resource& resource, const Applier& applier) {
  static const json::value no_schema;
  const Part root{resource.type, nullptr, resource.schema ? &resource.schema->root() : &no_schema};
  // Metadata of custom kinds has a type, too.
  Paths own = owned_paths(applied, root);
  if (!resource.type && member(applied, "metadata")) {
    std::erase_if(own, [](const Path& path) { return path[0] == "f:metadata"; });
    const json::value meta = {{"metadata", *member(applied, "metadata")}};
    const Paths in_meta = owned_paths(meta, Part{builtin_type("Lease"), nullptr, nullptr});
    own.insert(in_meta.begin(), in_meta.end());
  }

  Paths previous;
  json::array kept;
  std::map<std::string, std::vector<Path>> conflicts;
  Paths others;
  std::string time = applier.now;
  const json::value* managed = find(known, {"metadata", "managedFields"});
  if (managed && managed->is_array()) {
    for (const json::value& entry : managed->get_array()) {
      Paths paths;
      Path path;
      if (const json::value* fields = member(entry, "fieldsV1")) from_fields(*fields, path, paths);
      if (text_at(entry, "operation") == "Apply" && text_at(entry, "manager") == applier.manager &&
          text_at(entry, "subresource") == applier.subresource) {
        previous = std::move(paths);
        if (previous == own) time = text_at(entry, "time");
        continue;
      }
      Paths left;
      for (const Path& one : paths) {
        const json::value* wanted = own.contains(one) ? at_path(applied, one) : nullptr;
        const json::value* has = at_path(known, one);
        const bool contested = wanted && one.back() != "." && (!has || *has != *wanted);
        if (contested) conflicts[std::string(text_at(entry, "manager"))].push_back(one);
        if (!contested) left.insert(one);
      }
      others.insert(left.begin(), left.end());
      if (left.empty()) continue;
      json::value rest = entry;
      rest.get_object()["fieldsV1"] = to_fields(left);
      kept.push_back(std::move(rest));
    }
  }
  if (!conflicts.empty() && !applier.force) return tl::unexpected(conflict_of(conflicts));

  json::value out = known;
  json::value wanted = applied;
  merge_value(out, wanted, root);
  if (!resource.type && member(applied, "metadata")) {
    json::value meta = {
        {"metadata", member(known, "metadata") ? *member(known, "metadata") : json::value(json::object())}};
    merge_value(meta, {{"metadata", *member(applied, "metadata")}}, Part{builtin_type("Lease"), nullptr, nullptr});
    out.get_object()["metadata"] = meta.at("metadata");
  }
  // From the deepest on, so that an element goes after its members.
  for (auto one = previous.rbegin(); one != previous.rend(); ++one) {
    if (!own.contains(*one) && !others.contains(*one) && !leads_into(*one, own) && !leads_into(*one, others)) {
      remove_path(out, *one);
      remove_emptied(out, *one, {&own, &others});
    }
  }
  if (!own.empty()) {
    json::object entry{{"manager", applier.manager},        {"operation", "Apply"},
                       {"apiVersion", applier.api_version}, {"time", time},
                       {"fieldsType", "FieldsV1"},          {"fieldsV1", to_fields(own)}};
    if (!applier.subresource.empty()) entry["subresource"] = applier.subresource;
    kept.insert(kept.begin(), std::move(entry));
  }
  object_at(out.get_object(), "metadata")["managedFields"] = std::move(kept);
  return out;
}

}  // namespace careen::sim
