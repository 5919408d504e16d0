#include "actions.h"

namespace careen::scenarios {

std::span<const ActionKind> action_kinds() {
  static constexpr ActionKind kKinds[] = {
      {"label", "person", read_label},
      {"unlabel", "person", read_unlabel},
      {"annotate", "person", read_annotate},
      {"unannotate", "person", read_unannotate},
      {"taint", "person", read_taint},
      {"untaint", "person", read_untaint},
      {"cordon", "person", read_cordon},
      {"uncordon", "person", read_uncordon},
      {"create", "person", read_create},
      {"create-pods", "person", read_create_pods},
      {"delete", "person", read_delete},
      {"patch", "person", read_patch},
      {"maintain", "person", read_maintain},
      {"release", "person", read_release},
      {"pause", "person", read_pause},
      {"lift-pause", "person", read_lift_pause},
      {"stop-kubelet", "fault", read_stop_kubelet},
      {"start-kubelet", "fault", read_start_kubelet},
      {"configure", "person", read_configure},
      {"edit-config", "person", read_edit_config},
      {"start", "person", read_start},
      {"stop", "person", read_stop},
      {"crash", "fault", read_crash},
      {"suspend", "fault", read_suspend},
      {"resume", "fault", read_resume},
      {"disturb", "fault", read_disturb},
      {"freeze-watches", "fault", read_freeze_watches},
      {"delay-watches", "fault", read_delay_watches},
      {"break-watches", "fault", read_break_watches},
      {"compact", "fault", read_compact},
      {"slack", "fault", read_slack},
      {"mail", "fault", read_mail},
      {"prometheus", "fault", read_prometheus},
      {"measure", "cluster", read_measure},
  };
  return kKinds;
}

}  // namespace careen::scenarios
