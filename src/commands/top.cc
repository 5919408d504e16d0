#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>

#include "cli/command_set.h"
#include "cli/redraw.h"
#include "commands/command_list.h"
#include "commands/fleet_text.h"
#include "commands/followed_fleet.h"
#include "commands/view_session.h"
#include "commands/view_source.h"
#include "io/keyboard.h"
#include "io/process.h"
#include "io/real_loop.h"
#include "session/kube_session.h"

namespace careen::app {

using io::Task;

namespace {

// The whole terminal is ours for as long as it lives.
class FullScreen {
 public:
  explicit FullScreen(Screen& screen) : screen_(screen) { screen_.take_terminal(); }
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;
  ~FullScreen() { screen_.give_terminal_back(); }

 private:
  Screen& screen_;
};

class TopView {
 public:
  explicit TopView(ViewSession& session) : session_(session), fleet_(session), quit_(session.loop) {}

  Task<int> main() {
    auto keyboard = io::open_keyboard(session_.loop, [this](std::string_view keys) {
      if (keys.find_first_of("qQ") != std::string_view::npos) quit_.open();
    });
    if (!keyboard) {
      session_.screen.error(keyboard.error().message);
      co_return kFailed;
    }
    const auto resized = io::watch_signals(session_.loop, {SIGWINCH}, [this](int) { fleet_.changed().notify(); });
    full_.emplace(session_.screen);
    io::Scope scope(session_.loop);
    scope.spawn(fleet_.follow([this](const std::string& why) { trouble_ = why; }));
    scope.spawn(draw());
    co_await quit_.wait();
    co_return 0;
  }

 private:
  Task<void> draw() {
    while (true) {
      session_.screen.fill_terminal(
          fleet_.model().known() ? top_lines(fleet_.model(), session_.screen, fleet_.now(), trouble_)
                                 : std::vector<Line>{trouble_.empty() ? "waiting for the first data" : trouble_});
      co_await heard_within(session_.loop, kRedrawEvery, fleet_.changed());
      co_await io::sleep_for(session_.loop, kBetweenFrames);
    }
  }

  ViewSession& session_;
  FollowedFleet fleet_;
  std::string trouble_;
  std::optional<FullScreen> full_;
  io::Gate quit_;
};

Task<int> show_top(ViewSession& session) {
  TopView view(session);
  co_return co_await view.main();
}

int run_top(ViewOptions options) {
  complete_view_options(options);
  if (::isatty(STDIN_FILENO) != 1 || !Screen(process_screen()).live()) {
    Screen(process_screen())
        .error("top needs a terminal; \"careen status\" prints the same once, \"careen status --watch\" goes on");
    return kFailed;
  }
  return run_on_view(options, show_top);
}

}  // namespace

void add_top_command(Commands& commands) {
  auto options = std::make_shared<ViewOptions>();
  CLI::App& command = commands.add("top", "The fleet live on the whole terminal", CommandGroup::see,
                                   [options] { return run_top(*options); });
  command.footer(
      "Nodes by state, budgets, drains, what changes next and what happened last, as it happens. q or Ctrl-C ends it.\n"
      "\n"
      "Examples:\n"
      "  careen top\n"
      "  careen top --server http://127.0.0.1:8080\n"
      "  CAREEN_SERVER=auto careen top");
  add_view_flags(command, *options);
  add_cluster_flags(command, options->cluster);
}

}  // namespace careen::app
