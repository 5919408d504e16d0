// Events of this controller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/events.h"
#include "kube/resource.h"

namespace careen::machines {

struct EventSubject {
  std::string ns, name, uid;
  uint64_t version = 0;
};

kube::EventRecord event_about(const kube::Resource& kind, const EventSubject& subject, std::string_view type,
                              std::string_view reason, std::string note);

}  // namespace careen::machines
