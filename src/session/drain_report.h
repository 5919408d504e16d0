// What a drain from the terminal says when it ends: for people, and as one JSON document.
#pragma once

#include <string>
#include <vector>

#include "drain/progress.h"
#include "kube/json.h"

namespace careen::app {

enum class DrainEnd { drained, refused, failed, not_cordoned, interrupted };

struct DrainedNode {
  std::string node;
  DrainEnd end = DrainEnd::interrupted;
  bool cordoned = false;
  std::vector<std::string> errors;
  drain::Progress progress;  // as it was at the end
  io::Duration took{};
};

// node/node-1 is cordoned; 5 of 30 pods are left, 2 of them terminating
std::string state_text(const DrainedNode& node);
// shop/db-0: waiting for budget shop/db …; of those that are left, a few.
std::vector<std::string> pods_left(const DrainedNode& node);
// What is known of the pods of a drain that is over, with what was last known to hold them up.
drain::Progress with_reasons(drain::Progress over, const drain::Progress& before);
// How to go on, or back, after nodes were left as they are. Nothing when all is well.
std::vector<std::string> advice(const std::vector<DrainedNode>& nodes);

kube::Json drain_document(const std::vector<DrainedNode>& nodes);

}  // namespace careen::app
