// The events that a profile's drain leaves at pods: Evicting and ForceDeleting, in the words of the program that careen
// replaces, so that people who look for them find them.
#pragma once

#include <optional>

#include "kube/events.h"

namespace careen::drain {
struct PodRequest;
}
namespace careen::kube {
struct Node;
}

namespace careen::profiles {

// Some drain of a profile wants the pod gone.
bool is_of_profile(const drain::PodRequest& request);
// `node` is null when it is not known any more.
kube::EventRecord pod_event(const drain::PodRequest& request, const kube::Node* node);

}  // namespace careen::profiles
