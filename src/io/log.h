// Structured log lines on stderr. A Log is a cheap value: a name, fields that every line carries, and the sink
// they share. No global logger exists, so simulated replicas do not mix.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/time.h"

namespace careen::io {

enum class LogLevel { debug, info, warn, error };

using LogFields = std::vector<std::pair<std::string, std::string>>;

class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual bool enabled(LogLevel level) const = 0;
  virtual void write(LogLevel level, std::string_view name, std::string_view message, const LogFields& fields) = 0;
};

enum class LogEncoder { console, json };
enum class LogTime { epoch, millis, nanos, iso8601, rfc3339, rfc3339nano };

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogEncoder encoder = LogEncoder::json;
  LogTime time = LogTime::iso8601;
};

// Lines on stderr, time-stamped by `wall_now`. Control characters in values are escaped.
std::shared_ptr<LogSink> make_stderr_sink(LogOptions options, std::function<Wall()> wall_now);
// One line as the stderr sink prints it, without the line end.
std::string format_log_line(const LogOptions& options, Wall time, LogLevel level, std::string_view name,
                            std::string_view message, const LogFields& fields);

class Log {
 public:
  // Drops everything.
  Log() = default;
  Log(std::shared_ptr<LogSink> sink, std::string name) : sink_(std::move(sink)), name_(std::move(name)) {}

  Log named(std::string_view name) const;
  template <class V>
  Log with(std::string_view key, const V& value) const {
    Log copy = *this;
    copy.fields_.emplace_back(key, text_of(value));
    return copy;
  }

  // log.info("node moved", "node", name, "state", state)
  template <class... KeysAndValues>
  void debug(std::string_view message, const KeysAndValues&... rest) const {
    write(LogLevel::debug, message, rest...);
  }
  template <class... KeysAndValues>
  void info(std::string_view message, const KeysAndValues&... rest) const {
    write(LogLevel::info, message, rest...);
  }
  template <class... KeysAndValues>
  void warn(std::string_view message, const KeysAndValues&... rest) const {
    write(LogLevel::warn, message, rest...);
  }
  template <class... KeysAndValues>
  void error(std::string_view message, const KeysAndValues&... rest) const {
    write(LogLevel::error, message, rest...);
  }
  bool enabled(LogLevel level) const { return sink_ && sink_->enabled(level); }

 private:
  template <class... KeysAndValues>
  void write(LogLevel level, std::string_view message, const KeysAndValues&... rest) const {
    static_assert(sizeof...(rest) % 2 == 0, "keys and values come in pairs");
    if (!enabled(level)) return;
    LogFields fields = fields_;
    append(fields, rest...);
    sink_->write(level, name_, message, fields);
  }
  static std::string text_of(std::string_view text) { return std::string(text); }
  static std::string text_of(double value);
  template <std::integral V>
  static std::string text_of(V value) {
    static_assert(!std::same_as<V, char>, "a character is a text: give it as one");
    if constexpr (std::same_as<V, bool>) {
      return value ? "true" : "false";
    } else {
      return std::to_string(value);
    }
  }
  static void append(LogFields&) {}
  template <class V, class... Rest>
  static void append(LogFields& fields, std::string_view key, const V& value, const Rest&... rest) {
    fields.emplace_back(key, text_of(value));
    append(fields, rest...);
  }

  std::shared_ptr<LogSink> sink_;
  std::string name_;
  LogFields fields_;
};

}  // namespace careen::io
