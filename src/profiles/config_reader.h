// What a plugin's factory receives: typed access to the keys of one configuration object. A key that is missing or
// does not convert is recorded with its place in the file, and a harmless value is returned, so that one pass finds
// all errors of a file. Keys nobody asks for are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "profiles/config_error.h"

namespace careen::profiles {

struct Value;
class ConfigFile;

// Required means: a string that is not empty, an integer or duration that is not zero, a list with entries.
enum class Required { no, yes };

class ConfigReader {
 public:
  // Reads keys of `object` (null: absent, all keys are missing, which is reported at `where`). `owner` opens every
  // message: check "can_drain".
  ConfigReader(ConfigFile& file, const Value* object, Position where, std::string owner);

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
  // A nested object; absent and null read like an empty one.
  ConfigReader object(std::string_view key);

  // What only the plugin can judge, at the place of the key's value. `message` continues `"<key>" `: must be positive.
  void error(std::string_view key, std::string message);
  void warn(std::string_view key, std::string message);
  // False once an error was recorded since this reader was made.
  bool ok() const;

 private:
  // A scalar ready to convert, with references resolved.
  struct Scalar;

  const Value* find(std::string_view key) const;
  // Absent, null and not convertible read alike: nothing. The last is an error that was recorded.
  std::optional<Scalar> scalar(std::string_view key, Required required);
  std::optional<std::string> text(const Value& value, std::string_view key);
  std::optional<std::vector<std::string>> items(const Value& list, std::string_view key);
  std::optional<std::vector<std::string>> items_of_scalar(const Value& scalar, std::string_view key);
  void missing(std::string_view key);
  void fail(const Value& value, std::string_view key, std::string_view expected);
  void fail(const Scalar& scalar, std::string_view key, std::string_view expected);

  ConfigFile& file_;
  const Value* object_;
  Position where_;
  std::string owner_;
  std::size_t errors_before_;
  bool unusable_ = false;  // not an object at all: that was reported, its keys are not missed
};

}  // namespace careen::profiles
