#include <algorithm>

#include "sim/patch.h"

namespace careen::sim {

namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrder = "$setElementOrder/";

using Error = std::optional<StrategicError>;

Error merge_object(json::object& target, const json::object& patch, const Type* type);

// A value that is new to the object: as it is, without directives and nulls.
json::value without_directives(const json::value& patch) {
  if (patch.is_array()) {
    json::array out;
    for (const json::value& one : patch.get_array()) {
      if (one.is_object() && one.get_object().contains(kPatch) && text_at(one, kPatch) != "merge") continue;
      out.push_back(without_directives(one));
    }
    return out;
  }
  if (!patch.is_object()) return patch;
  json::object out;
  for (const auto& one : patch.get_object()) {
    if (std::string_view(one.key()).starts_with("$") || one.value().is_null()) continue;
    out[one.key()] = without_directives(one.value());
  }
  return out;
}

json::value* element_with(json::array& list, const std::string& key, const json::value& value) {
  for (json::value& one : list) {
    const json::value* known = member(one, key);
    if (known && *known == value) return &one;
  }
  return nullptr;
}

Error merge_elements(json::array& target, const json::array& patch, const Field& field) {
  const bool replace =
      std::any_of(patch.begin(), patch.end(), [](const json::value& one) { return text_at(one, kPatch) == "replace"; });
  if (replace) {
    target = without_directives(patch).get_array();
    return std::nullopt;
  }
  for (const json::value& one : patch) {
    const json::value* key = member(one, field.merge_key);
    if (!key) {
      return StrategicError{false, "map: " + go_map(one) + " does not contain declared merge key: " + field.merge_key};
    }
    json::value* known = element_with(target, field.merge_key, *key);
    if (text_at(one, kPatch) == "delete") {
      if (known) target.erase(target.begin() + (known - target.data()));
    } else if (known && known->is_object()) {
      if (auto error = merge_object(known->get_object(), one.get_object(), field.type)) return error;
    } else {
      target.push_back(without_directives(one));
    }
  }
  return std::nullopt;
}

void merge_plain(json::array& target, const json::array& patch) {
  for (const json::value& one : patch) {
    if (std::find(target.begin(), target.end(), one) == target.end()) target.push_back(one);
  }
}

// Brings the elements into the order the patch asks for; those it does not name keep their place among the others as
// far as that goes.
void reorder(json::array& list, const json::array& before, const json::array& order, const std::string& key) {
  const auto identity = [&](const json::value& one) { return key.empty() ? &one : member(one, key); };
  const auto place = [&](const json::array& in, const json::value& one) {
    for (size_t i = 0; i < in.size(); ++i) {
      const json::value* a = identity(in[i]);
      const json::value* b = identity(one);
      if (a && b && *a == *b) return static_cast<ptrdiff_t>(i);
    }
    return ptrdiff_t{-1};
  };
  std::vector<json::value> named, others;
  for (const json::value& one : list) (place(order, one) >= 0 ? named : others).push_back(one);
  // Each place is there once.
  std::sort(named.begin(), named.end(),
            [&](const json::value& a, const json::value& b) { return place(order, a) < place(order, b); });
  list.clear();
  size_t n = 0, o = 0;
  while (n < named.size() || o < others.size()) {
    const ptrdiff_t named_at = n < named.size() ? place(before, named[n]) : -1;
    const ptrdiff_t other_at = o < others.size() ? place(before, others[o]) : -1;
    const bool other =
        n >= named.size() || (o < others.size() && named_at >= 0 && other_at >= 0 && other_at < named_at);
    list.push_back(other ? others[o++] : named[n++]);
  }
}

Error merge_list(json::value& known, const json::value& value, const Field* field, const json::value* order) {
  const bool merges = field && (field->set || !field->merge_key.empty());
  if (!merges || !known.is_array() || !value.is_array()) {
    known = without_directives(value);
    return std::nullopt;
  }
  const json::array before = known.get_array();
  if (field->set) {
    merge_plain(known.get_array(), value.get_array());
  } else if (auto error = merge_elements(known.get_array(), value.get_array(), *field)) {
    return error;
  }
  // Without an order of its own the patch is one.
  const json::value& wanted = order && order->is_array() ? *order : value;
  reorder(known.get_array(), before, wanted.get_array(), field->merge_key);
  return std::nullopt;
}

void retain(json::object& target, const json::array& keys) {
  for (size_t i = 0; i < target.size();) {
    auto* const at = target.begin() + static_cast<ptrdiff_t>(i);
    const bool kept = std::any_of(keys.begin(), keys.end(), [&](const json::value& key) {
      return key.is_string() && std::string_view(key.get_string()) == std::string_view(at->key());
    });
    if (kept) {
      ++i;
    } else {
      target.stable_erase(at);
    }
  }
}

// Directives that stand beside the lists they speak of.
void list_directive(json::object& target, const json::object& patch, std::string_view key, const json::value& value,
                    const Type* type) {
  if (key.starts_with(kDeleteFrom)) {
    json::value* list = target.if_contains(key.substr(kDeleteFrom.size()));
    if (!list || !list->is_array() || !value.is_array()) return;
    for (const json::value& gone : value.get_array()) {
      auto* const at = std::find(list->get_array().begin(), list->get_array().end(), gone);
      if (at != list->get_array().end()) list->get_array().erase(at);
    }
    return;
  }
  // An order without its list only sorts what is there.
  const std::string_view name = key.substr(kOrder.size());
  json::value* list = target.if_contains(name);
  if (patch.contains(name) || !list || !list->is_array() || !value.is_array()) return;
  const Field* field = type ? type->field(name) : nullptr;
  const json::array before = list->get_array();
  reorder(list->get_array(), before, value.get_array(), field ? field->merge_key : std::string());
}

Error merge_object(json::object& target, const json::object& patch, const Type* type) {
  if (const json::value* directive = patch.if_contains(kPatch)) {
    const std::string_view what = directive->is_string() ? std::string_view(directive->get_string()) : "";
    if (what == "replace" || what == "delete") {
      target = what == "replace" ? without_directives(patch).get_object() : json::object();
      return std::nullopt;
    }
    if (what != "merge")
      return StrategicError{false, "unknown patch type: " + std::string(what) + " in map: " + go_map(patch)};
  }
  if (const json::value* keys = patch.if_contains(kRetainKeys); keys && keys->is_array())
    retain(target, keys->get_array());
  for (const auto& one : patch) {
    const std::string_view key = one.key();
    if (key.starts_with(kDeleteFrom) || key.starts_with(kOrder)) {
      list_directive(target, patch, key, one.value(), type);
      continue;
    }
    if (key.starts_with("$")) continue;
    if (one.value().is_null()) {
      if (auto* const known = target.find(key); known != target.end()) target.stable_erase(known);
      continue;
    }
    const Field* field = type ? type->field(key) : nullptr;
    json::value* known = target.if_contains(key);
    if (!known) {
      target[key] = without_directives(one.value());
    } else if (known->is_object() && one.value().is_object()) {
      const bool structure = field && field->container == Field::Container::none;
      if (auto error = merge_object(known->get_object(), one.value().get_object(), structure ? field->type : nullptr)) {
        return error;
      }
    } else if (one.value().is_array()) {
      const json::value* order = patch.if_contains(std::string(kOrder) + std::string(key));
      if (auto error = merge_list(*known, one.value(), field, order)) return error;
    } else {
      *known = one.value();
    }
  }
  return std::nullopt;
}

}  // namespace

std::string go_map(const json::value& value) {
  if (value.is_object()) {
    std::vector<std::string> members;
    for (const auto& one : value.get_object()) members.push_back(std::string(one.key()) + ":" + go_map(one.value()));
    std::sort(members.begin(), members.end());
    std::string out;
    for (const std::string& one : members) out += (out.empty() ? "" : " ") + one;
    return "map[" + out + "]";
  }
  if (value.is_array()) {
    std::string out;
    for (const json::value& one : value.get_array()) out += (out.empty() ? "" : " ") + go_map(one);
    return "[" + out + "]";
  }
  if (value.is_string()) return std::string(std::string_view(value.get_string()));
  return value.is_null() ? "<nil>" : json::serialize(value);
}

std::optional<StrategicError> strategic_patch(json::value& target, const json::value& patch, const Type& type) {
  return merge_object(target.get_object(), patch.get_object(), &type);
}

}  // namespace careen::sim
