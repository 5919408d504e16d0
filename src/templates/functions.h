// The functions a template can call: comparison, access, printing, escaping. "and" and "or" are known here but executed
// by the interpreter, since they do not evaluate all their arguments.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "templates/value.h"

namespace careen::templates {

// What a function call can fail with; the interpreter adds the place.
struct FunctionFailure {
  std::string message;
};

// What a call gives, as far as its name tells.
enum class ResultKind { boolean, integer, text, element, same, argument, unknown };

struct Function {
  std::string_view name;
  // Arguments it needs; more are accepted if it is variadic.
  size_t least = 0;
  bool variadic = false;
  // The first argument has to be a text.
  bool text_first = false;
  ResultKind result = ResultKind::unknown;
  // The arguments are as many as it wants. Throws FunctionFailure.
  Value (*call)(std::span<const Value> arguments) = nullptr;
};

const Function* find_function(std::string_view name);
std::vector<std::string_view> function_names();

}  // namespace careen::templates
