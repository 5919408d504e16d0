#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/redraw.h"
#include "commands/fleet_text.h"
#include "commands/jobs.h"
#include "commands/node_commands.h"
#include "commands/status_overview.h"
#include "commands/status_rows.h"
#include "kube/cache.h"
#include "replica/controllers.h"
#include "session/kube_session.h"
#include "session/node_choice.h"

namespace careen::app {

using io::Task;

namespace {

constexpr io::Duration kBetweenUpdates = io::milliseconds{250};
constexpr std::string_view kNothing = "No node is in maintenance.";

void print(Screen& screen, const StatusOptions& options, const std::vector<StatusRow>& rows, io::Wall now) {
  if (options.format == StatusFormat::json) return screen.document(status_document(rows).dump());
  if (rows.empty()) return screen.note(kNothing);
  const bool wide = options.format == StatusFormat::wide;
  std::vector<Row> cells;
  for (const StatusRow& row : rows) cells.push_back(status_cells(row, now, wide));
  for (const std::string& line : table_lines(status_header(wide), cells)) screen.line(line);
}

void print_overview(KubeSession& session, const kube::Json& fleet) {
  if (!fleet.view().is_object()) return;
  FleetModel model;
  model.set(fleet.view());
  // The cluster's clock may be another than ours.
  const io::Wall now = io::parse_rfc3339(fleet["time"].text().value_or("")).value_or(session.now());
  for (const Line& line : overview_lines(model, session.screen, now)) session.screen.line(line);
  session.screen.line("");
}

// The table's, and beside it what is known of the fleet. Its nodes and its timeline have documents of their own, and
// objects of controllers are in the table.
kube::Json full_document(const std::vector<StatusRow>& rows, const kube::Json& fleet) {
  kube::Json document = status_document(rows);
  fleet.view().for_each_member([&](std::string_view key, kube::JsonView value) {
    if (key == "nodes" || key == "timeline" || key == "labels" || replica::find_section(key)) return;
    document.set({"fleet", key}, kube::Json(value));
  });
  return document;
}

Task<int> show_once(KubeSession& session, StatusOptions options) {
  const ChosenNodes chosen = co_await choose_nodes(session, {options.nodes, ""});
  for (const std::string& error : chosen.errors) session.screen.error(error);
  ListedJobs listed = co_await list_jobs(session);
  for (const kube::ApiError& error : listed.errors) session.screen.warning(server_error(error));
  std::vector<JobOfKind> shown = std::move(listed.jobs);
  if (!options.nodes.empty()) {
    const std::set<std::string> wanted(options.nodes.begin(), options.nodes.end());
    std::erase_if(shown, [&](const JobOfKind& one) { return !wanted.contains(one.job.node); });
  }
  if (chosen.nodes.empty() && shown.empty() && !chosen.errors.empty()) co_return kFailed;
  const std::vector<StatusRow> rows = status_rows(chosen.nodes, shown);
  // Of the whole cluster only when all of it is asked for.
  kube::Json fleet;
  if (options.nodes.empty()) fleet = co_await read_overview(session, options.view, chosen.nodes);
  if (options.format == StatusFormat::json) {
    session.screen.document(full_document(rows, fleet).dump());
  } else {
    print_overview(session, fleet);
    print(session.screen, options, rows, session.now());
  }
  co_return chosen.errors.empty() ? 0 : kFailed;
}

// The table, kept current: redrawn on a terminal, otherwise a line for each row that changes.
class StatusWatch {
 public:
  StatusWatch(KubeSession& session, StatusOptions options)
      : session_(session),
        options_(std::move(options)),
        nodes_(session.watch_parts(), chosen(options_), session.nodes),
        changed_(session.loop),
        known_(session.loop),
        scope_(session.loop) {
    changes_ = nodes_.store().subscribe([this](const kube::Node*, const kube::Node*) { changed_.notify(); });
    // A cluster that does not know a controller's kind is none of the user's problems here.
    session_.on_problem = [this](std::string_view key, std::string_view message) {
      known_.open();
      if (!JobWatch::is_about(key)) session_.screen.warning(message);
    };
  }
  ~StatusWatch() { session_.on_problem = nullptr; }

