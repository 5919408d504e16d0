// The tree of a parsed template: statements (text, actions, conditions, loops), and in them pipelines of commands whose
// arguments are terms.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "templates/error.h"

namespace careen::templates {

// A constant may be several kinds of number at once, as 1 is an integer and a float: its use decides.
struct Number {
  std::optional<int64_t> integer;
  std::optional<uint64_t> unsigned_integer;
  std::optional<double> floating;
  // Whether it is a float where nothing else decides: 1.0 and 1e3 are, 1, 0x1e and 'e' are not.
  bool prefers_float = false;
};

struct Pipe;

struct Term {
  enum class Kind { dot, nil, boolean, number, text, field, variable, function, pipe, chain };

  Kind kind = Kind::dot;
  Place place;
  // As written; for messages.
  std::string source;
  // The variable (with its $), the function, or the value of a text.
  std::string text;
  bool boolean = false;
  Number number;
  // field: .A.B; variable and chain: what follows them.
  std::vector<std::string> names;
  // pipe: what is in parentheses.
  std::shared_ptr<const Pipe> pipe;
  // chain: what the names are looked up in.
  std::shared_ptr<const Term> base;
};

struct Command {
  std::vector<Term> terms;
};

struct Pipe {
  Place place;
  std::vector<std::string> variables;
  // $x = …, not $x := ….
  bool assigns = false;
  std::vector<Command> commands;
};

struct Statement {
  enum class Kind { text, action, conditional, with, range, call, leave, next };

  Kind kind = Kind::text;
  Place place;
  // The text, or the name of the template that is called.
  std::string text;
  // Absent in text, leave, next, and in a call without data.
  std::optional<Pipe> pipe;
  std::vector<Statement> body;
  std::vector<Statement> otherwise;
};

using Body = std::vector<Statement>;

// The templates of one text by their names. The text itself has the name kMain.
struct Program {
  std::map<std::string, Body, std::less<>> bodies;
};

inline constexpr std::string_view kMain = "message";

}  // namespace careen::templates
