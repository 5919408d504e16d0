#include "kind.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <sstream>

#include "controllers/slot/definition.h"
#include "kube/json.h"
#include "picture.h"
#include "source_dir.h"

namespace careen::lantern {

namespace {

class Choice final : public controllers::Choice {
 public:
  explicit Choice(Options options) : options_(options) {}
  Options& options() { return options_; }
  const controllers::Kind& kind() const override { return lantern::kind(); }
  std::unique_ptr<controllers::Controller> make(controllers::Host host) const override {
    return std::make_unique<Controller>(std::move(host), options_);
  }
  // The API server asks it nothing.
  std::vector<web::Route> webhooks(const web::WebhookParts&) const override { return {}; }

 private:
  Options options_;
};

// One that is shipped lies in deploy/crds, and is controllers::shipped_definition(name).
std::vector<kube::Json> definitions() {
  std::ostringstream text;
  text << std::ifstream(test::source_path("test/lantern/lantern.yaml")).rdbuf();
  return {controllers::definition_from(text.str())};
}

std::shared_ptr<const controllers::Choice> with_flags(CLI::App& command) {
  auto choice = std::make_shared<Choice>(Options{});
  command.add_option("--lantern-limit", choice->options().limit, "So many nodes at most are lit at once")
      ->capture_default_str()
      ->group("Lanterns");
  return choice;
}

}  // namespace

std::shared_ptr<const controllers::Choice> with_options(Options options) { return std::make_shared<Choice>(options); }

const controllers::Kind& kind() {
  static const controllers::Kind the_kind{
      .name = "lantern",
      .short_name = "ln",
      .lock = kLock,
      .lock_kind = kube::LockKind::config_map,
      .event_source = kSource,
      .section = "lanterns",
      .object = kResource,
      .namespaces = {},
      .claims = true,
      .definitions = definitions,
      .job_of = job_of,
      .usual = [] { return with_options({}); },
      .with_flags = with_flags,
  };
  return the_kind;
}

}  // namespace careen::lantern