  Task<int> main() {
    session_.heeds_interrupt = true;
    jobs_.emplace(session_, changed_);
    nodes_.start();
    scope_.spawn(tell_known());
    co_await io::race(session_.loop, follow(), io::wait_for(session_.interrupted));
    session_.screen.freeze();
    co_return kInterrupted;
  }

 private:
  static kube::ReflectorOptions chosen(const StatusOptions& options) {
    if (options.nodes.size() != 1) return {.resource = kube::resources::nodes};
    return kube::ReflectorOptions::of_one(kube::resources::nodes, "", options.nodes.front());
  }

  Task<void> tell_known() {
    co_await jobs_->known();
    known_.open();
  }

  Task<void> follow() {
    co_await nodes_.synced_gate().wait();
    co_await known_.wait();
    while (true) {
      const auto rows = current();
      if (session_.screen.live() && options_.format != StatusFormat::json) {
        draw(rows);
        co_await heard_within(session_.loop, kRedrawEvery, changed_);
      } else {
        print_changes(rows);
        co_await changed_.wait();
      }
      co_await io::sleep_for(session_.loop, kBetweenUpdates);
    }
  }

  std::vector<StatusRow> current() const {
    const std::set<std::string> wanted(options_.nodes.begin(), options_.nodes.end());
    std::vector<kube::Node> nodes;
    nodes_.store().for_each([&](const kube::Node& node) {
      if (wanted.empty() || wanted.contains(node.name)) nodes.push_back(node);
    });
    std::vector<JobOfKind> jobs = jobs_->all();
    std::erase_if(jobs, [&](const JobOfKind& one) { return !wanted.empty() && !wanted.contains(one.job.node); });
    return status_rows(nodes, jobs);
  }

  void draw(const std::vector<StatusRow>& rows) {
    if (rows.empty()) return session_.screen.redraw({kNothing});
    const bool wide = options_.format == StatusFormat::wide;
    std::vector<Row> cells;
    for (const StatusRow& row : rows) cells.push_back(status_cells(row, session_.now(), wide));
    std::vector<std::string> lines = table_lines(status_header(wide), cells);
    const ScreenSize size = session_.screen.size();
    if (lines.size() >= size.height) {
      const size_t shown = std::max<size_t>(size.height, 3) - 2;
      const size_t hidden = lines.size() - shown;
      lines.resize(shown);
      lines.push_back(fmt::format("… and {} more", hidden));
    }
    std::vector<Line> fitting;
    for (const std::string& line : lines) fitting.emplace_back(fit(line, size.width - 1));
    session_.screen.redraw(std::move(fitting));
  }

  void print_changes(const std::vector<StatusRow>& rows) {
    if (options_.format == StatusFormat::json) {
      if (!std::exchange(begun_, true) || rows != shown_) session_.screen.document(status_document(rows).dump());
      shown_ = rows;
      return;
    }
    std::vector<StatusRow> news;
    for (const StatusRow& row : rows) {
      if (std::find(shown_.begin(), shown_.end(), row) == shown_.end()) news.push_back(row);
    }
    for (const StatusRow& old : shown_) {
      const bool there = std::any_of(rows.begin(), rows.end(),
                                     [&](const StatusRow& row) { return row.node == old.node && row.by == old.by; });
      if (!there) news.push_back({.node = old.node, .by = old.by, .state = "released"});
    }
    shown_ = rows;
    const bool wide = options_.format == StatusFormat::wide;
    std::vector<Row> cells;
    for (const StatusRow& row : news) cells.push_back(status_cells(row, session_.now(), wide));
    std::vector<std::string> lines = table_lines(status_header(wide), cells);
    if (std::exchange(begun_, true)) lines.erase(lines.begin());
    for (const std::string& line : lines) session_.screen.line(line);
  }

  KubeSession& session_;
  StatusOptions options_;
  kube::Watched<kube::Node> nodes_;
  std::vector<StatusRow> shown_;
  bool begun_ = false;
  io::Signal changed_;
  std::optional<JobWatch> jobs_;
  io::Gate known_;
  io::Subscription changes_;
  io::Scope scope_;
};

}  // namespace

Task<int> show_status(KubeSession& session, StatusOptions options) {
  if (!options.watch) co_return co_await show_once(session, std::move(options));
  StatusWatch watch(session, std::move(options));
  co_return co_await watch.main();
}

}  // namespace careen::app
