#include "promise.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "play.h"
#include "scenario_file.h"

namespace careen::scenarios {

namespace {

std::string whole_text(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> promised_lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.starts_with("#");) {
    if (line.starts_with("#> ")) out.push_back(line.substr(3));
  }
  return out;
}

}  // namespace

std::string failure_of(const std::string& file) {
  const auto scenario = read_scenario(whole_text(file), file);
  return scenario ? play(*scenario, 1).failure : scenario.error();
}

std::string broken_promise(const std::string& file) {
  const auto promised = promised_lines(whole_text(file));
  if (promised.empty()) return file + " promises nothing";
  const std::string report = failure_of(file);
  if (report.empty()) return file + " passed";
  size_t at = 0;
  for (const std::string& line : promised) {
    const size_t found = report.find(line, at);
    if (found == std::string::npos) return fmt::format("{} lacks: {}\n{}", file, line, report);
    at = found + line.size();
  }
  return {};
}

}  // namespace careen::scenarios
