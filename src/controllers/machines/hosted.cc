#include "controllers/machines/hosted.h"

#include <CLI/CLI.hpp>

#include "controllers/machines/controller.h"
#include "controllers/machines/controller_options.h"
#include "controllers/machines/names.h"

namespace careen::machines {

namespace {

class ChoiceOfMachines final : public controllers::Choice {
 public:
  explicit ChoiceOfMachines(ControllerOptions options) : options_(options) {}
  ControllerOptions& options() { return options_; }
  const controllers::Kind& kind() const override { return machines::kind(); }
  std::unique_ptr<controllers::Controller> make(controllers::Host host) const override {
    return std::make_unique<Controller>(std::move(host), options_);
  }
  std::vector<web::Route> webhooks(const web::WebhookParts&) const override { return {}; }

 private:
  ControllerOptions options_;
};

std::shared_ptr<const controllers::Choice> with_flags(CLI::App& command) {
  auto choice = std::make_shared<ChoiceOfMachines>(ControllerOptions{});
  RelayOptions& relay = choice->options().relay;
  const std::string usual = command.option_defaults()->get_group();
  command.option_defaults()->group("Machines of Cluster API");
  command.add_flag("--enable-metal3-maintenance", relay.metal3,
                   "Power off the BareMetalHost of a Machine while its maintenance is approved");
  command.add_flag("--hook-without-maintenance-state", relay.hook_without_state,
                   "Hold the deletion of an enabled Machine also while no profile looks after its Node");
  command.add_flag("--clear-approvals", relay.clear_approvals,
                   "Take approvals off a Node when nobody asks for them any more, so that the next request is not "
                   "approved by the last one");
  command.add_flag("--skip-remediation,!--no-skip-remediation", relay.skip_remediation,
                   "Keep MachineHealthChecks away from a Machine in maintenance, until it is back [true]");
  command.add_flag("--upgrade-windows", choice->options().upgrade_windows,
                   "Let Cluster API begin the upgrade of a cluster only in the window that the annotation "
                   "careen.dev/upgrade-window of its Cluster names");
  command.add_flag("--pause-node-health-checks", choice->options().pause_health_checks,
                   "Hold the NodeHealthChecks of workload clusters back while a Machine is in maintenance, until it is "
                   "back");
  command.option_defaults()->group(usual);
  return choice;
}

}  // namespace

std::shared_ptr<const controllers::Choice> with_options(ControllerOptions options) {
  return std::make_shared<ChoiceOfMachines>(options);
}

const controllers::Kind& kind() {
  static const controllers::Kind the_kind{
      .name = "machines",
      .short_name = "ma",
      .lock = kLock,
      .event_source = kEventSource,
      .section = "clusters",
      .nodes = false,
      .explained = "machines",
      // It cannot be had without.
      .original = {.usual_flags = {"--enable-leader-election"}},
      .usual = [] { return with_options({}); },
      .with_flags = with_flags,
  };
  return the_kind;
}

}  // namespace careen::machines
