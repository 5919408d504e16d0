#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "cli/environment.h"
#include "commands/command_list.h"
#include "commands/plan_files.h"
#include "controllers/slot/kind.h"
#include "io/printable.h"
#include "plan/config_assumptions.h"
#include "plan/take_snapshot.h"
#include "replica/controllers.h"
#include "session/cluster_flags.h"
#include "session/kube_session.h"
#include "version_info.h"

namespace careen::app {

using io::Task;

namespace {

struct SnapshotOptions {
  ClusterOptions cluster;
  std::string output;
  std::string config;
};

Task<int> snapshot(KubeSession& session, SnapshotOptions options) {
  std::string config;
  if (!options.config.empty()) {
    const auto text = read_whole(options.config);
    if (!text) {
      session.screen.error(text.error().message);
      co_return kFailed;
    }
    auto shareable = plan::without_secrets(*text, options.config, read_environment);
    if (!shareable) {
      session.screen.error(shareable.error().message);
      co_return kFailed;
    }
    config = std::move(*shareable);
  }
  plan::SnapshotScope scope;
  scope.careen = CAREEN_VERSION;
  if (session.management) scope.limits = &session.management->client;
  auto taken = co_await plan::take_snapshot(session.client, std::move(scope));
  if (!taken) {
    session.screen.error(server_error(taken.error()));
    co_return kFailed;
  }
  taken->config = std::move(config);
  for (const std::string& missing : taken->missing) session.screen.warning("left out: " + missing);
  std::string text = plan::snapshot_text(*taken);
  if (options.output == "-") text = io::escaped_document(text);
  const auto written = write_whole(options.output, plan::pack_for(options.output, text));
  if (!written) {
    session.screen.error(written.error().message);
    co_return kFailed;
  }
  if (options.output == "-") co_return 0;
  std::string objects;
  for (const controllers::Kind* kind : replica::object_kinds()) {
    objects += fmt::format(", {} {}s", taken->of(plan::kind_of(*kind)).size(), kind->object.kind);
  }
  session.screen.note(fmt::format("{}: {} nodes, {} pods, {} budgets{}{}", options.output,
                                  taken->of(plan::Kind::nodes).size(), taken->of(plan::Kind::pods).size(),
                                  taken->of(plan::Kind::budgets).size(), objects,
                                  taken->config.empty() ? "" : ", the configuration without its secrets"));
  co_return 0;
}

}  // namespace

void add_snapshot_command(Commands& commands) {
  auto options = std::make_shared<SnapshotOptions>();
  CLI::App& command =
      commands.add("snapshot", "Write down what a plan needs to know of the cluster", CommandGroup::see, [options] {
        return run_on_cluster(options->cluster,
                              [options](KubeSession& session) { return snapshot(session, *options); });
      });
  command.footer(
      "Nothing secret gets in: no Secrets and ConfigMaps, of pods no environment, no commands and no annotations but "
      "those that concern a drain.\n\n" +
      fmt::format("Examples:\n"
                  "  {0} snapshot -o cluster.json.gz\n"
                  "  {0} snapshot -o cluster.json --config maintenance.yaml",
                  commands.called()));
  command
      .add_option("-o,--output", options->output, "The file to write, packed if its name ends with .gz; - is stdout")
      ->required()
      ->type_name("FILE");
  command.add_option("--config", options->config, "Configuration file to put in, without its secrets")
      ->type_name("FILE");
  add_cluster_flags(command, options->cluster);
  add_workload_flag(command, options->cluster);
}

}  // namespace careen::app
