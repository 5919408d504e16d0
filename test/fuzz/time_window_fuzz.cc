// Time windows made from any text, asked at any time. Lines: "t" and a time, "z" and a zone, "w" with start, end and
// days, "s" the same in the old form, "x" and an excluded date. The answer holds until the announced time of its
// change, and then does change.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "windows/time_window.h"

namespace {

namespace io = careen::io;
using namespace careen::windows;

// Enough to let them overlap, few enough to stay quick.
constexpr std::size_t kMost = 6;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "time window fuzz: %s\n", what);
  std::abort();
}

std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

struct Question {
  TimeWindowSettings settings;
  io::Wall now;
};

void read_hours(std::string_view line, HoursForm form, Question& question) {
  const std::string_view start = cut(line, ' '), end = cut(line, ' ');
  std::vector<std::string> names;
  while (!line.empty()) names.emplace_back(cut(line, ' '));
  const auto days = parse_weekdays(names);
  if (!days) return expect(!days.error().message.empty(), "days refused without an error");
  const auto hours = parse_hours(start, end, *days, form);
  if (!hours) return expect(!hours.error().message.empty(), "hours refused without an error");
  if (question.settings.windows.size() < kMost) question.settings.windows.push_back(*hours);
}

void read_line(std::string_view line, Question& question) {
  const std::string_view kind = cut(line, ' ');
  if (kind == "t") question.now = io::parse_rfc3339(line).value_or(question.now);
  if (kind == "w") read_hours(line, HoursForm::listed, question);
  if (kind == "s") read_hours(line, HoursForm::single, question);
  if (kind == "z") {
    const auto zone = Zone::find(line);
    expect(zone || !zone.error().message.empty(), "a zone refused without an error");
    if (zone) question.settings.zone = *zone;
  }
  if (kind == "x") {
    const auto exclusion = parse_exclusion(line);
    expect(exclusion || !exclusion.error().message.empty(), "a date refused without an error");
    if (exclusion && question.settings.exclude.size() < kMost) question.settings.exclude.push_back(*exclusion);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Question question;
  while (!text.empty()) read_line(cut(text, '\n'), question);

  const TimeWindow window{question.settings};
  const WindowAnswer answer = window.evaluate(question.now);
  const WindowExplanation why = window.explain(question.now);
  expect((why.reason == WindowReason::open) == answer.open, "the reason is not that of the answer");
  expect(!why.sentence.empty(), "an answer without a sentence");
  if (!answer.changes_at) return 0;
  expect(*answer.changes_at > question.now, "the answer changes in the past");
  // Without what the first question left behind.
  const TimeWindow fresh{question.settings};
  expect(fresh.evaluate(*answer.changes_at).open != answer.open, "the answer does not change when it should");
  const io::Wall before = *answer.changes_at - io::Duration{1};
  expect(fresh.evaluate(before).open == answer.open, "the answer changes too early");
  expect(fresh.evaluate(before).changes_at == answer.changes_at, "the time of the change depends on who asks");
  return 0;
}
