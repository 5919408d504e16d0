// What a plugin's factory receives: typed access to the keys of one configuration object. A key that is missing or
// does not convert is recorded with its place in the file, and a harmless value is returned, so that one pass finds
// all errors of a file. Values of secret keys and those that came out of variables stay out of all messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/error.h"
#include "io/time.h"

namespace careen::config {

struct KeyDoc;
struct Value;
class ConfigFile;

// Required means: a string that is not empty, an integer or duration that is not zero, a list with entries.
enum class Required { no, yes };

struct CountOrPercentage {
  std::int64_t count = 0;
  std::int64_t percent = 0;  // 1 to 100; 0: the count was given
};

class ConfigReader {
 public:
  // Reads keys of `object` (null: absent, all keys are missing, which is reported at `where`). `owner` opens every
  // message: check "can_drain". `keys` (nullptr: not declared) say which are secret and which are not known; they must
  // outlive the reader.
  ConfigReader(ConfigFile& file, const Value* object, Position where, std::string owner,
               const std::vector<KeyDoc>* keys = nullptr);

  bool has(std::string_view key) const;

  std::string string(std::string_view key, Required required);
  std::int64_t integer(std::string_view key, Required required, std::int64_t otherwise = 0);
  bool boolean(std::string_view key, bool otherwise = false);
  // A bare number counts seconds.
  io::Duration duration(std::string_view key, Required required, io::Duration otherwise = io::Duration{0});
  // For keys that the file format defines as strings: a bare number other than 0 lacks its unit and is an error.
  io::Duration duration_string(std::string_view key, Required required, io::Duration otherwise = io::Duration{0});
  // A single scalar is a list of one.
  std::vector<std::string> strings(std::string_view key, Required required);
  // 3 or 10%.
  CountOrPercentage count_or_percentage(std::string_view key, Required required, CountOrPercentage otherwise = {});
  // A nested object; absent and null read like an empty one.
  ConfigReader object(std::string_view key);
  // A list of nested objects.
  std::vector<ConfigReader> objects(std::string_view key);
  // All keys with their values as the file types them, for plugins whose keys have no fixed names. Keys that are null
  // are left out.
  using Scalar = std::variant<bool, std::int64_t, double, std::string>;
  std::vector<std::pair<std::string, Scalar>> entries();

  // What messages and reasons may show of the key: its text, or *** when it is secret or comes out of a variable.
  std::string shown(std::string_view key);

  // What only the plugin can judge, at the place of the key's value. `message` continues `"<key>" `: must be positive.
  void error(std::string_view key, std::string message);
  void warn(std::string_view key, std::string message);
  // The same inside the key's text, at a byte of it, or at a line and column (in bytes) counted from 1. `message` is a
  // sentence of its own. If the text came out of a variable, the place is the beginning of the value.
  void error_within(std::string_view key, std::size_t offset, std::string message);
  void error_within(std::string_view key, Position in_text, std::string message);
  void warn_within(std::string_view key, Position in_text, std::string message);
  // Warns of the keys that are not declared, in nested objects too.
  void warn_unknown_keys();
  // False once an error was recorded since this reader was made.
  bool ok() const;

 private:
  // A scalar ready to convert, with references resolved.
  struct Resolved;

  const Value* find(std::string_view key) const;
  // Where in the file that byte of the key's text is.
  Position place_within(std::string_view key, std::size_t offset) const;
  std::size_t offset_within(std::string_view key, Position in_text) const;
  // The same, for reading: notes that the key was asked for and what it is `otherwise`.
  const Value* take(std::string_view key, std::string otherwise = {});
  // Absent, null and not convertible read alike: nothing. The last is an error that was recorded.
  std::optional<Resolved> scalar(std::string_view key, Required required, std::string otherwise);
  std::optional<Scalar> entry(const Value& value, std::string_view key);
  std::optional<std::string> text(const Value& value, std::string_view key);
  std::optional<std::vector<std::string>> items(const Value& list, std::string_view key);
  std::optional<std::vector<std::string>> items_of_scalar(const Value& scalar, std::string_view key);
  void missing(std::string_view key);
  void fail(const Value& value, std::string_view key, std::string_view expected);
  void fail(const Resolved& scalar, std::string_view key, std::string_view expected);
  const KeyDoc* declared(std::string_view key) const;
  bool is_secret(std::string_view key) const;
  // The message without what the key's value must not show: plugins quote what they were given.
  std::string redacted(std::string_view key, std::string message);
  ConfigReader nested(const Value* value, std::string_view key, std::string owner, std::string path) const;

  ConfigFile& file_;
  const Value* object_;
  Position where_;
  std::string owner_;
  const std::vector<KeyDoc>* keys_;
  std::string path_;  // of a nested object: what comes before its keys, such as secret.
  std::size_t errors_before_;
  bool unusable_ = false;  // not an object at all: that was reported, its keys are not missed
};

}  // namespace careen::config
