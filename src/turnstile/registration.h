// The ValidatingWebhookConfiguration by which the API server asks careen about evictions, cordons and the end of
// machines. The replica that leads keeps it, and only while some limit is of mode Queue or Enforce: where all limits
// observe, nobody is asked. Whatever fails, evictions pass.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/log.h"
#include "io/result.h"
#include "io/sync.h"
#include "io/task.h"
#include "kube/json.h"
#include "kube/objects.h"
#include "kube/watched.h"
#include "turnstile/reach.h"

namespace careen::kube {
class Client;
}

namespace careen::limits {
class Desk;
class WebhookState;
}  // namespace careen::limits

namespace careen::turnstile {

// Of the limits that there are.
struct Wanted {
  bool evictions = false;  // one is of mode Queue or Enforce
  bool others = false;     // one is of mode Enforce
  bool operator==(const Wanted&) const = default;
};
Wanted wanted_by(const limits::Desk& desk);

io::Result<kube::Json> configuration_of(const std::string& name, const Wanted& wanted, const ClientConfig& reach);
// Whether an object says all that another one says; it may say more.
bool covers(kube::JsonView object, kube::JsonView wanted);

struct RegistrationParts {
  io::Loop& loop;
  kube::Client& reader;
  kube::Client& client;  // writes only while this replica leads
  limits::Desk& desk;
  limits::WebhookState& state;
  io::Metrics& metrics;
  io::Problems& problems;
  io::Random& random;
  io::Log log;
};

class Registration {
 public:
  static constexpr std::string_view kProblem = "limit webhook configuration";

  Registration(RegistrationParts parts, std::string name);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // Where the webhooks are served; nobody is registered before it is known.
  void reach(ClientConfig config);
  // While this replica leads; until cancelled.
  io::Task<void> run();

 private:
  io::Task<void> round();
  io::Task<void> take_away();
  void failed(const std::string& why);
  io::Task<void> pause();

  RegistrationParts p_;
  std::string name_;
  ClientConfig reach_;
  io::Signal changed_;
  kube::Watched<kube::Object> there_;
  io::Subscription changes_;
  io::Subscription limit_changes_;
  Wanted known_;
  bool gone_ = false;  // there is none of ours
};

}  // namespace careen::turnstile
