#include "commands/manager_questions.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>

#include "budget/pause.h"
#include "cli/environment.h"
#include "commands/commands.h"
#include "commands/run_flags.h"
#include "io/files.h"
#include "io/metrics.h"
#include "io/process.h"
#include "io/random.h"
#include "io/real_loop.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/http_transport.h"
#include "kube/json.h"

namespace careen::app {

using io::Task;
using kube::Json;

namespace {

constexpr const char* kConfigOfProfiles = "./config/maintenance.yaml";
constexpr const char* kLimitsGroup = "repairman.k8s.io";
const kube::Resource kLimits{kLimitsGroup, "v1", "maintenancelimits", "MaintenanceLimit"};
const kube::Resource kReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"};

constexpr io::Duration kAskAgain = io::seconds{2};
constexpr io::Duration kAskAgainAtMost = io::seconds{30};

struct Right {
  std::string_view verb;
  const kube::Resource& resource;
  std::string_view subresource = {};
  std::string_view ns = {};  // empty: everywhere
  std::string_view name = {};
};

class Questions {
 public:
  Questions(kube::Client& client, io::Log log) : client_(client), log_(std::move(log)) {}

  // Whether the API server has the kind: 404 is an answer, and so is a list of others.
  Task<bool> serves(kube::Resource resource) {
    while (true) {
      kube::Request request;
      request.path = fmt::format("/apis/{}", resource.api_version());
      const auto body = co_await client_.call(std::move(request), resource, "discover");
      if (!body && body.error().not_found()) co_return false;
      const auto served = body ? Json::parse(*body) : io::Result<Json>(Json());
      if (body && served && (*served)["resources"].is_array()) {
        bool found = false;
        (*served)["resources"].for_each_element(
            [&](kube::JsonView one) { found |= one["name"].text() == resource.plural; });
        co_return found;
      }
      co_await later(body ? "what is served cannot be read" : body.error().message);
    }
  }

  Task<bool> may(Right right) {
    const std::string wanted = review(right);
    while (true) {
      kube::CallOptions call;
      call.repeatable = true;
      const auto body = co_await client_.create(kReviews, "", wanted, std::move(call));
      const auto answer = body ? Json::parse(*body) : io::Result<Json>(Json());
      const kube::JsonView status = answer ? (*answer)["status"] : kube::JsonView();
      if (const auto allowed = status["allowed"].boolean()) {
        // A refusal that comes with an error is one of a part of the authorizers: the other one may allow it.
        const std::string error(status["evaluationError"].text().value_or(""));
        if (*allowed || error.empty()) co_return *allowed;
        co_await later(error);
      } else {
        co_await later(body ? "the review of a right cannot be read" : body.error().message);
      }
    }
  }

 private:
  static std::string review(const Right& right) {
    Json body = Json::object({{"apiVersion", kReviews.api_version()}, {"kind", kReviews.kind}});
    const auto attribute = [&](std::string_view name, std::string_view value) {
      if (!value.empty()) body.set({"spec", "resourceAttributes", name}, value);
    };
    attribute("verb", right.verb);
    attribute("group", right.resource.group);
    attribute("resource", right.resource.plural);
    attribute("subresource", right.subresource);
    attribute("namespace", right.ns);
    attribute("name", right.name);
    return body.dump();
  }

  Task<void> later(std::string why) {
    if (why != told_) {
      log_.warn(
          fmt::format("started as /manager: the API server is asked for which program, without an answer: {}; it is "
                      "asked again, and "
                      "--controllers would say it",
                      why));
    }
    told_ = std::move(why);
    const io::Duration pause = pause_;
    pause_ = std::min(pause_ * 2, kAskAgainAtMost);
    co_await io::sleep_for(client_.loop(), pause);
  }

