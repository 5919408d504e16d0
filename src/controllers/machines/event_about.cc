#include "controllers/machines/event_about.h"

#include <utility>

#include "controllers/machines/names.h"

namespace careen::machines {

// The role of the program that careen replaces allows events of the older API only.
kube::EventRecord event_about(const kube::Resource& kind, const EventSubject& subject, std::string_view type,
                              std::string_view reason, std::string note) {
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {kind.api_version(), kind.kind,   subject.ns,
                     subject.name,       subject.uid, std::to_string(subject.version)};
  event.type = type;
  event.reason = reason;
  event.note = std::move(note);
  event.controller = kEventSource;
  return event;
}

}  // namespace careen::machines
