#include "cli/yaml_text.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "io/printable.h"

namespace careen::app {

namespace {

// What one reader or another takes for a truth value or for nothing.
constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"};

bool means_something_else(std::string_view text) {
  if (text.empty()) return true;
  // Numbers, times, "~" and the like begin so.
  if (std::string_view("0123456789+-.~=<").find(text.front()) != std::string_view::npos) return true;
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

void write_text(YAML::Emitter& out, std::string_view text) {
  // What a terminal must not get can be escaped only in quotes.
  if (means_something_else(text) || io::printable(text) != text) out << YAML::DoubleQuoted;
  out << std::string(text);
}

void write(YAML::Emitter& out, kube::JsonView value) {
  if (value.is_object()) {
    if (value.size() == 0) out << YAML::Flow;
    out << YAML::BeginMap;
    value.for_each_member([&](std::string_view key, kube::JsonView member) {
      out << YAML::Key;
      write_text(out, key);
      out << YAML::Value;
      write(out, member);
    });
    out << YAML::EndMap;
  } else if (value.is_array()) {
    if (value.size() == 0) out << YAML::Flow;
    out << YAML::BeginSeq;
    value.for_each_element([&](kube::JsonView element) { write(out, element); });
    out << YAML::EndSeq;
  } else if (const auto text = value.text()) {
    write_text(out, *text);
  } else if (!value.exists() || value.is_null()) {
    out << YAML::Null;
  } else if (const auto number = value.number(); number && !value.integer()) {
    out << fmt::format("{}", *number);
  } else {
    // Whole numbers and truth values are the same in both.
    out << value.dump();
  }
}

}  // namespace

std::string yaml_text(kube::JsonView document) {
  YAML::Emitter out;
  write(out, document);
  return std::string(out.c_str()) + "\n";
}

}  // namespace careen::app
