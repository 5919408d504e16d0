#include "controllers/nodemaintenance/hosted.h"

#include <fmt/format.h>

#include <utility>

#include "controllers/nodemaintenance/controller.h"
#include "controllers/nodemaintenance/flags.h"
#include "controllers/nodemaintenance/maintenance.h"
#include "controllers/nodemaintenance/names.h"
#include "controllers/nodemaintenance/picture.h"
#include "controllers/nodemaintenance/webhooks.h"
#include "controllers/slot/controller.h"
#include "controllers/slot/definition.h"
#include "controllers/slot/host.h"
#include "drain/engine.h"
#include "kube/cache.h"
#include "kube/objects.h"
#include "kube/watched.h"

namespace careen::nodemaintenance {

namespace {

using io::Task;

class Hosted final : public controllers::Controller {
 public:
  Hosted(controllers::Host host, ControllerOptions options)
      : log_(host.log),
        nodes_(host.nodes),
        watches_(host.watches),
        lease_namespace_(options.lease_namespace),
        watched_(watches_.objects({.resource = kResource})),
        controller_(host, watched_->store(), with_dry_run(std::move(options), host.dry_run)) {}

  void watch() override {
    watches_.pods([this] { controller_.pods_known(); });
    watches_.disruption_budgets();
    watches_.leases(lease_namespace_, [this] { controller_.leases_known(); });
    watches_.workloads(kube::WorkloadKind::daemon_set);
    watched_->start();
  }

  Task<void> synced() override {
    co_await watched_->synced_gate().wait();
    log_.info("node maintenances are known", "count", watched_->store().size());
  }

  Task<void> lead() override {
    co_await watched_->refresh();
    running_ = true;
    co_await controller_.run();
  }

  Task<void> stop() override { co_await controller_.stop(); }
  bool running() const override { return running_; }
  void clock_stepped(io::Duration by) override { controller_.clock_stepped(by); }

  std::unique_ptr<controllers::Picture> picture() const override { return picture_of(watched_->store(), nodes_); }

  std::optional<std::string> node_of(std::string_view object) const override {
    const kube::Object* found = watched_->store().find(object);
    if (!found) return std::nullopt;
    return parse_maintenance(*found).node;
  }

  std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time) override {
    return told_.entry_of(event, time, [this](const std::string& name) { return node_of(name); });
  }

  void on_change(std::function<void()> tell) override {
    told_of_.push_back(
        watched_->store().subscribe([tell = std::move(tell)](const kube::Object*, const kube::Object*) { tell(); }));
  }

 private:
  static ControllerOptions with_dry_run(ControllerOptions options, bool dry_run) {
    options.dry_run |= dry_run;
    return options;
  }

  io::Log log_;
  const kube::Store<kube::Node>& nodes_;
  controllers::Watches& watches_;
  std::string lease_namespace_;
  std::unique_ptr<kube::Watched<kube::Object>> watched_;
  std::vector<io::Subscription> told_of_;
  Told told_;
  nodemaintenance::Controller controller_;
  bool running_ = false;
};

class ChoiceOfOptions final : public controllers::Choice {
 public:
  explicit ChoiceOfOptions(ControllerOptions options) : options_(std::move(options)) {}
  ControllerOptions& options() { return options_; }
  const controllers::Kind& kind() const override { return nodemaintenance::kind(); }
  std::unique_ptr<controllers::Controller> make(controllers::Host host) const override {
    return std::make_unique<Hosted>(std::move(host), options_);
  }
  std::vector<web::Route> webhooks(const web::WebhookParts& parts) const override {
    return nodemaintenance::webhooks(parts, options_);
  }

 private:
  ControllerOptions options_;
};

}  // namespace

namespace {

std::shared_ptr<const controllers::Choice> with_flags(CLI::App& command) {
  auto choice = std::make_shared<ChoiceOfOptions>(ControllerOptions{});
  add_flags(command, choice->options());
  return choice;
}

}  // namespace

std::shared_ptr<const controllers::Choice> with_options(ControllerOptions options) {
  return std::make_shared<ChoiceOfOptions>(std::move(options));
}

const controllers::Kind& kind() {
  static const controllers::Kind the_kind{
      .name = "nodemaintenance",
      .short_name = "nm",
      .lock = kLock,
      .event_source = "NodeMaintenance",
      .section = "maintenances",
      .object = kResource,
      .namespaces = {kLeaseNamespace},
      .claims = true,
      .owner_prefix = "nodemaintenance/",
      .definitions = [] { return std::vector{controllers::shipped_definition("nodemaintenance")}; },
      .job_of = job_of,
      .way_out = [](std::string_view node) { return fmt::format("\"careen release {}\" ends it", node); },
      .original = {.pod_label = "node-maintenance-operator",
                   .usual_flags = {"--metrics-secure", "--metrics-bind-address=:8443", "--webhook-bind-address=:9443",
                                   "--zap-time-encoding=rfc3339nano"}},
      .usual = [] { return with_options({}); },
      .with_flags = with_flags,
  };
  return the_kind;
}

}  // namespace careen::nodemaintenance
