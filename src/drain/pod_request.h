// Says that the engine sends a request about a pod, for those who report it.
#pragma once

#include <string>
#include <vector>

namespace careen::drain {

struct PodRequest {
  enum class Kind {
    leave,   // the pod is asked to go: an eviction, or a deletion where there are none
    remove,  // it is deleted, since it could not be evicted in time
    kill,    // it is deleted at once, since it has not ended in time
  };
  Kind kind = Kind::leave;
  std::string ns, name, uid;
  std::string node;
  // Of the drains that want it.
  std::vector<std::string> owners;
};

}  // namespace careen::drain
