#include "commands/fleet_model.h"

namespace careen::app {

using kube::Json;
using kube::JsonView;

namespace {

constexpr size_t kRemembered = 500;

}  // namespace

void FleetModel::apply(std::string_view event, JsonView document) {
  if (event == "fleet") {
    *this = FleetModel();
    known_ = true;
  } else if (event != "change" || !known_) {
    return;
  }
  document.for_each_member([this](std::string_view key, JsonView value) {
    if (key == "nodes") {
      value.for_each_element([this](JsonView node) {
        nodes_.insert_or_assign(std::string(node["name"].text().value_or("")), Json(node));
      });
    } else if (key == "gone") {
      value.for_each_element([this](JsonView name) { nodes_.erase(std::string(name.text().value_or(""))); });
    } else if (key == "timeline") {
      value.for_each_element([this](JsonView entry) { timeline_.emplace_back(entry); });
    } else {
      parts_.set({key}, Json(value));
    }
  });
  while (timeline_.size() > kRemembered) timeline_.pop_front();
}

}  // namespace careen::app
