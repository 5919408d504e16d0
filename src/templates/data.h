// What a message is about: the data a template is rendered with.
#pragma once

#include <string>
#include <string_view>

#include "io/time.h"
#include "kube/json.h"

namespace careen::templates {

struct TemplateData {
  // The state of the evaluated profile, its name, and the profile of the node's latest transition.
  std::string_view state;
  std::string_view profile;
  std::string_view last;
  io::Wall last_transition;
  bool in_maintenance = false;
  bool log_details = false;
  // The node as the API has it, whole or with no more than Template::fields() names.
  kube::JsonView node;
  // What becomes of the text of a value where the template prints it; null: it stays as it is.
  std::string (*printed)(std::string value) = nullptr;
};

}  // namespace careen::templates
