#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "cli/why_tree.h"
#include "commands/clusters_text.h"
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

bool all_named_found(Screen& screen, JsonView clusters, const std::vector<std::string>& names) {
  bool all = true;
  for (const std::string& name : names) {
    if (!cluster_rows(clusters, {}, {name}).empty()) continue;
    screen.error(fmt::format("no cluster \"{}\" is connected", name));
    all = false;
  }
  return all;
}

void print(Screen& screen, JsonView clusters, io::Wall now) {
  for (const std::string& line : table_lines(cluster_header(), cluster_rows(clusters, now))) screen.line(line);
  clusters.for_each_element([&](JsonView cluster) {
    if (!cluster["error"].exists()) return;
    screen.line(verdict_mark(screen, "error") + " " +
                screen.paint(Colour::yellow, fmt::format("{}: {}", shown(cluster["name"]), shown(cluster["error"]))));
  });
  const std::vector<Row> machines = machine_rows(clusters, now);
  if (machines.empty()) return;
  screen.line("");
  for (const std::string& line : table_lines(machine_header(), machines)) screen.line(line);
}

// Those in which there are Machines in careen's care, and those that it looks after as a hub without any.
Json all_clusters(JsonView fleet) {
  Json clusters(fleet["clusters"]);
  fleet["hub"].for_each_element([&](JsonView name) {
    bool known = false;
    fleet["clusters"].for_each_element([&](JsonView one) { known |= one["name"].text() == name.text(); });
    if (!known) clusters.push_back(Json::object({{"name", Json(name)}}));
  });
  return clusters;
}

Task<int> show_clusters(ViewSession& session, ClustersOptions options) {
  const auto fleet = co_await session.source.get("fleet");
  if (!fleet) {
    session.screen.error(fleet.error().message);
    co_return kFailed;
  }
  if (!(*fleet)["clusters"].exists()) {
    session.screen.error("that careen is older than this command, and knows nothing of clusters");
    co_return kFailed;
  }
  const Json clusters = all_clusters(fleet->view());
  if (!all_named_found(session.screen, clusters.view(), options.names)) co_return kFailed;
  bool failing = false;
  Json document = Json::array();
  clusters.view().for_each_element([&](JsonView cluster) {
    if (!is_chosen_cluster(cluster, options.names)) return;
    failing |= shown(cluster["phase"]) == "Failing";
    document.push_back(Json(cluster));
  });
  if (options.json) {
    session.screen.document(document.dump());
  } else if (document.view().size() == 0) {
    session.screen.note(kNoClusters);
  } else {
    print(session.screen, document.view(), time_of((*fleet)["time"]).value_or(session.loop.wall_now()));
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
      "profile looks after their Node, it is not there yet, or it cannot be seen. Of a cluster that is looked after\n"
      "from here (--hub), and has no Machines in careen's care, there is the name alone. Exit code 3: a cluster "
      "cannot\n"
      "be asked; 1: there is no such cluster, or nobody could be asked.\n\n"
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
