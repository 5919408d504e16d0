#include "controllers/requests/hosted.h"

#include <fmt/format.h>

#include <utility>

#include "controllers/requests/controller.h"
#include "controllers/requests/decide.h"
#include "controllers/requests/flags.h"
#include "controllers/requests/names.h"
#include "controllers/requests/picture.h"
#include "controllers/slot/definition.h"

namespace careen::requests {

namespace {

class ChoiceOfRequests final : public controllers::Choice {
 public:
  explicit ChoiceOfRequests(ControllerOptions options) : options_(options) {}
  ControllerOptions& options() { return options_; }
  const controllers::Kind& kind() const override { return requests::kind(); }
  std::unique_ptr<controllers::Controller> make(controllers::Host host) const override {
    return std::make_unique<Controller>(std::move(host), options_);
  }
  std::vector<web::Route> webhooks(const web::WebhookParts&) const override { return {}; }

 private:
  ControllerOptions options_;
};

std::shared_ptr<const controllers::Choice> choice_with_flags(CLI::App& command) {
  auto choice = std::make_shared<ChoiceOfRequests>(ControllerOptions{});
  add_flags(command, choice->options());
  return choice;
}

}  // namespace

std::shared_ptr<const controllers::Choice> with_options(ControllerOptions options) {
  return std::make_shared<ChoiceOfRequests>(options);
}

const controllers::Kind& kind() {
  static const controllers::Kind the_kind{
      .name = "requests",
      .short_name = "mr",
      .lock = kLock,
      .lock_kind = kube::LockKind::config_map,
      .event_source = kEventSource,
      .section = "requests",
      .object = kResource,
      .namespaces = {},
      .claims = true,
      .owner_prefix = kOwnerPrefix,
      .approves_others = true,
      .definitions =
          [] {
            return std::vector{controllers::shipped_definition("maintenancerequest"),
                               controllers::shipped_definition("maintenancelimit"),
                               controllers::shipped_definition("maintenanceselector")};
          },
      .job_of = job_of,
      .way_out =
          [](std::string_view node) { return fmt::format("\"careen request cancel {} --client NAME\" ends it", node); },
      // Its pods have no label that others lack, and its port for metrics is the only one.
      .original = {.usual_flags = {"--health-addr=0"}},
      .usual = [] { return with_options({}); },
      .with_flags = choice_with_flags,
  };
  return the_kind;
}

}  // namespace careen::requests
