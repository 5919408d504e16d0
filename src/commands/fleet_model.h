// The Fleet document (docs/api.md) as a command keeps it: the first event of the stream whole, then each change.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "kube/json.h"

namespace careen::app {

class FleetModel {
 public:
  // An event of the stream: "fleet" with all, "change" with what changed; others are not for us.
  void apply(std::string_view event, kube::JsonView document);
  // A Fleet as it was read once.
  void set(kube::JsonView fleet) { apply("fleet", fleet); }

  bool known() const { return known_; }
  // All members but nodes and timeline.
  kube::JsonView operator[](std::string_view part) const { return parts_[part]; }
  const std::map<std::string, kube::Json, std::less<>>& nodes() const { return nodes_; }
  const std::deque<kube::Json>& timeline() const { return timeline_; }  // oldest first

 private:
  bool known_ = false;
  kube::Json parts_ = kube::Json::object();
  std::map<std::string, kube::Json, std::less<>> nodes_;
  std::deque<kube::Json> timeline_;
};

}  // namespace careen::app
