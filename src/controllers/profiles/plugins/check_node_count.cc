#include <fmt/format.h>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {
class NodeCount final : public Check {
 public:
  explicit NodeCount(int64_t count) : count_(count) {}
  std::string_view type() const override { return "nodeCount"; }

  CheckResult run(const CheckContext& context) const override {
    const Fleet::Number nodes = context.facts.fleet.nodes(count_);
    CheckResult result;
    result.passed = nodes.value >= count_;
    result.topics.push_back(nodes.topic);
    if (!context.explain) return result;
    result.reason = fmt::format("the cluster has {} nodes of at least {}", nodes.value, count_);
    result.info.emplace_back("current", static_cast<double>(nodes.value));
    result.info.emplace_back("expected", static_cast<double>(count_));
    return result;
  }

 private:
  int64_t count_;
};

std::unique_ptr<Check> make_node_count_check(config::ConfigReader& config) {
  const int64_t count = config.integer("count", config::Required::yes);
  if (count < 0) config.warn("count", "is negative, so the check always passes");
  return std::make_unique<NodeCount>(count);
}
}  // namespace

Plugin<Check> node_count_check() {
  return {make_node_count_check,
          {"nodeCount",
           "Passes while the cluster has at least so many nodes",
           {{.name = "count", .type = config::KeyType::integer, .text = "The least number of nodes", .required = true}},
           R"(- name: enough_nodes
  type: nodeCount
  config:
    count: 5
)"}};
}

}  // namespace careen::profiles
