// Which kind of object holds the record of a renewed lock, or something else that careen keeps in an annotation.
#pragma once

namespace careen::kube {

enum class LockKind { lease, config_map };

}  // namespace careen::kube