  kube::Client& client_;
  io::Log log_;
  std::string told_;
  io::Duration pause_ = kAskAgain;
};

// With what the cluster says, or the exit code.
using Started = tl::expected<std::vector<std::string>, int>;

Started with_answers(std::vector<std::string> arguments, std::string_view controller, const ManagerSurroundings& found,
                     const io::Log& log) {
  if (controller.empty()) {
    const auto meant = controller_by_cluster(found);
    if (!meant) {
      log.error(meant.error());
      return tl::make_unexpected(1);
    }
    controller = *meant;
  }
  log.info("started as /manager", "controllers", controller, "maintenancelimits served", found.serves_limits,
           "may update their status", found.may_update_limits, "may list pods", found.may_list_pods, "may lock",
           found.may_lock, "may read pauses", found.may_pause, "namespace", found.ns);
  return as_manager(std::move(arguments), controller, found);
}

// In this process, with its credentials.
Started ask_cluster(std::vector<std::string> arguments, std::string_view controller, const RunOptions& options) {
  io::RealLoop loop;
  io::RealFiles files(loop);
  const io::Log root(io::make_stderr_sink(options.log, [&loop] { return loop.wall_now(); }), "");
  const io::Log log = root.named("setup");
  auto access = kube::load_access(files, {read_environment}, {options.kubeconfig, options.kubecontext, options.master});
  if (!access) {
    log.error(access.error().message);
    return tl::make_unexpected(1);
  }
  io::Random random;
  io::Metrics metrics;
  const std::string ns = access->ns;
  const kube::Transports transports = kube::over_http(loop, files, root.named("credentials"))(*access);
  kube::Client client(loop, *transports.requests, metrics, random);
  bool stopped = false;
  const auto watch = io::watch_signals(loop, {SIGTERM, SIGINT}, [&](int) { stopped = true; });
  std::optional<ManagerSurroundings> found;
  io::Scope scope(loop);
  scope.spawn(io::keep(ask_surroundings(client, ns, log), found));
  loop.run_until([&] { return stopped || found; });
  if (!found) return tl::make_unexpected(0);
  return with_answers(std::move(arguments), controller, *found, log);
}

// The options that they stand for; nothing when they are wrong or only ask for help.
std::optional<RunOptions> options_of(const std::vector<std::string>& arguments) {
  RunOptions options;
  ZapFlags zap;
  CLI::App app;
  add_run_flags(app, options, zap);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend() - 2));
  } catch (const CLI::Error&) {
    return std::nullopt;
  }
  if (!apply(zap, options.log).empty()) return std::nullopt;
  return options;
}

}  // namespace

Task<ManagerSurroundings> ask_surroundings(kube::Client& client, std::string ns, io::Log log) {
  Questions questions(client, std::move(log));
  ManagerSurroundings found{.ns = ns};
  found.serves_limits = co_await questions.serves(kLimits);
  found.may_update_limits = co_await questions.may({.verb = "update", .resource = kLimits, .subresource = "status"});
  found.may_list_pods = co_await questions.may({.verb = "list", .resource = kube::resources::pods});
  found.may_lock = true;
  for (const std::string_view verb : {"get", "create", "update"}) {
    const Right right{.verb = verb, .resource = kube::resources::config_maps, .ns = ns};
    found.may_lock = found.may_lock && co_await questions.may(right);
  }
  found.may_pause = co_await questions.may(
      {.verb = "list", .resource = kube::resources::leases, .ns = ns, .name = budget::PauseRecord::kLease});
  co_return found;
}

Started start_as_manager(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin() + 1, "run");
  if (says_controllers(arguments)) return arguments;
  std::error_code unknown;
  const std::string_view controller =
      controller_by_flags(arguments, std::filesystem::exists(kConfigOfProfiles, unknown));
  if (!controller.empty() && !starts_as_its_role_allows(controller)) {
    return as_manager(std::move(arguments), controller);
  }
  // What is wrong with them is said where they are read.
  const auto options = options_of(arguments);
  if (!options) return arguments;
  return ask_cluster(std::move(arguments), controller, *options);
}

}  // namespace careen::app
