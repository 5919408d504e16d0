// Renders templates with careen: reads {"template", "data"} as JSON, one case a line, and answers each with a line
// {"outcome": "parse" | "exec" | "ok", "text": the output or the error}.
#include <algorithm>
#include <iostream>
#include <string>

#include "kube/json.h"
#include "templates/template.h"

namespace {

using careen::kube::Json;
using careen::kube::JsonView;
using careen::templates::Template;
using careen::templates::TemplateData;

Json answer(std::string_view outcome, std::string_view text) {
  return Json::object({{"outcome", outcome}, {"text", text}});
}

TemplateData data_of(JsonView json) {
  TemplateData data;
  data.state = json["state"].text().value_or("");
  data.profile = json["profile"].text().value_or("");
  data.last = json["last"].text().value_or("");
  data.last_transition =
      careen::io::parse_rfc3339(json["lastTransition"].text().value_or("")).value_or(careen::io::Wall::min());
  data.in_maintenance = json["inMaintenance"].boolean().value_or(false);
  data.log_details = json["logDetails"].boolean().value_or(false);
  data.node = json["node"];
  return data;
}

Json run(JsonView test_case) {
  const auto parsed = Template::parse(test_case["template"].text().value_or(""));
  if (!parsed) {
    const auto& error = parsed.error();
    return answer("parse", std::to_string(error.line) + ":" + std::to_string(error.column) + ": " + error.message);
  }
  const auto rendered = parsed->render(data_of(test_case["data"]));
  Json result = rendered ? answer("ok", *rendered) : answer("exec", rendered.error().message);
  // Whether the problems found beforehand are right is checked too.
  const auto& problems = parsed->problems();
  result.set({"certain"},
             std::any_of(problems.begin(), problems.end(), [](const auto& problem) { return !problem.conditional; }));
  return result;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto test_case = Json::parse(line);
    if (!test_case) {
      std::cerr << test_case.error().message << "\n";
      return 1;
    }
    std::cout << run(test_case->view()).dump() << "\n";
  }
  return 0;
}
