#include "cli/command_tree.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace careen::app {

namespace {

// CLI11 shows the choices of IsMember as {a,b} in the name of the type.
std::vector<std::string> choices_of(const std::string& type) {
  const size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::vector<std::string> choices = CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
  std::sort(choices.begin(), choices.end());
  return choices;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : std::string(between)) + part;
  return out;
}

ParameterDoc describe_parameter(const CLI::Option& option) {
  ParameterDoc doc;
  for (const std::string& name : option.get_lnames()) doc.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) doc.names.push_back("-" + name);
  if (option.get_positional()) doc.names = {option.get_name(true)};
  const std::string type = option.get_type_name();
  doc.choices = choices_of(type);
  if (option.get_items_expected_max() > 0) {
    doc.value = doc.choices.empty() ? type.substr(0, type.find(':')) : joined(doc.choices, "|");
    if (doc.value.empty()) doc.value = "VALUE";
  }
  doc.text = option.get_description();
  doc.otherwise = option.get_default_str();
  doc.variable = option.get_envname();
  doc.group = option.get_group();
  doc.required = option.get_required();
  doc.repeated = option.get_expected_max() > 1;
  return doc;
}

void add_unless_there(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

}  // namespace

bool ParameterDoc::has_name(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const CommandDoc* CommandDoc::command(std::string_view wanted) const {
  const auto it = std::find_if(commands.begin(), commands.end(), [&](const auto& doc) { return doc.name == wanted; });
  return it == commands.end() ? nullptr : &*it;
}

const ParameterDoc* CommandDoc::flag(std::string_view wanted) const {
  const auto it = std::find_if(flags.begin(), flags.end(), [&](const auto& doc) { return doc.has_name(wanted); });
  return it == flags.end() ? nullptr : &*it;
}

std::vector<std::string> CommandDoc::flag_groups() const {
  std::vector<std::string> groups;
  // The command's own before what every command has.
  for (const ParameterDoc& parameter : flags) add_unless_there(groups, parameter.group);
  return groups;
}

std::vector<std::string> CommandDoc::command_groups() const {
  std::vector<std::string> groups;
  for (const CommandDoc& doc : commands) {
    if (!doc.hidden()) add_unless_there(groups, doc.group);
  }
  return groups;
}

CommandDoc describe(const CLI::App& app) {
  CommandDoc doc;
  doc.name = app.get_name();
  doc.summary = app.get_description();
  doc.details = app.get_footer();
  doc.group = app.get_group();
  std::vector<ParameterDoc> last;
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_group().empty()) continue;
    ParameterDoc parameter = describe_parameter(*option);
    if (option->get_positional()) {
      doc.arguments.push_back(std::move(parameter));
    } else if (option == app.get_help_ptr()) {
      last.push_back(std::move(parameter));
    } else {
      doc.flags.push_back(std::move(parameter));
    }
  }
  doc.flags.insert(doc.flags.end(), last.begin(), last.end());
  for (const CLI::App* command : app.get_subcommands({})) doc.commands.push_back(describe(*command));
  return doc;
}

std::string flag_head(const ParameterDoc& flag) {
  std::vector<std::string> names;
  for (const bool long_ones : {false, true}) {
    for (const std::string& name : flag.names) {
      if (name.starts_with("--") == long_ones) names.push_back(name);
    }
  }
  std::string head = joined(names, ", ");
  if (flag.takes_value()) head += " " + flag.value;
  return head;
}

std::string full_text(const ParameterDoc& parameter) {
  std::string text = parameter.text;
  if (!parameter.otherwise.empty() && parameter.otherwise != "\"\"") text += fmt::format(" [{}]", parameter.otherwise);
  if (!parameter.variable.empty()) text += fmt::format(" (also ${})", parameter.variable);
  return text;
}

}  // namespace careen::app
