#include "drain/progress.h"

#include <algorithm>
#include <cstdlib>

namespace careen::drain {

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::waiting:
      return "waiting";
    case Stage::evicting:
      return "evicting";
    case Stage::blocked:
      return "blocked";
    case Stage::terminating:
      return "terminating";
    case Stage::completing:
      return "completing";
    case Stage::failed:
      return "failed";
  }
  std::abort();
}

bool Progress::blocked() const {
  return std::any_of(pods.begin(), pods.end(), [](const PodProgress& pod) { return pod.stage == Stage::blocked; });
}

int Progress::percent() const {
  if (phase == Phase::drained) return 100;
  if (pods_to_evict <= 0) return 0;
  const int gone = pods_to_evict - static_cast<int>(pods.size());
  return std::clamp(gone * 100 / pods_to_evict, 0, 99);
}

}  // namespace careen::drain
