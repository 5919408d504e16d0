#include "commands/view_session.h"

#include <csignal>
#include <optional>

#include "io/files.h"
#include "io/process.h"
#include "io/random.h"
#include "io/real_loop.h"
#include "session/kube_session.h"

namespace careen::app {

using io::Task;

namespace {

Task<int> open_and_run(ViewParts parts, ViewOptions options, Screen& screen, io::Gate& interrupted,
                       const ViewCommand& command) {
  const auto source = co_await open_view(parts, std::move(options));
  if (!source) {
    screen.error(source.error().message);
    co_return kFailed;
  }
  screen.remark("from " + (*source)->name());
  ViewSession session{parts.loop, screen, **source, interrupted};
  co_return co_await command(session);
}

Task<void> until_interrupted(Task<int> task, io::Loop& loop, io::Gate& interrupted, std::optional<int>& code) {
  co_await io::race(loop, io::keep(std::move(task), code), io::wait_for(interrupted));
  if (!code) code = kInterrupted;
}

}  // namespace

int run_on_view(const ViewOptions& options, const ViewCommand& command) {
  io::RealLoop loop;
  io::RealFiles files(loop);
  io::Random random;
  Screen screen(process_screen());
  io::Gate interrupted(loop);
  const auto watch = io::watch_signals(loop, {SIGTERM, SIGINT}, [&](int) { interrupted.open(); });
  std::optional<int> code;
  io::Scope scope(loop);
  Task<int> task = open_and_run({loop, files, random}, options, screen, interrupted, command);
  scope.spawn(until_interrupted(std::move(task), loop, interrupted, code));
  loop.run_until([&] { return code.has_value(); });
  return *code;
}

}  // namespace careen::app
