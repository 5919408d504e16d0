#include "controllers/slot/definition.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "definitions.h"

namespace careen::controllers {

namespace {

using kube::Json;

// What was quoted is text; others are what they look like.
Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return Json(text);
  if (text == "true" || text == "false") return Json(text == "true");
  int64_t number = 0;
  if (YAML::convert<int64_t>::decode(node, number)) return Json(number);
  return Json(text);
}

Json json_of(const YAML::Node& node) {
  if (node.IsScalar()) return scalar(node);
  if (node.IsSequence()) {
    Json out = Json::array();
    for (const YAML::Node& one : node) out.push_back(json_of(one));
    return out;
  }
  Json out = Json::object();
  for (const auto& member : node) out.set({member.first.Scalar()}, json_of(member.second));
  return out;
}

}  // namespace

Json definition_from(const std::string& yaml) { return json_of(YAML::Load(yaml)); }

Json shipped_definition(std::string_view name) {
  const auto found =
      std::ranges::find(kDefinitions, name, [](const DefinitionText& one) { return std::string_view(one.name); });
  if (found == std::end(kDefinitions)) throw std::logic_error("there is no deploy/crds/" + std::string(name) + ".yaml");
  return definition_from(found->yaml);
}

}  // namespace careen::controllers
