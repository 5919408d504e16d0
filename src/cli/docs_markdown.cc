#include <fmt/format.h>

#include <sstream>

#include "cli/docs_text.h"
#include "controllers/profiles/file_doc.h"
#include "controllers/profiles/plugin.h"
#include "controllers/profiles/schedule.h"

namespace careen::app {

namespace {

using config::KeyDoc;
using config::PluginDoc;

// Inside a table or a paragraph.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code_cell(std::string_view text) {
  std::string out = "`";
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out + "`";
}

// What is indented, examples, becomes a block of code.
std::string details(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (indented != code) out += indented ? "\n```sh\n" : "```\n";
    code = indented;
    out += (indented ? line.substr(2) : cell(line)) + "\n";
  }
  return out + (code ? "```\n" : "");
}

std::string command_section(const CommandDoc& command, const std::string& path) {
  std::string out =
      fmt::format("\n## {0}\n\n{1}.\n\n```\n{2}\n```\n", path, cell(command.summary), usage_line(command, path));
  if (!command.arguments.empty()) {
    out += "\n| Argument | |\n|---|---|\n";
    for (const ParameterDoc& argument : command.arguments) {
      const std::string choices = argument.choices.empty() ? "" : ": " + argument.value;
      out += fmt::format("| {} | {} |\n", code_cell(argument.names.front()), cell(full_text(argument) + choices));
    }
  }
  for (const std::string& group : command.flag_groups()) {
    out += fmt::format("\n| {} | |\n|---|---|\n", group == "Options" ? "Flag" : cell(group));
    for (const ParameterDoc& flag : command.flags) {
      if (flag.group == group) out += fmt::format("| {} | {} |\n", code_cell(flag_head(flag)), cell(full_text(flag)));
    }
  }
  if (!command.details.empty()) out += "\n" + details(command.details);
  for (const CommandDoc& below : command.commands) {
    if (!below.hidden()) out += command_section(below, path + " " + below.name);
  }
  return out;
}

void add_keys(const std::vector<KeyDoc>& keys, const std::string& path, std::string& out) {
  for (const KeyDoc& key : keys) {
    const bool list = key.type == config::KeyType::objects;
    const std::string name = path + std::string(key.name);
    std::string absent = key.required ? "required" : "";
    if (!key.otherwise.empty()) absent = fmt::format("default `{}`", key.otherwise);
    std::string text = cell(key.text);
    if (key.secret) text += " (secret: never printed)";
    if (key.extension) text += " (careen's own: maintenance-controller ignores it)";
    out += fmt::format("| {} | {} | {} | {} |\n", code_cell(name), cell(describe_type(key)), absent, text);
    add_keys(key.keys, name + (list ? "[]." : "."), out);
  }
}

std::string key_table(const std::vector<KeyDoc>& keys) {
  if (keys.empty()) return "\nIt has no keys.\n";
  std::string out = "\n| Key | Type | If absent | |\n|---|---|---|---|\n";
  add_keys(keys, "", out);
  return out;
}

std::string plugin_section(const PluginDoc& doc) {
  std::string example(doc.example);
  if (!example.ends_with('\n')) example += '\n';
  return fmt::format("\n### {}\n\n{}\n{}\n```yaml\n{}```\n", doc.type, cell(doc.summary), key_table(doc.keys), example);
}

template <class Table>
std::string plugin_sections(const Table& table) {
  std::string out;
  for (const auto& [type, plugin] : table) out += plugin_section(plugin.doc);
  return out;
}

}  // namespace

std::string commands_markdown(const CommandDoc& tree) {
  std::string out =
      "# Command reference\n\n"
      "Made by `careen docs markdown` from the commands themselves; [commands.md](../commands.md) shows how they are "
      "used.\nInstalled as `kubectl-careen`, each is also `kubectl careen COMMAND`.\n";
  for (const std::string& group : tree.command_groups()) {
    out += fmt::format("\n**{}**\n\n| | |\n|---|---|\n", group);
    for (const CommandDoc& command : tree.commands) {
      if (command.group != group) continue;
      out += fmt::format("| [{0}](#{1}-{0}) | {2} |\n", command.name, tree.name, cell(command.summary));
    }
  }
  for (const CommandDoc& command : tree.commands) {
    if (!command.hidden()) out += command_section(command, tree.name + " " + command.name);
  }
  return out;
}

std::string configuration_markdown(const profiles::PluginRegistry& registry) {
  std::string out =
      "# Configuration reference\n\n"
      "Made by `careen docs config` from what careen checks configurations against; [profiles.md](../profiles.md) "
      "explains how profiles work.\n`careen validate FILE` checks a file, `careen plugins TYPE` prints one of the "
      "sections below, `careen schema` makes editors complete them.\n\n"
      "## The file\n";
  out += key_table(profiles::file_keys());
  out += "\n## Checks\n\nBelow `instances.check`.\n" + plugin_sections(registry.checks);
  out += "\n## Notifications\n\nBelow `instances.notify`.\n" + plugin_sections(registry.notifies);
  out += "\n## Schedules\n\nBelow `schedule` of a notification.\n";
  for (const PluginDoc& doc : profiles::schedule_docs()) out += plugin_section(doc);
  out += "\n## Triggers\n\nBelow `instances.trigger`.\n" + plugin_sections(registry.triggers);
  return out;
}

}  // namespace careen::app
