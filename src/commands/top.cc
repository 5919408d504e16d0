#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>

#include "cli/command_set.h"
#include "cli/redraw.h"
#include "commands/command_list.h"
#include "commands/fleet_text.h"
#include "commands/view_session.h"
#include "commands/view_source.h"
#include "commands/view_words.h"
#include "io/keyboard.h"
#include "io/process.h"
#include "io/real_loop.h"
#include "session/kube_session.h"

namespace careen::app {

using io::Task;

namespace {

constexpr io::Duration kFirstPause = io::seconds{1};
constexpr io::Duration kLongestPause = io::seconds{15};

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
  explicit TopView(ViewSession& session) : session_(session), changed_(session.loop), quit_(session.loop) {}

  Task<int> main() {
    auto keyboard = io::open_keyboard(session_.loop, [this](std::string_view keys) {
      if (keys.find_first_of("qQ") != std::string_view::npos) quit_.open();
    });
    if (!keyboard) {
      session_.screen.error(keyboard.error().message);
      co_return kFailed;
    }
    const auto resized = io::watch_signals(session_.loop, {SIGWINCH}, [this](int) { changed_.notify(); });
    full_.emplace(session_.screen);
    io::Scope scope(session_.loop);
    scope.spawn(follow());
    scope.spawn(draw());
    co_await quit_.wait();
    co_return 0;
  }

 private:
  Task<void> follow() {
    io::Duration pause = kFirstPause;
    while (true) {
      const ViewError ended = co_await session_.source.follow([&](std::string_view event, const kube::Json& document) {
        pause = kFirstPause;
        trouble_.clear();
        take(event, document);
      });
      trouble_ = fmt::format("{}; trying again", ended.message);
      changed_.notify();
      co_await io::sleep_for(session_.loop, pause);
      pause = std::min(2 * pause, kLongestPause);
    }
  }

  void take(std::string_view event, const kube::Json& document) {
    fleet_.apply(event, document.view());
    if (const auto time = time_of(document["time"])) {
      told_ = *time;
      told_at_ = session_.loop.now();
    }
    changed_.notify();
  }

  // The cluster's clock, which may run faster than ours.
  io::Wall now() const {
    const double speed = fleet_["careen"]["speed"].number().value_or(1);
    const auto passed = std::chrono::duration<double, std::nano>(session_.loop.now() - told_at_) * speed;
    return told_ + std::chrono::duration_cast<io::Duration>(passed);
  }

  Task<void> draw() {
    while (true) {
      session_.screen.fill_terminal(
          fleet_.known() ? top_lines(fleet_, session_.screen, now(), trouble_)
                         : std::vector<Line>{trouble_.empty() ? "waiting for the first data" : trouble_});
      co_await heard_within(session_.loop, kRedrawEvery, changed_);
      co_await io::sleep_for(session_.loop, kBetweenFrames);
    }
  }

  ViewSession& session_;
  FleetModel fleet_;
  io::Wall told_{};
  io::Steady told_at_{};
  std::string trouble_;
  std::optional<FullScreen> full_;
  io::Signal changed_;
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
