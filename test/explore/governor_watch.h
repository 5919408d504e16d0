// What careen holds back others by, while a limit has no room: annotations on nodes and on kured's DaemonSet. Those of
// users stay as they are whatever happens, and in the end nothing of careen's is left.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "guest.h"

namespace careen::explore {

inline constexpr std::string_view kDaemonSetsPath = "/apis/apps/v1/daemonsets";
inline constexpr const char* kKuredPath = "/apis/apps/v1/namespaces/kube-system/daemonsets/kured";
inline constexpr const char* kScaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
inline constexpr const char* kKuredLock = "weave.works/kured-node-lock";

class GovernorWatch {
 public:
  explicit GovernorWatch(Report report) : report_(std::move(report)) {}

  static bool owns(std::string_view key);
  void changed(const sim::Change& change, bool by_careen);
  void check_end() const;

 private:
  using Values = std::map<std::string, std::string>;
  static Values read(const sim::Text& object);

  struct Object {
    Values values;    // as they are
    Values of_users;  // as users want them
  };
  Report report_;
  std::map<std::string, Object> objects_;
};

}  // namespace careen::explore
