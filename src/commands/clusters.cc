#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command_set.h"
#include "cli/terminal_table.h"
#include "cli/why_tree.h"
#include "commands/command_list.h"
#include "commands/view_session.h"
#include "commands/view_source.h"
#include "commands/view_words.h"
#include "session/kube_session.h"

namespace careen::app {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

constexpr int kSomeFail = 3;
constexpr std::string_view kNoClusters =
    "No workload cluster is connected: that careen has no Machine in its care, or does not run the controller "
    "machines.";

struct ClustersOptions {
  ViewOptions view;
  std::vector<std::string> names;  // none: all
  bool json = false;
};

// By its name, with the namespace or without it.
bool is_named(const std::string& cluster, const std::vector<std::string>& names) {
  return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
           return cluster == name || cluster.substr(cluster.find('/') + 1) == name;
         });
}

std::vector<JsonView> chosen(JsonView clusters, const std::vector<std::string>& names) {
  std::vector<JsonView> found;
  clusters.for_each_element([&](JsonView cluster) {
    if (is_named(shown(cluster["name"]), names)) found.push_back(cluster);
  });
  return found;
}

bool all_named_found(Screen& screen, JsonView clusters, const std::vector<std::string>& names) {
  bool all = true;
  for (const std::string& name : names) {
    if (!chosen(clusters, {name}).empty()) continue;
    screen.error(fmt::format("no cluster \"{}\" is connected", name));
    all = false;
  }
  return all;
}

std::string count_in(JsonView machines, std::initializer_list<const char*> phases) {
  int64_t sum = 0;
  for (const char* phase : phases) sum += count_of(machines[phase]);
  return std::to_string(sum);
}

void print_table(Screen& screen, const std::vector<JsonView>& clusters, io::Wall now) {
  std::vector<Row> rows;
  for (const JsonView cluster : clusters) {
    const JsonView machines = cluster["machines"];
    const auto since = time_of(cluster["since"]);
    rows.push_back({shown(cluster["name"]), shown(cluster["phase"]), since ? age_text(now - *since) : "",
                    std::to_string(count_of(cluster["nodes"])), count_in(machines, {"Guarded"}),
                    count_in(machines, {"DeletionHeld", "DeletionReleased"}),
                    count_in(machines, {"MaintenanceRequested", "MaintenanceApproved", "Returning"}),
                    count_in(machines, {"Unmaintained", "Unseen", "NoNode"})});
  }
  const Row header{"CLUSTER", "STATE", "SINCE", "NODES", "GUARDED", "DELETING", "MAINTENANCE", "UNPROTECTED"};
  for (const std::string& line : table_lines(header, rows)) screen.line(line);
  for (const JsonView cluster : clusters) {
    if (!cluster["error"].exists()) continue;
    screen.line(verdict_mark(screen, "error") + " " +
                screen.paint(Colour::yellow, fmt::format("{}: {}", shown(cluster["name"]), shown(cluster["error"]))));
  }
}

void print_busy(Screen& screen, const std::vector<JsonView>& clusters, io::Wall now) {
  std::vector<Row> rows;
  for (const JsonView cluster : clusters) {
    cluster["busy"].for_each_element([&](JsonView machine) {
      const auto deleting = time_of(machine["deleting"]);
      rows.push_back({shown(machine["name"]), shown(cluster["name"]), shown(machine["phase"]), shown(machine["node"]),
                      deleting ? age_text(now - *deleting) : ""});
    });
  }
  if (rows.empty()) return;
  screen.line("");
  for (const std::string& line : table_lines({"MACHINE", "CLUSTER", "PHASE", "NODE", "DELETED"}, rows)) {
    screen.line(line);
  }
}

Task<int> show_clusters(ViewSession& session, ClustersOptions options) {
  const auto fleet = co_await session.source.get("fleet");
  if (!fleet) {
    session.screen.error(fleet.error().message);
    co_return kFailed;
  }
  const JsonView clusters = (*fleet)["clusters"];
  if (!clusters.exists()) {
    session.screen.error("that careen is older than this command, and knows nothing of clusters");
    co_return kFailed;
  }
  if (!all_named_found(session.screen, clusters, options.names)) co_return kFailed;
  const std::vector<JsonView> found = chosen(clusters, options.names);
  bool failing = false;
  for (const JsonView cluster : found) failing |= shown(cluster["phase"]) == "Failing";
  if (options.json) {
    Json document = Json::array();
    for (const JsonView cluster : found) document.push_back(Json(cluster));
    session.screen.document(document.dump());
  } else if (found.empty()) {
    session.screen.note(kNoClusters);
  } else {
    const io::Wall now = time_of((*fleet)["time"]).value_or(session.loop.wall_now());
    print_table(session.screen, found, now);
    print_busy(session.screen, found, now);
  }
  co_return failing ? kSomeFail : 0;
}

}  // namespace

void add_clusters_command(Commands& commands) {
  auto options = std::make_shared<ClustersOptions>();
  CLI::App& command = commands.add(
      "clusters", "The workload clusters of a management cluster, and their Machines that are waited for",
      CommandGroup::see, [options] {
        complete_view_options(options->view);
        return run_on_view(options->view, [options](ViewSession& session) { return show_clusters(session, *options); });
      });
  command.footer(
      "Asks the careen that runs the controller machines. UNPROTECTED are Machines in its care that have no hook: no\n"
      "profile looks after their Node, it is not there yet, or it cannot be seen. Exit code 3: a cluster cannot be\n"
      "asked; 1: there is no such cluster, or nobody could be asked.\n\n"
      "Examples:\n"
      "  careen clusters\n"
      "  careen clusters fleet/eu-1 -o json\n"
      "  careen explain machine/fleet/eu-1-md-0-x7k2p");
  command.add_option("CLUSTER", options->names, "NAMESPACE/NAME or NAME; all without one");
  command
      .add_option_function<std::string>(
          "-o,--output", [options](const std::string&) { options->json = true; }, "As a document")
      ->check(CLI::IsMember({"json"}));
  add_view_flags(command, options->view);
  add_cluster_flags(command, options->view.cluster);
}

}  // namespace careen::app
