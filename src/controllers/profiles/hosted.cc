#include "controllers/profiles/hosted.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <utility>

#include "controllers/profiles/config.h"
#include "controllers/profiles/config_source.h"
#include "controllers/profiles/controller.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/limits.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/pod_events.h"
#include "controllers/profiles/shuffles.h"
#include "controllers/slot/host.h"
#include "drain/engine.h"
#include "drain/pod_request.h"
#include "kube/events.h"
#include "kube/watched.h"
#include "kube/workload.h"
#include "notify/sender.h"
#include "notify/slack_threads.h"

namespace careen::profiles {

namespace {

using controllers::Entry;
using io::Task;

// Views show the nodes of profiles themselves, with more than other controllers have to say.
class PictureOfProfiles final : public controllers::Picture {
 public:
  explicit PictureOfProfiles(const Controller& controller) : controller_(controller) {}
  std::vector<budget::Claim> claims() const override { return controller_.claims(controller_.limits()); }

 private:
  const Controller& controller_;
};

class Hosted final : public controllers::Controller {
 public:
  Hosted(controllers::Host host, HostedOptions options)
      : host_(std::move(host)),
        options_(with_dry_run(std::move(options), host_.dry_run)),
        hypervisors_(host_.watches.objects({.resource = kHypervisorResource})),
        slack_threads_(host_.loop),
        outside_{host_.loop, *host_.beyond.http, *host_.beyond.mail, host_.client, slack_threads_},
        controller_({host_.loop, host_.client, host_.atoms, host_.decoder, host_.nodes, host_.pods, host_.leases,
                     hypervisors_->store(), host_.ledger, outside_, host_.events, host_.metrics, host_.problems,
                     host_.random, host_.log, &host_.engine, &host_.pauses, host_.node_lanes, host_.limits},
                    options_.controller),
        shuffles_({host_.loop, host_.metrics, host_.problems, host_.nodes, host_.pods, host_.workloads,
                   [this] { return knows_workloads(); }, [this](const kube::Node& node) { return processed(node); }}),
        config_(
            host_.loop, *host_.beyond.files, options_.config, host_.beyond.environment, host_.metrics, host_.problems,
            host_.beyond.log.named("config"),
            [this](std::shared_ptr<const Config> config) { take_config(std::move(config)); }, options_.strict_config,
            options_.adjust_config) {
    if (!options_.slack_api.empty()) outside_.slack_api = options_.slack_api;
    hypervisors_->on_synced([this] { controller_.hypervisors_known(); });
    controller_.on_maintenance = [this](const kube::Node& node, const std::string& profile) {
      shuffles_.entered_maintenance(node.name, profile);
    };
    controller_.on_moved = [this](const std::string& node, const Moved& moved) { tell_moved(node, moved); };
    controller_.on_message_sent = [this](const std::string& node, const std::string& instance) {
      tell({.kind = Entry::Kind::notification,
            .text = fmt::format("{}: notification {} was sent", node, instance),
            .node = node});
    };
    host_.engine.on_request = [this](const drain::PodRequest& request) {
      if (!is_of_profile(request)) return false;
      if (options_.controller.pod_events) {
        host_.events.record(pod_event(request, host_.nodes.find(request.node)));
      }
      return true;
    };
  }

  // The configuration says what else.
  void watch() override {
    if (options_.cache_pods) {
      watch_pods();
      for (const kube::WorkloadKind kind : kube::kWorkloadKinds) host_.watches.workloads(kind);
    }
    config_.start();
  }

  Task<void> synced() override { co_return; }

  Task<void> lead() override {
    if (options_.cache_pods) shuffles_.begin();
    co_await controller_.run();
  }

  // What is being sent to pods ends first: profiles may be what it is sent for.
  Task<void> stop() override {
    co_await host_.engine.stop();
    co_await controller_.stop();
  }

  bool running() const override { return controller_.running(); }
  void clock_stepped(io::Duration) override { controller_.clock_stepped(); }

  std::unique_ptr<controllers::Picture> picture() const override {
    return std::make_unique<PictureOfProfiles>(controller_);
  }
  std::optional<std::string> node_of(std::string_view) const override { return std::nullopt; }
  // The timeline knows those of profiles, because other programs and careen before this start have written them too.
  std::optional<Entry> entry_of(const kube::EventRecord&, io::Wall) override { return std::nullopt; }
  void on_change(std::function<void()>) override {}

  const profiles::Controller& controller() const { return controller_; }

 private:
  static HostedOptions with_dry_run(HostedOptions options, bool dry_run) {
    options.controller.dry_run |= dry_run;
    return options;
  }

  // Starts to watch what the configuration needs; watches that are no longer needed run until the process ends.
  void take_config(std::shared_ptr<const Config> config) {
    const Needs& needs = config->needs;
    for (const std::string& ns : needs.lease_namespaces) watch_leases(ns);
    if (needs.hypervisors) hypervisors_->start();
    if (needs.pods) watch_pods();
    if (needs.budgets) host_.watches.disruption_budgets();
    host_.watches.node_sections("profiles", needs.node_sections, {});
    controller_.set_config(std::move(config));
    shuffles_.profiles_changed();
    host_.configured();
  }

