// Reads the values of a scenario file. What is wrong is collected with its place, so that one look at a file finds all
// of it; a key that nobody asked for is an error, with the key that may have been meant.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/error.h"
#include "config/yaml_values.h"
#include "io/time.h"
#include "kube/json.h"
#include "words.h"

namespace careen::scenarios {

using config::Position;
using config::Value;

class Faults {
 public:
  explicit Faults(std::string file) : file_(std::move(file)) {}
  void add(Position where, std::string message);
  // `unknown step "lable"; did you mean "label"?`
  void unknown(Position where, std::string_view what, std::string_view name,
               const std::vector<std::string>& candidates);
  bool none() const { return errors_.empty(); }
  // In order of the file, one line each.
  std::string text() const;
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::vector<config::ConfigError> errors_;
};

struct Member {
  std::string key;
  Position where;  // of the key
  const Value& value;
};
// Of a map, in order of the file. Anything else is an error: `what` must be a map.
std::vector<Member> members(const Value& map, std::string_view what, Faults& faults);
// A list's items; a value that is no list is a list of one.
std::vector<const Value*> items(const Value& value);

std::optional<std::string> read_text(const Value& value, std::string_view what, Faults& faults);
std::optional<io::Duration> read_span(const Value& value, std::string_view what, Faults& faults);
std::optional<Amount> read_amount(const Value& value, std::string_view what, Faults& faults);

// The value in one line, as the file could spell it.
std::string flow_text(const Value& value);
kube::Json to_json(const Value& value);

// The keys of one map. Ask for each key there can be, then finish().
class Fields {
 public:
  // `what` is for messages: "a node".
  Fields(const Value& map, std::string what, Faults& faults);

  const Value* find(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  std::optional<io::Duration> span(std::string_view key);
  std::optional<Amount> amount(std::string_view key);
  bool flag(std::string_view key, bool otherwise = false);
  std::optional<bool> optional_flag(std::string_view key);
  // What is left is unknown.
  void finish();

  Position where() const { return where_; }
  Faults& faults() { return faults_; }

 private:
  Position where_;
  std::string what_;
  Faults& faults_;
  std::vector<Member> members_;
  std::vector<std::string> asked_;
};

}  // namespace careen::scenarios
