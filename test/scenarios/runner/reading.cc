#include "reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace careen::scenarios {

std::vector<std::string> Reading::node_names(std::string_view words, Position where) {
  auto names = expand(words);
  for (const std::string& name : names) {
    const auto fits = [&](const std::string& node) { return matches(name, node); };
    if (std::none_of(nodes.begin(), nodes.end(), fits)) faults.unknown(where, "node", name, nodes);
  }
  return names;
}

std::vector<std::string> Reading::node_names(const Value& value) {
  std::vector<std::string> out;
  for (const Value* item : items(value)) {
    const auto text = read_text(*item, "a node", faults);
    if (!text) continue;
    for (std::string& name : node_names(*text, item->where)) out.push_back(std::move(name));
  }
  return out;
}

std::optional<std::string> Reading::replica_name(const Value& value) {
  const auto name = read_text(value, "a replica", faults);
  if (!name) return std::nullopt;
  auto known = replicas;
  known.emplace_back("leader");
  if (std::find(known.begin(), known.end(), *name) == known.end()) faults.unknown(value.where, "replica", *name, known);
  return name;
}

std::vector<std::string> Reading::replica_names(const Value& value) {
  std::vector<std::string> out;
  for (const Value* item : items(value)) {
    if (item->kind == Value::Kind::string && item->text == "all") return {"all"};
    if (const auto name = replica_name(*item)) out.push_back(*name);
  }
  return out;
}

std::optional<std::string> Reading::file(const Value& name) {
  const auto path = read_text(name, "a file", faults);
  if (!path) return std::nullopt;
  std::ifstream in(directory + *path, std::ios::binary);
  if (!in) {
    faults.add(name.where, fmt::format("file {} cannot be read", directory + *path));
    return std::nullopt;
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

KeyValues read_key_values(const Value& value, std::string_view what, Faults& faults) {
  KeyValues out;
  for (const Member& member : members(value, what, faults)) {
    if (member.value.kind == Value::Kind::null) {
      out.emplace_back(member.key, std::nullopt);
    } else if (const auto text = read_text(member.value, member.key, faults)) {
      out.emplace_back(member.key, *text);
    }
  }
  return out;
}

}  // namespace careen::scenarios
