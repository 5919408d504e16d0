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

// A command of the user's that runs in place of our own process for a while: it has our terminal, our input and our
// group of processes. The signals that end or tell a program something are passed on to it, but for those that a
// terminal sends to it as well. The result is what a shell would have in $?: 127 when there is no such program, 126
// when it cannot be run, 128 + signal when one ended it. It goes on when the task is destroyed.
struct AttachedCommand {
  std::vector<std::string> argv;                                 // argv[0] is looked up on the PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to our own
};
struct AttachedEnd {
  int exit_code = 0;
  std::string error;  // why it could not be run
};
Task<Result<AttachedEnd>> run_attached(RealLoop& loop, AttachedCommand command);

// Calls `handler` from the loop for each of the given signals, until destroyed.
class SignalWatch {
 public:
  virtual ~SignalWatch() = default;
};
std::unique_ptr<SignalWatch> watch_signals(RealLoop& loop, std::vector<int> signals, std::function<void(int)> handler);

// A connection is several open files, of which many systems let a process have 1,024 unless it asks for more: this
// does. Commands that are run inherit it, and some of them go through all files that they might have, so it does not
// ask for as many as there are.
void allow_many_files();

}  // namespace careen::io
