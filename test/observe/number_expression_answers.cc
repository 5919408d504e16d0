// Answers number expressions: one JSON document a line, {"text": …, "values": [texts of numbers]}, gives one line:
// {"refused": why, "offset": byte} or {"answers": ["true" | "false" | "error: …" for each value]}.
#include <cstdio>
#include <iostream>
#include <string>

#include "kube/json.h"
#include "observe/go_number.h"
#include "observe/number_expression.h"

namespace {

using careen::kube::Json;
using careen::kube::JsonView;
using careen::observe::NumberExpression;

std::string evaluated(const NumberExpression& expression, double value) {
  const auto result = expression.evaluate(value);
  if (!result) return "error: " + result.error();
  return *result ? "true" : "false";
}

Json answered(const Json& question) {
  const auto expression = NumberExpression::compile(question["text"].text().value());
  if (!expression) {
    return Json::object(
        {{"refused", expression.error().message}, {"offset", static_cast<int64_t>(expression.error().offset)}});
  }
  Json answers = Json::array();
  question["values"].for_each_element([&](JsonView value) {
    answers.push_back(evaluated(*expression, careen::observe::parse_go_float(value.text().value()).value()));
  });
  return Json::object({{"answers", answers}});
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto question = Json::parse(line);
    if (!question) {
      std::fprintf(stderr, "%s\n", question.error().message.c_str());
      return 1;
    }
    std::cout << answered(*question).dump() << '\n';
  }
  return 0;
}
