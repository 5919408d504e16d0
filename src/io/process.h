// Child processes and signals.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/result.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::io {

class RealLoop;

struct ProcessRequest {
  std::vector<std::string> argv;                                 // argv[0] is looked up on the PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to our own
  Duration timeout = seconds{60};
  size_t max_output = 1 << 20;
};
struct ProcessResult {
  int exit_code = 0;  // 128 + signal when one ended it
  std::string out;
  std::string err;
};
// Runs to its end; killed when the time is up or the task is destroyed.
Task<Result<ProcessResult>> run_process(RealLoop& loop, ProcessRequest request);

// Calls `handler` from the loop for each of the given signals, until destroyed.
class SignalWatch {
 public:
  virtual ~SignalWatch() = default;
};
std::unique_ptr<SignalWatch> watch_signals(RealLoop& loop, std::vector<int> signals, std::function<void(int)> handler);

}  // namespace careen::io
