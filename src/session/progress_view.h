// How drains look to people who wait for them: a bar per node with the pods that hold it up, redrawn in place on a
// terminal, or one line per event in kubectl's words where there is no terminal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/screen.h"
#include "drain/progress.h"
#include "io/time.h"

namespace careen::app {

// A pod that is not gone, and why.
struct HeldPod {
  std::string pod;  // namespace/name
  std::string reason;
  bool blocked = false;  // will not go by itself soon
};

// One node of the live display.
struct NodeView {
  std::string node;
  int gone = 0, total = 0;    // pods
  std::string state;          // 2 blocked, 3 terminating
  std::vector<HeldPod> held;  // those worth a line, the blocked ones first
  io::Duration elapsed{};
};

NodeView view_of(const std::string& node, const drain::Progress& progress, io::Wall now);

// The live lines, none wider than the screen, and fewer than it is high.
std::vector<Line> frame(const std::vector<NodeView>& nodes, const Screen& screen);

// The lines for output that is not a terminal: what has happened to the pods since the last call.
class ProgressLog {
 public:
  // evicted, or deleted with --disable-eviction.
  explicit ProgressLog(bool deletes) : deletes_(deletes) {}
  std::vector<std::string> news(const std::string& node, const drain::Progress& progress);

 private:
  struct Known {
    std::string ns = {}, name = {};
    bool begun = false;           // its eviction has been reported
    bool completes = false;       // by itself
    std::string blocked_by = {};  // as it was reported
  };
  void tell_begun(Known& known, std::vector<std::string>& lines) const;
  void tell_stage(const drain::PodProgress& pod, Known& known, std::vector<std::string>& lines) const;

  bool deletes_;
  std::map<std::string, std::map<std::string, Known>> nodes_;  // by node, then by UID
};

}  // namespace careen::app