  void watch_leases(const std::string& ns) {
    if (!lease_namespaces_.insert(ns).second) return;
    host_.watches.leases(ns, [this, ns] { controller_.leases_known(ns); });
  }
  void watch_pods() {
    if (!std::exchange(watches_pods_, true)) host_.watches.pods([this] { controller_.pods_known(); });
  }

  bool knows_workloads() const {
    return std::ranges::all_of(kube::kWorkloadKinds,
                               [this](kube::WorkloadKind kind) { return host_.watches.knows(kind); });
  }

  std::vector<std::string> processed(const kube::Node& node) const {
    const kube::Atom* label = node.label(kProfileLabel);
    auto names = profiles_of(label ? std::optional(label->view()) : std::nullopt);
    const Config* config = controller_.config();
    std::erase_if(names, [&](const std::string& name) { return !config || !config->find_profile(name); });
    return names;
  }

  void tell_moved(const std::string& node, const Moved& moved) {
    Entry entry{.kind = Entry::Kind::transition, .text = {}, .node = node, .profile = moved.profile};
    entry.from = name_of(moved.from);
    entry.to = name_of(moved.to);
    entry.text = fmt::format("{}: {} → {} ({})", node, entry.from, entry.to, moved.profile);
    tell(std::move(entry));
  }
  void tell(Entry entry) {
    entry.time = host_.loop.wall_now();
    host_.tell(entry);
  }

  controllers::Host host_;
  HostedOptions options_;
  std::unique_ptr<kube::Watched<kube::Object>> hypervisors_;
  notify::SlackThreads slack_threads_;
  notify::Outside outside_;
  profiles::Controller controller_;
  Shuffles shuffles_;
  ConfigSource config_;
  std::set<std::string> lease_namespaces_;
  bool watches_pods_ = false;
};

struct ChoiceOfProfiles final : controllers::Choice {
  explicit ChoiceOfProfiles(HostedOptions wanted) : options(std::move(wanted)) {}
  const controllers::Kind& kind() const override { return profiles::kind(); }
  std::unique_ptr<controllers::Controller> make(controllers::Host host) const override {
    return std::make_unique<Hosted>(std::move(host), options);
  }
  // The API server asks them nothing.
  std::vector<web::Route> webhooks(const web::WebhookParts&) const override { return {}; }

  HostedOptions options;
};

// A switch of the original that careen cannot serve: setting it is refused with the reason. Without a value it is on,
// as Go has it.
void refuse_switch(CLI::App& command, const std::string& flag, const std::string& reason) {
  command
      .add_flag_function(
          flag,
          [reason](int64_t on) {
            if (on > 0) throw CLI::ValidationError(reason);
          },
          "refused: " + reason)
      ->group("Not available");
}

void add_flags(CLI::App& command, HostedOptions& options) {
  const std::string usual = command.option_defaults()->get_group();
  command.option_defaults()->group("Profiles");
  command.add_option("--config", options.config, "Configuration of the maintenance profiles; reloaded when it changes")
      ->capture_default_str();
  command.add_flag("--strict-config", options.strict_config,
                   "Refuse a configuration that has warnings, such as keys that are not known");
  command.add_flag("--cache-pods,!--no-cache-pods", options.cache_pods,
                   "Keep a cache of all pods, for the pod shuffle metrics, although no check needs it [true]");
  command.add_flag("--notify-blocking", options.controller.notify_blocking,
                   "A state's notifications must be sent before its checks are looked at");
  command.add_flag("--pod-events,!--no-pod-events", options.controller.pod_events,
                   "Write the events Evicting and ForceDeleting about the pods that a profile drains [true]");
  command.add_option("--slack-api", options.slack_api, "Where slackThread posts to [https://slack.com/api]");
  refuse_switch(command, "--enable-esx-maintenance", "the ESX integration is not available in this version");
  refuse_switch(command, "--enable-kubernikus-maintenance",
                "the Kubernikus integration is not available in this version");
  command.option_defaults()->group(usual);
}

std::shared_ptr<const controllers::Choice> with_flags(CLI::App& command) {
  auto choice = std::make_shared<ChoiceOfProfiles>(HostedOptions{});
  add_flags(command, choice->options);
  return choice;
}

}  // namespace

std::shared_ptr<const controllers::Choice> with_options(HostedOptions options) {
  return std::make_shared<ChoiceOfProfiles>(std::move(options));
}

const HostedOptions* options_in(const std::vector<std::shared_ptr<const controllers::Choice>>& choices) {
  for (const auto& choice : choices) {
    if (&choice->kind() == &kind()) return &static_cast<const ChoiceOfProfiles&>(*choice).options;
  }
  return nullptr;
}

const Controller* controller_in(const std::vector<controllers::HostedController>& hosted) {
  for (const controllers::HostedController& one : hosted) {
    if (&one.kind == &kind()) return &static_cast<const Hosted&>(one.controller).controller();
  }
  return nullptr;
}

const controllers::Kind& kind() {
  static const controllers::Kind the_kind{
      .name = "profiles",
      .lock = kLock,
      .event_source = kEventSource,
      .claims = true,
      .owner_prefix = "profile/",
      .marked_pods = prefers_operational,
      .usual = [] { return with_options({}); },
      .with_flags = with_flags,
  };
  return the_kind;
}

}  // namespace careen::profiles
