#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include "cli/command_set.h"
#include "cli/redraw.h"
#include "commands/budget_text.h"
#include "commands/command_list.h"
#include "commands/followed_fleet.h"
#include "commands/view_session.h"
#include "commands/view_source.h"
#include "commands/view_words.h"
#include "config/suggest.h"
#include "io/real_loop.h"
#include "session/kube_session.h"

namespace careen::app {

using io::Task;
using kube::JsonView;

namespace {

constexpr int kOvershot = 3;
constexpr std::string_view kNoLimits =
    "There is no MaintenanceLimit about nodes, or no node that one selects: nothing but profiles' own checks bounds "
    "how many nodes are out.";

struct BudgetOptions {
  ViewOptions view;
  std::vector<std::string> limits;  // none: all
  bool json = false;
  bool watch = false;
};

// Whatever was asked for is there.
bool all_found(Screen& screen, JsonView limits, const std::vector<std::string>& names) {
  bool found_all = true;
  for (const std::string& name : names) {
    bool found = false;
    std::vector<std::string> known;
    limits["groups"].for_each_element([&](JsonView group) {
      found = found || is_chosen(group, {name});
      known.push_back(shown(group["limit"]));
    });
    if (found) continue;
    found_all = false;
    const std::vector<std::string_view> views(known.begin(), known.end());
    screen.error(
        fmt::format("there is no MaintenanceLimit \"{}\" about nodes{}", name, config::did_you_mean(name, views)));
  }
  return found_all;
}

kube::Json chosen_document(JsonView limits, const std::vector<std::string>& names) {
  kube::Json document(limits);
  if (names.empty()) return document;
  kube::Json groups = kube::Json::array();
  limits["groups"].for_each_element([&](JsonView group) {
    if (is_chosen(group, names)) groups.push_back(kube::Json(group));
  });
  document.set({"groups"}, std::move(groups));
  return document;
}

Task<int> show_budget(ViewSession& session, BudgetOptions options) {
  const auto fleet = co_await session.source.get("fleet");
  if (!fleet) {
    session.screen.error(fleet.error().message);
    co_return kFailed;
  }
  const JsonView limits = (*fleet)["limits"];
  if (!limits.exists()) {
    session.screen.error("that careen is older than this command, and knows nothing of MaintenanceLimits");
    co_return kFailed;
  }
  if (!all_found(session.screen, limits, options.limits)) co_return kFailed;
  if (options.json) {
    session.screen.document(chosen_document(limits, options.limits).dump());
  } else {
    const io::Wall now = time_of((*fleet)["time"]).value_or(session.loop.wall_now());
    const auto lines = budget_lines(limits, session.screen, now, options.limits, 0);
    for (const Line& line : lines) session.screen.line(line);
    if (lines.empty()) session.screen.note(kNoLimits);
  }
  co_return is_overshot(limits, options.limits) ? kOvershot : 0;
}

// Goes on showing what changes: live on a terminal, elsewhere the rows that are new.
class BudgetWatch {
 public:
  BudgetWatch(ViewSession& session, BudgetOptions options)
      : session_(session), options_(std::move(options)), fleet_(session) {}

  Task<int> main() {
    io::Scope scope(session_.loop);
    scope.spawn(fleet_.follow([this](const std::string& why) {
      if (!why.empty()) session_.screen.warning(why);
    }));
    scope.spawn(draw());
    co_await session_.interrupted.wait();
    session_.screen.freeze();
    co_return kInterrupted;
  }

 private:
  Task<void> draw() {
    while (true) {
      if (fleet_.model().known()) show();
      if (session_.screen.live() && !options_.json) {
        co_await heard_within(session_.loop, kRedrawEvery, fleet_.changed());
      } else {
        co_await fleet_.changed().wait();
      }
      co_await io::sleep_for(session_.loop, kBetweenFrames);
    }
  }

  void show() {
    const JsonView limits = fleet_.model()["limits"];
    if (options_.json) {
      std::string text = chosen_document(limits, options_.limits).dump();
      if (text != document_) session_.screen.document(text);
      document_ = std::move(text);
      return;
    }
    const ScreenSize size = session_.screen.size();
    const size_t width = size.width > 1 ? size.width - 1 : 1;
    if (!session_.screen.live())
      return print_news(budget_lines(limits, session_.screen, fleet_.told(), options_.limits, 0));
    std::vector<Line> lines = budget_lines(limits, session_.screen, fleet_.now(), options_.limits, width);
    if (lines.empty()) lines = {fit(kNoLimits, width)};
    if (lines.size() >= size.height) lines.resize(std::max<size_t>(size.height, 2) - 1);
    session_.screen.redraw(std::move(lines));
  }

  // The tables without the rows that were there the last time.
  void print_news(const std::vector<Line>& lines) {
    std::set<std::string> all;
    for (const Line& line : lines) {
      all.insert(line.text());
      if (!line.empty() && !shown_.contains(line.text())) session_.screen.line(line);
    }
    shown_ = std::move(all);
  }

  ViewSession& session_;
  BudgetOptions options_;
  FollowedFleet fleet_;
  std::string document_;
  std::set<std::string> shown_;
};

Task<int> watch_budget(ViewSession& session, BudgetOptions options) {
  BudgetWatch watch(session, std::move(options));
  co_return co_await watch.main();
}

}  // namespace

void add_budget_command(Commands& commands) {
  auto options = std::make_shared<BudgetOptions>();
  CLI::App& command = commands.add(
      "budget", "How many nodes may be out, who has them out, and who waits", CommandGroup::see, [options] {
        complete_view_options(options->view);
        return run_on_view(options->view, [&](ViewSession& session) {
          return options->watch ? watch_budget(session, *options) : show_budget(session, *options);
        });
      });
  command.footer(
      "One row for each group of nodes that a MaintenanceLimit bounds, whoever took them out; then the queue, in the "
      "order in "
      "which places are given. Exit code 3: more nodes are out than some limit allows; 1: there is no such limit, or "
      "nobody "
      "could be asked.\n"
      "\n"
      "Examples:\n"
      "  careen budget\n"
      "  careen budget workers --watch\n"
      "  careen budget -o json --server auto");
  command.add_option("LIMIT", options->limits, "Only these limits, or groups such as workers/eu-de-1a");
  command.add_flag("-w,--watch", options->watch, "Go on showing changes until interrupted");
  add_json_flag(command, options->json);
  add_view_flags(command, options->view);
  add_cluster_flags(command, options->view.cluster);
}

}  // namespace careen::app
