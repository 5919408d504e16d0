#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/command_tree.h"
#include "cli/terminal_table.h"
#include "cli/text_wrap.h"

namespace careen::app {

namespace {

constexpr size_t kWidestHead = 30;

// A list of heads with their texts beside them; a head too wide for its column has a line of its own.
std::string columns(const std::vector<std::pair<std::string, std::string>>& rows, size_t width) {
  size_t widest = 0;
  for (const auto& [head, text] : rows) {
    if (text_width(head) <= kWidestHead) widest = std::max(widest, text_width(head));
  }
  const size_t column = widest + 4;
  std::string out;
  for (const auto& [head, text] : rows) {
    std::string start = "  " + head;
    if (text_width(head) > widest) {
      out += start + "\n";
      start.clear();
    }
    for (const std::string& line : wrap(text, width > column + 20 ? width - column : 20)) {
      out += pad(start, column) + line + "\n";
      start.clear();
    }
  }
  return out;
}

// Sentences are filled to the width; what is indented, examples, stays as it is.
std::string filled(const std::string& details, size_t width) {
  std::string out, paragraph;
  const auto end_paragraph = [&] {
    if (paragraph.empty()) return;
    for (const std::string& line : wrap(paragraph, width)) out += line + "\n";
    paragraph.clear();
  };
  std::istringstream lines(details);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && !line.starts_with("  ")) {
      paragraph += (paragraph.empty() ? "" : " ") + line;
      continue;
    }
    end_paragraph();
    out += line + "\n";
  }
  end_paragraph();
  return out;
}

std::string title(std::string_view group) { return group == "Options" ? "Flags:\n" : fmt::format("{}:\n", group); }

}  // namespace

std::string usage_line(const CommandDoc& command, const std::string& path) {
  std::string line = path;
  if (!command.commands.empty() && command.arguments.empty()) return line + " COMMAND [flags]";
  line += " [flags]";
  for (const ParameterDoc& argument : command.arguments) {
    const std::string name = argument.names.front() + (argument.repeated ? "..." : "");
    line += argument.required ? " " + name : " [" + name + "]";
  }
  // careen request NODE, careen request list
  if (!command.commands.empty()) line += " | COMMAND";
  return line;
}

std::string help_text(const CommandDoc& command, const std::string& path, size_t width) {
  std::string out = command.summary + "\n\nUsage: " + usage_line(command, path) + "\n";
  std::vector<std::pair<std::string, std::string>> rows;
  for (const ParameterDoc& argument : command.arguments) {
    const std::string choices = argument.choices.empty() ? "" : ": " + argument.value;
    rows.emplace_back(argument.names.front(), full_text(argument) + choices);
  }
  if (!rows.empty()) out += "\nArguments:\n" + columns(rows, width);
  for (const std::string& group : command.command_groups()) {
    rows.clear();
    for (const CommandDoc& sub : command.commands) {
      if (sub.group == group) rows.emplace_back(sub.name, sub.summary);
    }
    out += "\n" + title(group) + columns(rows, width);
  }
  for (const std::string& group : command.flag_groups()) {
    rows.clear();
    for (const ParameterDoc& flag : command.flags) {
      if (flag.group == group) rows.emplace_back(flag_head(flag), full_text(flag));
    }
    out += "\n" + title(group) + columns(rows, width);
  }
  if (!command.details.empty()) out += "\n" + filled(command.details, width);
  return out;
}

}  // namespace careen::app
