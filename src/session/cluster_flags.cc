#include "session/cluster_flags.h"

#include <CLI/CLI.hpp>

namespace careen::app {

void add_cluster_flags(CLI::App& command, ClusterOptions& cluster) {
  command.add_option("--kubeconfig", cluster.kubeconfig, "Kubeconfig file [KUBECONFIG, ~/.kube/config]")
      ->type_name("FILE");
  command.add_option("--context", cluster.context, "Context of the kubeconfig to use")->type_name("CONTEXT");
}

void add_workload_flag(CLI::App& command, ClusterOptions& cluster) {
  command
      .add_option("--cluster", cluster.workload,
                  "The workload cluster that is meant, of those that a careen in this management cluster looks after")
      ->check([](const std::string& text) {
        const size_t slash = text.find('/');
        const bool named = slash != 0 && slash < text.size() - 1 && text.find('/', slash + 1) == std::string::npos;
        return named ? std::string() : "\"" + text + "\" is not NAMESPACE/NAME";
      })
      ->type_name("NAMESPACE/NAME");
}

void add_json_flag(CLI::App& command, bool& json) {
  command.add_option_function<std::string>(
             "-o,--output", [&json](const std::string&) { json = true; }, "json")
      ->check(CLI::IsMember({"json"}));
}

void add_duration_flag(CLI::App& command, const std::string& flag, const std::string& help,
                       std::function<void(io::Duration)> take) {
  command
      .add_option_function<std::string>(
          flag,
          [take](const std::string& text) {
            const auto value = io::parse_duration(text);
            if (!value || *value < io::Duration{0}) {
              throw CLI::ValidationError("\"" + text + "\" is no duration such as 30s or 1m30s");
            }
            take(*value);
          },
          help)
      ->type_name("DURATION");
}

void add_wait_timeout(CLI::App& command, io::Duration& timeout) {
  add_duration_flag(command, "--timeout", "How long --wait waits at most; 0: no limit [0s]",
                    [&timeout](io::Duration value) { timeout = value; });
}

}  // namespace careen::app
