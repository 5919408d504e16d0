// What is wrong with a template and where. Lexer, parser and execution throw TemplateFailure; it ends in Template,
// which hands the error out as a value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace careen::templates {

// Counted from one; columns in bytes.
struct Place {
  int line = 1;
  int column = 1;
};

struct TemplateError {
  int line = 1;
  int column = 1;
  std::string message;
  // Where a name is not known: that name, and those that are known in its place, for a suggestion.
  std::string name;
  std::vector<std::string_view> candidates;
  // It is in a branch that a message need not take; otherwise every message fails.
  bool conditional = false;
};

struct TemplateFailure {
  TemplateError error;
};

[[noreturn]] inline void fail_at(Place place, std::string message) {
  throw TemplateFailure{{place.line, place.column, std::move(message), {}, {}, false}};
}

}  // namespace careen::templates
