// How a command that works on a cluster joins the command line: its flags are read, checked against each other, and
// then it runs with a session.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cli/command_set.h"
#include "session/cluster_flags.h"
#include "session/kube_session.h"

namespace careen::app {

// What a command gets in addition to its own options, and where it runs.
template <class Options>
struct OnCluster {
  ClusterOptions cluster;
  Options options;
};

template <class Options>
using ClusterMain = io::Task<int> (*)(KubeSession&, Options);

template <class Options>
Commands::Run run_with(std::shared_ptr<OnCluster<Options>> given, std::string (*mistake)(const Options&),
                       ClusterMain<Options> main) {
  return [given, mistake, main] {
    if (const std::string text = mistake ? mistake(given->options) : ""; !text.empty()) throw UsageError(text);
    return run_on_cluster(given->cluster, [&](KubeSession& session) { return main(session, given->options); });
  };
}

// Registers a command that asks `mistake` about its options (why they do not fit together, or nothing) and then runs
// `main` on the cluster.
template <class Options>
std::pair<CLI::App&, OnCluster<Options>&> add_on_cluster(Commands& commands, const std::string& name,
                                                         const std::string& summary,
                                                         std::string (*mistake)(const Options&),
                                                         ClusterMain<Options> main) {
  auto given = std::make_shared<OnCluster<Options>>();
  CLI::App& command = commands.add(name, summary, CommandGroup::act, run_with(given, mistake, main));
  return {command, *given};
}

// The same below another command.
template <class Options>
std::pair<CLI::App&, OnCluster<Options>&> add_on_cluster_below(CLI::App& parent, Commands& commands,
                                                               const std::string& name, const std::string& summary,
                                                               std::string (*mistake)(const Options&),
                                                               ClusterMain<Options> main) {
  auto given = std::make_shared<OnCluster<Options>>();
  CLI::App& command = commands.add_below(parent, name, summary, run_with(given, mistake, main));
  return {command, *given};
}

}  // namespace careen::app
