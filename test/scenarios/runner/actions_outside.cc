#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "actions.h"

namespace careen::scenarios {

namespace {

using Mood = sim::Outside::Mood;

// fine, refuses, hangs or loses-answers.
Perform read_mood(const Value& value, Reading& reading, Mood sim::Outside::* whose) {
  const std::vector<std::string> names = {"fine", "refuses", "hangs", "loses-answers"};
  constexpr Mood kMoods[] = {Mood::fine, Mood::refuses, Mood::hangs, Mood::loses_answer};
  const auto text = read_text(value, "a mood", reading.faults);
  const auto it = text ? std::find(names.begin(), names.end(), *text) : names.end();
  if (text && it == names.end()) reading.faults.unknown(value.where, "mood", *text, names);
  const Mood mood = it == names.end() ? Mood::fine : kMoods[it - names.begin()];
  return [mood, whose](Stage& stage) -> std::string {
    stage.cluster.outside.*whose = mood;
    return {};
  };
}

}  // namespace

Perform read_slack(const Value& value, Reading& reading) { return read_mood(value, reading, &sim::Outside::slack); }
Perform read_mail(const Value& value, Reading& reading) { return read_mood(value, reading, &sim::Outside::mail); }
Perform read_prometheus(const Value& value, Reading& reading) {
  return read_mood(value, reading, &sim::Outside::prometheus);
}

std::vector<std::pair<std::string, std::optional<double>>> read_measures(const Value& value, Reading& reading) {
  std::vector<std::pair<std::string, std::optional<double>>> out;
  for (const auto& [query, text] : read_key_values(value, "measures", reading.faults)) {
    double number = 0;
    if (text) {
      const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
      if (error != std::errc{} || end != text->data() + text->size()) {
        reading.faults.add(value.where, fmt::format("the query {} yields a number or null, not \"{}\"", query, *text));
      }
    }
    out.emplace_back(query, text ? std::optional(number) : std::nullopt);
  }
  return out;
}

// {query: number}, or null for a query that yields nothing.
Perform read_measure(const Value& value, Reading& reading) {
  return [measures = read_measures(value, reading)](Stage& stage) -> std::string {
    for (const auto& [query, number] : measures) {
      if (number) {
        stage.cluster.outside.values[query] = *number;
      } else {
        stage.cluster.outside.values.erase(query);
      }
    }
    return {};
  };
}

}  // namespace careen::scenarios
