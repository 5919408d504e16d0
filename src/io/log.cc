#include "io/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "io/printable.h"

namespace careen::io {

namespace {

enum class Quoting { json, bare };

// Escapes what could forge a line or command a terminal; in JSON also the quote and the backslash.
void append_escaped(std::string& out, std::string_view text, Quoting quoting) {
  while (!text.empty()) {
    const Character next = first_character(text);
    const std::string_view piece = text.substr(0, next.length);
    text.remove_prefix(next.length);
    if (quoting == Quoting::json && (piece == "\"" || piece == "\\")) {
      out += '\\';
      out += piece;
    } else if (next.harmless) {
      out += piece;
    } else if (next.code == '\n') {
      out += "\\n";
    } else if (next.code == '\r') {
      out += "\\r";
    } else if (next.code == '\t') {
      out += "\\t";
    } else if (next.code == 0xFFFD) {
      out += "\xEF\xBF\xBD";
    } else {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(next.code));
    }
  }
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text, Quoting::json);
  out += '"';
}

std::string_view lower_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  return "info";
}

std::string_view upper_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "DEBUG";
    case LogLevel::info:
      return "INFO";
    case LogLevel::warn:
      return "WARN";
    case LogLevel::error:
      return "ERROR";
  }
  return "INFO";
}

std::string without_fraction(Wall time) { return format_rfc3339(std::chrono::floor<seconds>(time)); }

// The text of the time, and whether it is a number.
std::pair<std::string, bool> format_time(LogTime form, Wall time) {
  const int64_t nanos = time.time_since_epoch().count();
  switch (form) {
    case LogTime::epoch:
      return {fmt::format("{}", static_cast<double>(nanos) / 1e9), true};
    case LogTime::millis:
      return {fmt::format("{}", static_cast<double>(nanos) / 1e6), true};
    case LogTime::nanos:
      return {fmt::format("{}", nanos), true};
    case LogTime::iso8601: {
      std::string text = without_fraction(time);
      text.pop_back();
      const auto rest = time - std::chrono::floor<seconds>(time);
      return {fmt::format("{}.{:03}Z", text, std::chrono::duration_cast<milliseconds>(rest).count()), false};
    }
    case LogTime::rfc3339:
      return {without_fraction(time), false};
    case LogTime::rfc3339nano:
      return {format_rfc3339(time), false};
  }
  return {};
}

std::string console_line(const LogOptions& options, Wall time, LogLevel level, std::string_view name,
                         std::string_view message, const LogFields& fields) {
  std::string out = format_time(options.time, time).first;
  out += '\t';
  out += upper_name(level);
  if (!name.empty()) {
    out += '\t';
    append_escaped(out, name, Quoting::bare);
  }
  out += '\t';
  append_escaped(out, message, Quoting::bare);
  if (fields.empty()) return out;
  out += "\t{";
  for (const auto& field : fields) {
    if (&field != &fields.front()) out += ", ";
    append_string(out, field.first);
    out += ": ";
    append_string(out, field.second);
  }
  out += '}';
  return out;
}

std::string json_line(const LogOptions& options, Wall time, LogLevel level, std::string_view name,
                      std::string_view message, const LogFields& fields) {
  std::string out = fmt::format(R"({{"level":"{}","ts":)", lower_name(level));
  const auto [stamp, is_number] = format_time(options.time, time);
  if (is_number) {
    out += stamp;
  } else {
    append_string(out, stamp);
  }
  if (!name.empty()) {
    out += R"(,"logger":)";
    append_string(out, name);
  }
  out += R"(,"msg":)";
  append_string(out, message);
  for (const auto& [key, value] : fields) {
    out += ',';
    append_string(out, key);
    out += ':';
    append_string(out, value);
  }
  out += '}';
  return out;
}

class StderrSink final : public LogSink {
 public:
  StderrSink(LogOptions options, std::function<Wall()> wall_now) : options_(options), wall_now_(std::move(wall_now)) {}

  bool enabled(LogLevel level) const override { return level >= options_.level; }

  void write(LogLevel level, std::string_view name, std::string_view message, const LogFields& fields) override {
    std::string line = format_log_line(options_, wall_now_(), level, name, message, fields);
    line += '\n';
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      // A log that nobody takes must not stop the work.
      if (written <= 0) return;
      rest.remove_prefix(static_cast<size_t>(written));
    }
  }

 private:
  LogOptions options_;
  std::function<Wall()> wall_now_;
};

}  // namespace

std::string format_log_line(const LogOptions& options, Wall time, LogLevel level, std::string_view name,
                            std::string_view message, const LogFields& fields) {
  return options.encoder == LogEncoder::json ? json_line(options, time, level, name, message, fields)
                                             : console_line(options, time, level, name, message, fields);
}

std::shared_ptr<LogSink> make_stderr_sink(LogOptions options, std::function<Wall()> wall_now) {
  return std::make_shared<StderrSink>(options, std::move(wall_now));
}

std::string Log::text_of(double value) { return fmt::format("{}", value); }

Log Log::named(std::string_view name) const {
  Log copy = *this;
  if (!copy.name_.empty()) copy.name_ += '.';
  copy.name_ += name;
  return copy;
}

}  // namespace careen::io
