// The command line: which command with which options. Each command lives in a file of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/log.h"
#include "io/time.h"
#include "limits/facts.h"
#include "web/view_policy.h"

namespace careen::controllers {
class Choice;
}

namespace careen::app {

// Exit codes: 0 done, 1 failed, 2 wrong usage.
int run_command_line(const std::vector<std::string>& arguments);

struct WebhookOptions {
  std::string address;   // empty or 0: none
  std::string cert_dir;  // empty: where the originals' manifests mount them
  bool self_signed = false;
  std::string service = "careen-webhook";
  std::string configuration = "careen";
  std::string secret = "careen-webhook-tls";
  std::vector<std::string> hosts;        // under which the API server reaches us besides
  std::string limits = "careen-limits";  // the configuration that careen writes for limits
  std::string break_glass_group;

  bool wanted() const { return !address.empty() && address != "0"; }
};

struct RunOptions {
  std::vector<std::shared_ptr<const controllers::Choice>> known_controllers;
  std::vector<std::shared_ptr<const controllers::Choice>> controllers;  // of these, those that are to run
  std::string kubeconfig;
  std::string kubecontext;
  std::string master;  // the API server, instead of the one that the kubeconfig names
  std::string metrics_address = ":8080";
  std::string health_address = ":8081";
  bool leader_election = false;
  bool hub = false;
  std::string hub_selector = "careen.dev/hub=true";
  std::string leader_election_namespace;
  io::Duration metrics_timeout = io::seconds{65};
  bool dry_run = false;
  bool awaits_pauses = true;
  bool metrics_secure = false;
  std::string metrics_cert_dir;
  std::optional<web::ViewPolicy> dashboard_policy;  // not given: depends on where careen runs
  bool enable_http2 = false;                        // wanted, but nothing that careen's servers speak
  WebhookOptions webhook;
  std::vector<limits::CountedTaint> counted_taints;
  io::LogOptions log;
  // What was asked for and cannot be had; told once at the start.
  std::vector<std::string> remarks;
};

struct ValidateOptions {
  std::vector<std::string> files;
  bool strict = false;  // warnings count as errors
  bool json = false;
};

struct ModelOptions {
  int nodes = 60;
  std::string listen = "127.0.0.1:0";
  std::string kubeconfig;  // written when set
  uint64_t seed = 1;       // of UIDs and generated names
  bool controllers = true;
  int workloads = 0;  // Deployments to start with, and what comes with them
};

// Controls the cluster until stopped by a signal.
int run(const RunOptions& options);
// Checks configuration files and prints all that is wrong with them.
int validate(const ValidateOptions& options);
// Prints what plugins there are, or all about the one that is named.
int print_plugins(const std::string& type, bool json);
// Prints the JSON Schema of the configuration file.
int print_schema();
// A model cluster on a port, in real time, until stopped by a signal.
int serve_model_cluster(const ModelOptions& options);
int print_version(bool json);

}  // namespace careen::app
