#include "view/pauses.h"

#include "kube/json_writer.h"

namespace careen::view {

void append_pauses(std::string& out, const std::vector<budget::Pause>& pauses) {
  kube::Members array(out, '[', ']');
  for (const budget::Pause& pause : pauses) {
    kube::Members members(array.next(), '{', '}');
    if (!pause.profile.empty()) kube::append_json(members.next("profile"), pause.profile);
    kube::append_json(members.next("by"), pause.by);
    if (pause.since != io::Wall{}) kube::append_json(members.next("since"), pause.since);
    if (!pause.reason.empty()) kube::append_json(members.next("reason"), pause.reason);
  }
}

}  // namespace careen::view
