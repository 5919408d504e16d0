#include <fmt/format.h>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"
#include "windows/semver.h"

namespace careen::profiles {

namespace {
class ClusterSemver final : public Check {
 public:
  ClusterSemver(std::string key, bool profile_scoped) : key_(std::move(key)), profile_scoped_(profile_scoped) {}
  std::string_view type() const override { return "clusterSemver"; }

  CheckResult run(const CheckContext& context) const override {
    CheckResult result;
    const auto own = context.node.label(key_);
    if (!own) {
      result.error = fmt::format("label {} not present; it must show the node's version", key_);
      return result;
    }
    const std::string_view profile = profile_scoped_ ? context.profile : std::string_view{};
    const auto newer = context.facts.fleet.newer_version(key_, profile, *own);
    if (!newer) {
      result.error = fmt::format("label {} is no version: \"{}\" {}", key_, *own, what_is_wrong_with(*own));
      return result;
    }
    result.passed = newer->value;
    result.topics.push_back(newer->topic);
    if (context.explain) explain(*own, *newer, profile, result);
    return result;
  }

 private:
  void explain(std::string_view own, const Fleet::Newer& newer, std::string_view profile, CheckResult& result) const {
    result.reason = newer.value ? fmt::format("{} is {}, and {} is the newest", key_, own, newer.newest)
                                : fmt::format("{} is {}, and none is newer", key_, own);
    if (!profile.empty()) result.reason += fmt::format(" among nodes with profile {}", profile);
    result.info.emplace_back("own", std::string(own));
    result.info.emplace_back("max", std::string(newer.newest));
  }

  static std::string what_is_wrong_with(std::string_view text) {
    const auto parsed = windows::parse_semver(text);
    return parsed ? std::string{} : parsed.error().message;
  }

  std::string key_;
  bool profile_scoped_;
};

std::unique_ptr<Check> make_cluster_semver_check(config::ConfigReader& config) {
  return std::make_unique<ClusterSemver>(config.string("key", config::Required::yes), config.boolean("profileScoped"));
}
}  // namespace

Plugin<Check> cluster_semver_check() {
  return {make_cluster_semver_check,
          {"clusterSemver",
           "Passes if another node shows a newer version than this one in the same label",
           {
               {.name = "key", .text = "Key of the label that holds a semantic version", .required = true},
               {.name = "profileScoped",
                .type = config::KeyType::boolean,
                .text = "Looks only at nodes that have the same profile",
                .otherwise = "false"},
           },
           R"(- name: outdated
  type: clusterSemver
  config:
    key: flatcar-linux-update.v1.flatcar-linux.net/version
)"}};
}

}  // namespace careen::profiles
