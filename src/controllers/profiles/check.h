// A check plugin: a configured question about one node, asked without side effects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace careen::profiles {

struct CheckContext;
struct CheckResult;
struct Needs;

class Check {
 public:
  Check() = default;
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;
  virtual ~Check() = default;

  // The plugin's name in the configuration file, such as hasLabel.
  virtual std::string_view type() const = 0;
  // Adds what the check has to know besides the nodes.
  virtual void add_needs(Needs&) const {}
  // Labels by whose values it groups the nodes that share a limit.
  virtual std::vector<std::string> group_labels() const { return {}; }
  virtual CheckResult run(const CheckContext& context) const = 0;
};

}  // namespace careen::profiles
