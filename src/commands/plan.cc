#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "cli/environment.h"
#include "commands/command_list.h"
#include "commands/plan_files.h"
#include "commands/plan_progress.h"
#include "commands/plan_report.h"
#include "io/real_loop.h"
#include "plan/plan_forms.h"
#include "plan/planner.h"
#include "plan/take_snapshot.h"
#include "session/cluster_flags.h"
#include "session/kube_session.h"

namespace careen::app {

using io::Task;

namespace {

struct PlanOptions {
  ClusterOptions cluster;
  std::string snapshot;
  std::string config;
  std::vector<std::string> compare;
  std::string format = "table";
  bool all = false;
  io::Duration span = io::hours{24 * 14};
  plan::Assumptions assumptions;
};

// A configuration file to plan with; an empty text is that of the snapshot.
struct Candidate {
  std::string name;
  std::string text;
};

io::Result<std::vector<Candidate>> candidates(const PlanOptions& options) {
  std::vector<std::string> files = options.compare;
  if (files.empty() && !options.config.empty()) files.push_back(options.config);
  std::vector<Candidate> out;
  for (const std::string& file : files) {
    auto text = read_whole(file);
    if (!text) return tl::make_unexpected(text.error());
    if (text->empty()) return io::fail(io::ErrorKind::invalid, file + ": is empty");
    out.push_back({file, std::move(*text)});
  }
  if (out.empty()) out.push_back({"the snapshot's configuration", ""});
  return out;
}

io::Result<plan::Plan> make(io::Loop& loop, const plan::Snapshot& snapshot, const Candidate& candidate,
                            const PlanOptions& options) {
  plan::PlannerOptions planner_options;
  planner_options.span = options.span;
  planner_options.assumptions = options.assumptions;
  planner_options.config_name = candidate.name;
  planner_options.environment = read_environment;
  auto planner = plan::Planner::make(snapshot, candidate.text, std::move(planner_options));
  if (!planner) return tl::make_unexpected(planner.error());
  PlanProgress progress(loop, ::isatty(STDERR_FILENO) == 1);
  while (!(*planner)->advance([&] { return progress.is_due(); })) progress.show((*planner)->progress());
  return (*planner)->plan();
}

void print(Screen& screen, const PlanOptions& options, const std::vector<NamedPlan>& plans) {
  const PlanReportOptions report{::isatty(STDOUT_FILENO) == 1 ? screen.size().width : 80, options.all};
  if (options.format == "json") {
    if (plans.size() == 1) return screen.document(plan::plan_document(plans[0].plan));
    return screen.document(
        fmt::format(R"({{"a":{},"b":{}}})", plan::plan_document(plans[0].plan), plan::plan_document(plans[1].plan)));
  }
  if (options.format != "table") {
    return screen.document(options.format == "ical" ? plan::plan_calendar(plans[0].plan)
                                                    : plan::plan_page(plans[0].plan));
  }
  const auto lines =
      plans.size() == 1 ? plan_lines(plans[0].plan, report) : comparison_lines(plans[0], plans[1], report);
  for (const std::string& line : lines) screen.line(line);
}

int plan_with(io::Loop& loop, Screen& screen, const plan::Snapshot& snapshot,
              const std::vector<Candidate>& configurations, const PlanOptions& options) {
  std::vector<NamedPlan> plans;
  for (const Candidate& candidate : configurations) {
    auto made = make(loop, snapshot, candidate, options);
    if (!made) {
      screen.error(made.error().message);
      return kFailed;
    }
    plans.push_back({candidate.name, std::move(*made)});
  }
  print(screen, options, plans);
  return 0;
}

Task<int> plan_live(KubeSession& session, const PlanOptions* options, const std::vector<Candidate>* configurations) {
  plan::SnapshotScope scope;
  if (session.management) scope.limits = &session.management->client;
  auto snapshot = co_await plan::take_snapshot(session.client, std::move(scope));
  if (!snapshot) {
    session.screen.error(server_error(snapshot.error()));
    co_return kFailed;
  }
  co_return plan_with(session.loop, session.screen, *snapshot, *configurations, *options);
}

int run_plan(const PlanOptions& options) {
  if (!options.compare.empty() && !options.config.empty()) {
    throw UsageError("--compare names the two configurations itself: leave --config out");
  }
  if (!options.compare.empty() && (options.format == "ical" || options.format == "html")) {
    throw UsageError("--compare is shown as a table or as JSON");
  }
  if (options.snapshot.empty() && options.config.empty() && options.compare.empty()) {
    throw UsageError("which configuration? Give --config FILE, or --snapshot FILE with one that holds it");
  }
  if (!options.snapshot.empty() && !options.cluster.workload.empty()) {
    throw UsageError("--snapshot is a cluster, and --cluster names one: give one of them");
  }
  const auto configurations = candidates(options);
  Screen screen(process_screen());
  if (!configurations) {
    screen.error(configurations.error().message);
    return kFailed;
  }
  if (options.snapshot.empty()) {
    return run_on_cluster(options.cluster,
                          [&](KubeSession& session) { return plan_live(session, &options, &*configurations); });
  }
  const auto snapshot = read_snapshot(options.snapshot);
  if (!snapshot) {
    screen.error(snapshot.error().message);
    return kFailed;
  }
  io::RealLoop loop;
  return plan_with(loop, screen, *snapshot, *configurations, options);
}

// Throws what is wrong with a flag's value.
template <class T>
T or_throw(io::Result<T> result) {
  if (!result) throw CLI::ValidationError(result.error().message);
  return std::move(*result);
}

void add_assumption_flags(CLI::App& command, plan::Assumptions& assumptions) {
  add_duration_flag(command, "--maintenance", "How long maintenance of a node takes [what was learned, or 20m]",
                    [&](io::Duration value) { assumptions.maintenance = value; });
  command
      .add_option_function<std::string>(
          "--approvals",
          [&](const std::string& text) { assumptions.approvals = or_throw(plan::parse_approvals(text)); },
          "What waits for somebody's approval: given, after=30m or none [given]")
      ->type_name("WHEN");
  add_duration_flag(command, "--pod-termination", "How long pods take to end, at most [30s]",
                    [&](io::Duration value) { assumptions.pod_termination = value; });
  add_duration_flag(command, "--pod-start", "How long new pods take until they are ready [20s]",
                    [&](io::Duration value) { assumptions.pod_start = value; });
  command
      .add_option(
          "--assume",
          [&](const CLI::results_t& values) {
            for (const std::string& text : values) or_throw(plan::add_assumption(assumptions, text));
            return true;
          },
          "PROFILE[/NODE]:maintenance=45m, PROFILE[/NODE]:approvals=none, or 'check NAME=false'; any number of times")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("ASSUMPTION");
}

}  // namespace

void add_plan_command(Commands& commands) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App& command = commands.add("plan", "When which node is maintained, what limits the pace, and when all is done",
                                   CommandGroup::see, [options] { return run_plan(*options); });
  command.footer(
      "careen itself runs on a model of the cluster, in a time of its own: nothing in the cluster is changed.\n\n" +
      fmt::format("Examples:\n"
                  "  {0} plan --config maintenance.yaml\n"
                  "  {0} plan --snapshot cluster.json.gz --config changed.yaml --for 30d\n"
                  "  {0} plan --config maintenance.yaml --approvals after=4h -o html > plan.html\n"
                  "  {0} plan --compare maintenance.yaml changed.yaml\n"
                  "  {0} plan --config maintenance.yaml --cluster fleet/eu-1",
                  commands.called()));
  command
      .add_option("--snapshot", options->snapshot, "Plan with this file of careen snapshot, not with the live cluster")
      ->type_name("FILE");
  command.add_option("--config", options->config, "Configuration file [that of the snapshot]")->type_name("FILE");
  command.add_option("--compare", options->compare, "Two configuration files to plan with, side by side")
      ->expected(2)
      ->type_name("A B");
  command
      .add_option_function<std::string>(
          "--for", [options](const std::string& text) { options->span = or_throw(parse_span(text)); },
          "How far to look ahead [14d]")
      ->type_name("SPAN");
  command.add_option("-o,--output", options->format, "table, json, ical or html")
      ->check(CLI::IsMember({"table", "json", "ical", "html"}))
      ->capture_default_str();
  command.add_flag("--all", options->all, "All rows of the table, not the first 50");
  add_assumption_flags(command, options->assumptions);
  add_cluster_flags(command, options->cluster);
  add_workload_flag(command, options->cluster);
}

}  // namespace careen::app
