#include "io/log.h"

#include <gtest/gtest.h>

namespace careen::io {
namespace {

const Wall kTime = *parse_rfc3339("2026-03-01T10:00:00.123456789Z");

std::string line(LogEncoder encoder, LogTime time, std::string_view message, const LogFields& fields = {}) {
  return format_log_line({LogLevel::info, encoder, time}, kTime, LogLevel::info, "controllers.maintenance", message,
                         fields);
}

TEST(LogTest, ConsoleLine) {
  EXPECT_EQ(line(LogEncoder::console, LogTime::iso8601, "node moved", {{"node", "n1"}, {"state", "in-maintenance"}}),
            "2026-03-01T10:00:00.123Z\tINFO\tcontrollers.maintenance\tnode moved\t"
            R"({"node": "n1", "state": "in-maintenance"})");
  EXPECT_EQ(line(LogEncoder::console, LogTime::iso8601, "plain"),
            "2026-03-01T10:00:00.123Z\tINFO\tcontrollers.maintenance\tplain");
}

TEST(LogTest, JsonLine) {
  EXPECT_EQ(line(LogEncoder::json, LogTime::iso8601, "node moved", {{"node", "n1"}}),
            R"({"level":"info","ts":"2026-03-01T10:00:00.123Z","logger":"controllers.maintenance",)"
            R"("msg":"node moved","node":"n1"})");
}

TEST(LogTest, TimeForms) {
  const auto stamp = [](LogTime form) {
    const std::string text = line(LogEncoder::json, form, "m");
    const size_t from = text.find("\"ts\":") + 5;
    return text.substr(from, text.find(",\"logger\"") - from);
  };
  EXPECT_EQ(stamp(LogTime::epoch).substr(0, 17), "1772359200.123456");
  EXPECT_EQ(stamp(LogTime::millis).substr(0, 16), "1772359200123.45");
  EXPECT_EQ(stamp(LogTime::nanos), "1772359200123456789");
  EXPECT_EQ(stamp(LogTime::rfc3339), R"("2026-03-01T10:00:00Z")");
  EXPECT_EQ(stamp(LogTime::rfc3339nano), R"("2026-03-01T10:00:00.123456789Z")");
}

// Neither may they change in which order it is read.
TEST(LogTest, EscapesWhatTurnsTheTextAround) {
  EXPECT_EQ(line(LogEncoder::console, LogTime::rfc3339, "a\u202Eb\u2066c\u2028d"),
            "2026-03-01T10:00:00Z\tINFO\tcontrollers.maintenance\ta\\u202eb\\u2066c\\u2028d");
}

// Values come from cluster users: none may forge a line, a JSON key or a terminal sequence.
TEST(LogTest, EscapesWhatCouldForge) {
  const std::string evil = "a\"b\\c\nd\te\x1b[31m\x7f \xc2\x9b \xff\xed\xa0\x80 \xc3\xa9";
  EXPECT_EQ(line(LogEncoder::json, LogTime::rfc3339, "m", {{"v", evil}}),
            R"({"level":"info","ts":"2026-03-01T10:00:00Z","logger":"controllers.maintenance","msg":"m",)"
            "\"v\":\"a\\\"b\\\\c\\nd\\te\\u001b[31m\\u007f \\u009b \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD "
            "\xc3\xa9\"}");
  EXPECT_EQ(line(LogEncoder::console, LogTime::rfc3339, "a\nb\x1b\xff"),
            "2026-03-01T10:00:00Z\tINFO\tcontrollers.maintenance\ta\\nb\\u001b\xEF\xBF\xBD");
}

struct Collected final : LogSink {
  bool enabled(LogLevel level) const override { return level >= LogLevel::info; }
  void write(LogLevel, std::string_view name, std::string_view message, const LogFields& fields) override {
    std::string text = std::string(name) + "|" + std::string(message);
    for (const auto& [key, value] : fields) text += "|" + key + "=" + value;
    lines.push_back(text);
  }
  std::vector<std::string> lines;
};

TEST(LogTest, NamesAndFieldsAddUp) {
  auto sink = std::make_shared<Collected>();
  const Log log = Log(sink, "controllers").named("maintenance").with("node", "n1");
  log.info("moved", "count", 3);
  log.debug("not shown");
  EXPECT_EQ(sink->lines, std::vector<std::string>{"controllers.maintenance|moved|node=n1|count=3"});
  Log().error("dropped");
}

}  // namespace
}  // namespace careen::io
