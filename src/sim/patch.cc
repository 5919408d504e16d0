#include "sim/patch.h"

#include <charconv>
#include <vector>

namespace careen::sim {

namespace {

// Members that are null mean that there are none, also deep in lists.
void drop_nulls(json::value& value) {
  if (value.is_array()) {
    for (json::value& one : value.get_array()) drop_nulls(one);
  }
  if (!value.is_object()) return;
  json::object& object = value.get_object();
  for (size_t i = 0; i < object.size();) {
    auto* const at = object.begin() + static_cast<ptrdiff_t>(i);
    if (at->value().is_null()) {
      object.stable_erase(at);
    } else {
      drop_nulls(at->value());
      ++i;
    }
  }
}

}  // namespace

void merge_patch(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    // What takes the place of an object is taken as it is.
    const bool prune = !target.is_object();
    target = patch;
    if (prune) drop_nulls(target);
    return;
  }
  if (!target.is_object()) target.emplace_object();
  json::object& object = target.get_object();
  for (const auto& one : patch.get_object()) {
    if (one.value().is_null()) {
      if (auto* const known = object.find(one.key()); known != object.end()) object.stable_erase(known);
    } else {
      merge_patch(object[one.key()], one.value());
    }
  }
}

namespace {

std::optional<std::vector<std::string>> pointer_parts(std::string_view pointer) {
  std::vector<std::string> out;
  if (pointer.empty()) return out;
  if (pointer[0] != '/') return std::nullopt;
  for (size_t i = 1;; ++i) {
    std::string part;
    for (; i < pointer.size() && pointer[i] != '/'; ++i) {
      if (pointer[i] == '~' && i + 1 < pointer.size() && (pointer[i + 1] == '0' || pointer[i + 1] == '1')) {
        part += pointer[++i] == '0' ? '~' : '/';
      } else {
        part += pointer[i];
      }
    }
    out.push_back(std::move(part));
    if (i >= pointer.size()) return out;
  }
}

// Negative indices count from the end.
std::optional<size_t> index_in(const std::string& text, size_t size) {
  int64_t index = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), index);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  if (index < 0) index += static_cast<int64_t>(size);
  if (index < 0 || index > static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

json::value* child(json::value& parent, const std::string& key) {
  if (parent.is_object()) return parent.get_object().if_contains(key);
  if (!parent.is_array()) return nullptr;
  const auto index = index_in(key, parent.get_array().size());
  return index && *index < parent.get_array().size() ? &parent.get_array()[*index] : nullptr;
}

// Where the operation acts: what holds the last part of the path.
struct Spot {
  json::value* parent = nullptr;
  std::string key;
};

std::optional<Spot> spot(json::value& target, const json::value* pointer) {
  if (!pointer || !pointer->is_string()) return std::nullopt;
  const auto parts = pointer_parts(pointer->get_string());
  if (!parts || parts->empty()) return std::nullopt;
  Spot at{&target, parts->back()};
  for (size_t i = 0; i + 1 < parts->size(); ++i) {
    at.parent = child(*at.parent, (*parts)[i]);
    if (!at.parent) return std::nullopt;
  }
  if (!at.parent->is_object() && !at.parent->is_array()) return std::nullopt;
  return at;
}

bool put(const Spot& at, json::value value, bool replace) {
  if (at.parent->is_object()) {
    at.parent->get_object()[at.key] = std::move(value);
    return true;
  }
  json::array& array = at.parent->get_array();
  if (!replace && at.key == "-") {
    array.push_back(std::move(value));
    return true;
  }
  const auto index = index_in(at.key, array.size());
  if (!index || (replace && *index >= array.size())) return false;
  if (replace) {
    array[*index] = std::move(value);
  } else {
    array.insert(array.begin() + static_cast<ptrdiff_t>(*index), std::move(value));
  }
  return true;
}

bool take(const Spot& at) {
  if (at.parent->is_object()) {
    auto* const known = at.parent->get_object().find(at.key);
    if (known == at.parent->get_object().end()) return false;
    at.parent->get_object().stable_erase(known);
    return true;
  }
  json::array& array = at.parent->get_array();
  const auto index = index_in(at.key, array.size());
  if (!index || *index >= array.size()) return false;
  array.erase(array.begin() + static_cast<ptrdiff_t>(*index));
  return true;
}

bool apply_operation(json::value& target, const json::value& operation) {
  const std::string_view op = text_at(operation, "op");
  const auto at = spot(target, member(operation, "path"));
  if (!at) return false;
  const json::value* value = member(operation, "value");
  if (op == "add" || op == "replace") return put(*at, value ? *value : json::value(), op == "replace");
  if (op == "remove") return take(*at);
  if (op == "test") {
    const json::value* known = child(*at->parent, at->key);
    if (!known || !value) return (!known || known->is_null()) && (!value || value->is_null());
    return *known == *value;
  }
  if (op != "move" && op != "copy") return false;
  const auto from = spot(target, member(operation, "from"));
  const json::value* known = from ? child(*from->parent, from->key) : nullptr;
  if (!known) return false;
  json::value moved = *known;
  if (op == "move" && !take(*from)) return false;
  const auto to = spot(target, member(operation, "path"));
  return to && put(*to, std::move(moved), false);
}

}  // namespace

bool json_patch(json::value& target, const json::array& operations) {
  for (const json::value& operation : operations) {
    if (!apply_operation(target, operation)) return false;
  }
  return true;
}

}  // namespace careen::sim
