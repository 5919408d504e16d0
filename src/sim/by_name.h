// Things by name, in no order: for what is looked up all the time among very many, where each step down a tree of names
// would be a wait for memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace careen::sim {

struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};

template <class T>
using ByName = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

}  // namespace careen::sim
