// Label selectors: their two spellings (the text of a query, the object in a spec) and what they match.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "kube/json.h"

namespace careen::kube {

class LabelSelector {
 public:
  enum class Operator { in, not_in, exists, not_exists, greater, less };
  struct Requirement {
    std::string key;
    Operator op = Operator::exists;
    std::vector<std::string> values;
    friend bool operator==(const Requirement&, const Requirement&) = default;
  };

  // Matches everything.
  LabelSelector() = default;

  // As in a query: a=b,c!=d,e in (f,g),!h. The error is what the API server answers.
  static io::Result<LabelSelector> parse(std::string_view text);
  // A metav1.LabelSelector: {"matchLabels": …, "matchExpressions": …}. null matches nothing, {} everything.
  static io::Result<LabelSelector> from_json(JsonView selector);

  // lookup(key) gives the value, nullopt when there is no such label.
  using Lookup = std::function<std::optional<std::string_view>(std::string_view key)>;
  bool matches(const Lookup& lookup) const;

  bool empty() const { return !nothing_ && requirements_.empty(); }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  // As in a query.
  std::string text() const;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;

 private:
  std::vector<Requirement> requirements_;
  bool nothing_ = false;
};

}  // namespace careen::kube
