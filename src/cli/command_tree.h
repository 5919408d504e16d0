// The commands as plain data, read from the command line's own tree: what help, completion, man page and the reference
// are made of, so that none of them can differ from what is parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace careen::app {

// A flag, or an argument without a name of its own.
struct ParameterDoc {
  std::vector<std::string> names;    // --output, -o; an argument: NODE
  std::string value;                 // what it takes: FILE, DURATION, json|yaml; empty: nothing
  std::vector<std::string> choices;  // when only these are taken
  std::string text;
  std::string otherwise;  // the value when it is not given, if that is known
  std::string variable;   // of the environment
  std::string group;
  bool required = false;
  bool repeated = false;

  bool takes_value() const { return !value.empty(); }
  bool has_name(std::string_view name) const;
};

struct CommandDoc {
  std::string name;
  std::string summary;
  std::string details;  // with examples, as the help ends with them
  std::string group;    // empty: hidden
  std::vector<ParameterDoc> flags;
  std::vector<ParameterDoc> arguments;
  std::vector<CommandDoc> commands;

  bool hidden() const { return group.empty(); }
  const CommandDoc* command(std::string_view name) const;
  const ParameterDoc* flag(std::string_view name) const;
  // The groups of the flags or of the visible commands, in the order of their first appearance.
  std::vector<std::string> flag_groups() const;
  std::vector<std::string> command_groups() const;
};

CommandDoc describe(const CLI::App& app);

// careen explain [flags] NODE…
std::string usage_line(const CommandDoc& command, const std::string& path);
// -o, --output json|yaml
std::string flag_head(const ParameterDoc& flag);
// The text with what else is known: the default, the variable of the environment.
std::string full_text(const ParameterDoc& parameter);

// What --help prints; no line of the lists is wider than `width`.
std::string help_text(const CommandDoc& command, const std::string& path, size_t width);

}  // namespace careen::app
