// One configuration file while it is being read: its values, the variables its texts refer to, and what was found
// wrong so far. A text that came out of a variable may be a secret and is marked, so that no message shows it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <tuple>
#include <vector>

#include "config/error.h"
#include "config/interpolate.h"
#include "config/yaml_document.h"
#include "config/yaml_values.h"

namespace careen::config {

// How a key was read, for tests that hold plugins to what they say about themselves.
struct KeyUse {
  bool missed = false;    // it was required and absent
  std::string otherwise;  // what the reader takes when the key is absent, as one would write it
};

class ConfigFile {
 public:
  // The document and the environment must outlive the file.
  ConfigFile(std::string_view name, const Document& document, const Environment& environment);

  const Value& root() const { return document_.root(); }

  void error(Position where, std::string message);
  void warn(Position where, std::string message);
  std::size_t error_count() const { return errors_.size(); }
  // So much is wrong that looking further helps nobody.
  bool is_hopeless() const;
  std::vector<ConfigError> errors() const;
  std::vector<ConfigError> warnings() const;

  // An error or warning about the key at this place was given; another one, that it is not known, is not needed.
  void mark_explained(Position key) { explained_.insert(key); }
  bool is_explained(Position key) const { return explained_.contains(key); }
  // Whether any text of the file refers to the variable of that name.
  bool is_referenced(std::string_view name) const { return referenced_.contains(name); }

  // By the key's path in the object that a factory read: secret.name, windows[].start.
  KeyUse& use_of(const std::string& path) { return uses_[path]; }
  const std::map<std::string, KeyUse, std::less<>>& uses() const { return uses_; }

  // What must be kept out of every text for people. Short ones, numbers and booleans are not kept: they would be found
  // everywhere.
  void add_secret(std::string_view value);
  std::vector<std::string> secrets() const { return {secrets_.begin(), secrets_.end()}; }

  struct Text {
    std::string text;
    bool from_variable = false;  // never show it
    // What the environment's variables in it contained.
    std::vector<std::string> variables = {};
  };
  // The text of a scalar with its references resolved; nullopt: they could not be, which was recorded.
  std::optional<Text> text(const Value& scalar);

  struct Typed {
    Value value;  // a scalar, or a list when a reference yields one
    bool from_variable = false;
    std::vector<std::string> variables = {};
    std::vector<std::unique_ptr<Value>> storage;
  };
  // The same for a target other than a string: what came out of references is read as a value.
  std::optional<Typed> typed(const Value& scalar);

  // Where byte `at` of a string value is in the file.
  Position position_within(const Value& value, std::size_t at) const { return document_.position_within(value, at); }

 private:
  using Remarks = std::vector<Remark>;
  using Variable = tl::expected<std::optional<std::string>, std::string>;

  void check_references();
  std::optional<Text> resolve(const Value& scalar, const Interpolation& interpolation);
  Variable variable(std::string_view name);
  Variable variable_of_file(const Value& value, std::string_view name);
  std::vector<ConfigError> located(const Remarks& remarks) const;

  std::string name_;
  const Document& document_;
  const Environment& environment_;
  Remarks errors_;
  Remarks warnings_;
  std::set<std::tuple<Position, std::string>> seen_;
  std::set<std::string, std::less<>> resolving_;  // variables being resolved, to find circles
  std::size_t lookups_ = 0;                       // of the text being resolved
  std::vector<std::string> looked_up_;            // in the environment, for that text
  std::set<Position> explained_;
  std::set<std::string, std::less<>> referenced_;
  std::set<std::string, std::less<>> secrets_;
  std::map<std::string, KeyUse, std::less<>> uses_;
};

}  // namespace careen::config
