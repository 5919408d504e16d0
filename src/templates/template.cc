#include "templates/template.h"

#include <fmt/format.h>

#include "templates/interpreter.h"
#include "templates/parser.h"

namespace careen::templates {

struct Template::Parsed {
  Program program;
  Findings findings;
};

tl::expected<Template, TemplateError> Template::parse(std::string_view text) {
  try {
    auto parsed = std::make_shared<Parsed>();
    parsed->program = parse_program(text);
    parsed->findings = analyse(parsed->program);
    return Template(std::move(parsed));
  } catch (TemplateFailure& failure) {
    return tl::make_unexpected(std::move(failure.error));
  }
}

const std::vector<TemplateError>& Template::problems() const { return parsed_->findings.problems; }
const NodeFields& Template::fields() const { return parsed_->findings.fields; }

io::Result<std::string> Template::render(const TemplateData& data) const {
  try {
    return execute(parsed_->program, data);
  } catch (const TemplateFailure& failure) {
    const TemplateError& error = failure.error;
    return io::fail(io::ErrorKind::invalid, fmt::format("{}:{}: {}", error.line, error.column, error.message));
  }
}

}  // namespace careen::templates
