#include "commands/run_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <map>
#include <memory>

#include "controllers/slot/kind.h"
#include "kube/label_selector.h"
#include "replica/controllers.h"

namespace careen::app {

namespace {

// The flags that are added while it lives stand together in the help, below that name.
class FlagGroup {
 public:
  FlagGroup(CLI::App& command, const std::string& name)
      : defaults_(*command.option_defaults()), usual_(defaults_.get_group()) {
    defaults_.group(name);
  }
  FlagGroup(const FlagGroup&) = delete;
  FlagGroup& operator=(const FlagGroup&) = delete;
  ~FlagGroup() { defaults_.group(usual_); }

 private:
  CLI::OptionDefaults& defaults_;
  std::string usual_;
};

// A flag of an original that careen cannot serve: setting it is refused with the reason.
void refuse(CLI::App& command, const std::string& flag, const std::string& reason) {
  command
      .add_option(
          flag,
          [reason](const CLI::results_t& values) {
            if (values.empty() || values[0].empty() || values[0] == "false" || values[0] == "0") return true;
            throw CLI::ValidationError(reason);
          },
          "refused: " + reason)
      ->expected(0, 1)
      ->group("Not available");
}

void add_duration(CLI::App& command, const std::string& flag, io::Duration& target, const std::string& help) {
  command.add_option_function<std::string>(
      flag,
      [&target](const std::string& text) {
        const auto value = io::parse_duration(text);
        if (!value) throw CLI::ValidationError("\"" + text + "\" is no duration such as 65s or 1m30s");
        target = *value;
      },
      help + " [" + io::format_duration(target) + "]");
}

// As kube-controller-manager has it, without the wildcard. The flags of all controllers are there, whichever are to
// run.
void add_controllers(CLI::App& command, RunOptions& options) {
  std::string known;
  for (const controllers::Kind* kind : replica::controller_kinds()) {
    known += (known.empty() ? "" : ", ") + std::string(kind->name);
    options.known_controllers.push_back(kind->with_flags(command));
  }
  options.controllers = {options.known_controllers.front()};
  command
      .add_option_function<std::vector<std::string>>(
          "--controllers",
          [&options, known](const std::vector<std::string>& names) {
            for (const std::string& name : names) {
              if (std::ranges::find(replica::controller_kinds(), name, &controllers::Kind::name) ==
                  replica::controller_kinds().end()) {
                throw CLI::ValidationError(fmt::format("unknown controller \"{}\"; there are {}", name, known));
              }
            }
            options.controllers = options.known_controllers;
            std::erase_if(options.controllers, [&](const auto& choice) {
              return std::ranges::find(names, choice->kind().name) == names.end();
            });
          },
          fmt::format("What to run, several with commas between: {} [{}]", known,
                      options.controllers.front()->kind().name))
      ->delimiter(',');
}

void add_hub_flags(CLI::App& command, RunOptions& options) {
  const FlagGroup group(command, "Machines of Cluster API");
  command.add_flag("--hub", options.hub,
                   "With the controller machines: look after the nodes of workload clusters, too, by the same "
                   "configuration of profiles, with their ledgers, limits and pauses in this cluster");
  command
      .add_option("--hub-selector", options.hub_selector,
                  "Labels of the Cluster objects whose workload clusters are looked after")
      ->check([](const std::string& text) {
        const auto selector = kube::LabelSelector::parse(text);
        return selector ? std::string() : selector.error().message;
      })
      ->capture_default_str();
}

void add_limit_flags(CLI::App& command, RunOptions& options) {
  command.add_option_function<std::vector<std::string>>(
      "--limit-count-taint",
      [&options](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
          auto taint = limits::parse_counted_taint(text);
          if (!taint) throw CLI::ValidationError("\"" + text + "\" is not KEY=ACTOR");
          options.counted_taints.push_back(std::move(*taint));
        }
      },
      "KEY=ACTOR, again for each: a node with that taint counts in MaintenanceLimits as worked on by that actor");
}

void add_webhook_flags(CLI::App& command, RunOptions& options) {
  const FlagGroup group(command, "Validating webhooks");
  WebhookOptions& webhook = options.webhook;
  command
      .add_option("--webhook-bind-address", webhook.address,
                  "Where to serve the validating webhook over TLS, such as :9443; empty or 0: nowhere")
      ->capture_default_str();
  command.add_option("--webhook-cert-dir", webhook.cert_dir,
                     "Directory with tls.crt and tls.key, read again when they change");
  command.add_flag("--webhook-self-signed", webhook.self_signed,
                   "Make the webhook's certificates, and put the CA into the webhook configuration");
  command.add_option("--webhook-service", webhook.service, "Self-signed: the Service the API server calls")
      ->capture_default_str();
  command
      .add_option("--webhook-configuration", webhook.configuration,
                  "Self-signed: the ValidatingWebhookConfiguration that gets the CA; empty: none")
      ->capture_default_str();
  command.add_option("--webhook-secret", webhook.secret, "Self-signed: the Secret that all replicas share")
      ->capture_default_str();
  command.add_option("--webhook-host", webhook.hosts,
                     "A name or address by which the API server reaches careen without the Service");
  command
      .add_option("--limit-webhook-configuration", webhook.limits,
                  "The ValidatingWebhookConfiguration that careen makes while a MaintenanceLimit has the mode Queue or "
                  "Enforce")
      ->capture_default_str();
  command.add_option("--break-glass-group", webhook.break_glass_group,
                     "A group whose members no MaintenanceLimit makes wait; each time is an event");
  command.add_flag(
      "--enable-http2", options.enable_http2,
      "Taken for the manifests of the program that careen replaces; careen's servers speak HTTP/1.1 in any "
      "case, as that one does without this flag");
}

void add_log_flags(CLI::App& command, ZapFlags& zap) {
  const FlagGroup group(command, "Log");
  command.add_flag("--zap-devel", zap.devel, "Development logging: console lines, debug level [true]");
  command.add_option("--zap-encoder", zap.encoder, "json or console")
      ->check(CLI::IsMember({"json", "console"}, CLI::ignore_case));
  command.add_option("--zap-log-level", zap.level, "debug, info, error, panic or a number above 0");
  command.add_option("--zap-time-encoding", zap.time, "epoch, millis, nanos, iso8601, rfc3339 or rfc3339nano")
      ->capture_default_str();
  command
      .add_option("--zap-stacktrace-level", zap.stacktrace,
                  "Taken for the manifests of the programs that careen replaces: debug, info, error or panic; careen "
                  "prints no stack traces at any level")
      ->check(CLI::IsMember({"debug", "info", "error", "panic"}, CLI::ignore_case));
  refuse(command, "--pprof-addr", "profiling of Go programs does not apply; use perf on the process");
}

// As in Go's flag package, of a flag that is given more than once the last one holds.
void let_the_last_hold(CLI::App& command) {
  for (CLI::Option* const option : command.get_options()) {
    if (option->get_items_expected_max() <= 1) option->take_last();
  }
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

void add_run_flags(CLI::App& command, RunOptions& options, ZapFlags& zap) {
  command.footer(
      "Example:\n  careen run --kubeconfig ~/.kube/config --config maintenance.yaml --enable-leader-election\n"
      "  careen run --controllers " +
      replica::say_of_controllers("{name}", ",") + " --enable-leader-election");
  command.add_option("--kubeconfig", options.kubeconfig, "Kubeconfig file");
  command.add_option("--kubecontext,--context", options.kubecontext, "Context of the kubeconfig to use");
  command.add_option(
      "--master", options.master,
      "Address of the API server instead of the one that the kubeconfig names; in a pod, without one, it "
      "changes nothing");
  command
      .add_option("--metrics-addr,--metrics-bind-address", options.metrics_address,
                  "Where to serve the dashboard, /metrics and /api/v1/info; empty or 0: nowhere")
      ->capture_default_str();
  command.add_flag("--metrics-secure", options.metrics_secure,
                   "Serve the metrics over TLS, to those whom the API server lets get them");
  command.add_option("--metrics-cert-dir", options.metrics_cert_dir,
                     "Secured metrics: directory with tls.crt and tls.key [a certificate of careen's own]");
  command
      .add_option_function<std::string>(
          "--dashboard-auth",
          [&options](const std::string& text) {
            const auto policy = web::parse_view_policy(text);
            if (!policy) throw CLI::ValidationError("\"" + text + "\" is none of loopback, token, none");
            options.dashboard_policy = *policy;
          },
          "Who may look at the dashboard's data: loopback (from this machine, from elsewhere with a bearer token that "
          "the API server allows it), token (always with one), none (everybody) [token in a pod, where a side-car may "
          "make everybody come from loopback; loopback elsewhere]")
      ->type_name("TEXT");
  command
      .add_option("--health-addr,--health-probe-bind-address", options.health_address,
                  "Where to serve /healthz and /readyz; empty or 0: nowhere")
      ->capture_default_str();
  command.add_flag("--enable-leader-election,--leader-elect,!--no-enable-leader-election", options.leader_election,
                   "Act only while holding the leader lock; needed for more than one replica");
  command.add_option("--leader-election-namespace", options.leader_election_namespace,
                     "Namespace of the locks and the ledger [the pod's, or the context's]");
  add_duration(command, "--metrics-timeout", options.metrics_timeout,
               "After the stop signal: longest wait for one more scrape, if metrics are being scraped");
  command.add_flag("--dry-run", options.dry_run, "Decide and explain; write nothing, send nothing, lead nobody");
  command.add_flag("--await-pauses,!--no-await-pauses", options.awaits_pauses,
                   "Decide nothing before it is known what is paused, for minutes if the Lease careen-pause may not be "
                   "read; --await-pauses=false: where it never may, a first refusal suffices [true]");
  add_controllers(command, options);
  add_limit_flags(command, options);
  add_hub_flags(command, options);
  add_webhook_flags(command, options);
  add_log_flags(command, zap);
  let_the_last_hold(command);
}

std::vector<std::string> without_effect(const ZapFlags& zap, const RunOptions& options) {
  std::vector<std::string> out;
  if (options.enable_http2) out.emplace_back("--enable-http2 changes nothing: careen's servers speak HTTP/1.1");
  if (!zap.stacktrace.empty()) {
    out.emplace_back("--zap-stacktrace-level changes nothing: careen prints no stack traces");
  }
  return out;
}

std::vector<std::string> go_syntax(std::vector<std::string> arguments) {
  std::vector<std::string> out;
  for (std::string& argument : arguments) {
    if (argument.size() > 2 && argument[0] == '-' && std::isalpha(static_cast<unsigned char>(argument[1]))) {
      argument.insert(argument.begin(), '-');
    }
    const bool empty = argument.starts_with("--") && argument.find('=') + 1 == argument.size();
    if (empty) argument.pop_back();
    out.push_back(std::move(argument));
    if (empty) out.emplace_back();
  }
  return out;
}

std::string apply(const ZapFlags& zap, io::LogOptions& log) {
  static const std::map<std::string, io::LogTime> kTimes = {
      {"epoch", io::LogTime::epoch},     {"millis", io::LogTime::millis},   {"nanos", io::LogTime::nanos},
      {"iso8601", io::LogTime::iso8601}, {"rfc3339", io::LogTime::rfc3339}, {"rfc3339nano", io::LogTime::rfc3339nano}};
  log.encoder = zap.devel ? io::LogEncoder::console : io::LogEncoder::json;
  log.level = zap.devel ? io::LogLevel::debug : io::LogLevel::info;
  if (lower(zap.encoder) == "json") log.encoder = io::LogEncoder::json;
  if (lower(zap.encoder) == "console") log.encoder = io::LogEncoder::console;
  const auto time = kTimes.find(lower(zap.time));
  if (time == kTimes.end()) return "--zap-time-encoding: unknown encoding \"" + zap.time + "\"";
  log.time = time->second;
  if (zap.level.empty()) return {};
  const std::string level = lower(zap.level);
  const bool number = level.find_first_not_of("0123456789") == std::string::npos && level != "0";
  if (level == "debug" || number) {
    log.level = io::LogLevel::debug;
  } else if (level == "info") {
    log.level = io::LogLevel::info;
  } else if (level == "error" || level == "panic") {
    log.level = io::LogLevel::error;
  } else {
    return "--zap-log-level: \"" + zap.level + "\" is none of debug, info, error, panic or a number above 0";
  }
  return {};
}

}  // namespace careen::app
