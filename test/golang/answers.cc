// Answers questions with careen's code, one JSON line each, in the form of main.go beside it.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "windows/exclusion.h"
#include "windows/semver.h"
#include "windows/weekdays.h"

namespace {

namespace json = boost::json;
namespace io = careen::io;
namespace windows = careen::windows;
using Texts = std::vector<std::string>;

json::value version(const Texts& texts) {
  const auto parsed = windows::parse_semver(texts.at(0));
  if (!parsed) return nullptr;
  return json::array{std::to_string(parsed->major_number), std::to_string(parsed->minor_number),
                     std::to_string(parsed->patch_number), parsed->pre_release, parsed->build};
}

json::value version_order(const Texts& texts) {
  const auto order =
      windows::precedence(windows::parse_semver(texts.at(0)).value(), windows::parse_semver(texts.at(1)).value());
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

json::value duration(const Texts& texts) {
  const auto parsed = io::parse_duration(texts.at(0));
  if (!parsed) return nullptr;
  return json::string{std::to_string(parsed->count())};
}

json::value time_of_day(const Texts& texts) {
  const auto parsed = windows::parse_time_of_day(texts.at(0));
  if (!parsed) return nullptr;
  return std::chrono::floor<io::minutes>(*parsed).count();
}

json::value day_of_year(const Texts& texts) {
  const auto parsed = windows::parse_exclusion(texts.at(0));
  if (!parsed) return nullptr;
  const std::chrono::month_day day = std::get<windows::YearlyDays>(*parsed).first;
  return json::array{static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day())};
}

const std::map<std::string, json::value (*)(const Texts&), std::less<>> kSubjects{
    {"semver", version},          {"semver order", version_order}, {"duration", duration},
    {"time of day", time_of_day}, {"day of a year", day_of_year},
};

json::value answer(const std::string& line) {
  const json::value question = json::parse(line);
  return kSubjects.at(question.at("subject").as_string().c_str())(json::value_to<Texts>(question.at("texts")));
}

}  // namespace

int main() try {
  std::string line;
  while (std::getline(std::cin, line)) std::cout << answer(line) << '\n';
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
