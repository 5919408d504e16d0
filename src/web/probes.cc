#include "web/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "io/printable.h"
#include "io/query.h"

namespace careen::web {

namespace {

constexpr std::string_view kHealth = "/healthz", kReady = "/readyz";

// What follows the probe's path: empty for the probe itself, nullopt when the path is another.
std::optional<std::string_view> check_below(std::string_view path, std::string_view probe) {
  if (!path.starts_with(probe)) return std::nullopt;
  path.remove_prefix(probe.size());
  if (path.empty()) return path;
  if (path.front() != '/') return std::nullopt;
  path.remove_prefix(1);
  return path;
}

}  // namespace

Probes::Probes(const io::Problems& problems, std::vector<std::string> awaited) : problems_(problems) {
  add_health_check("healthz", [] { return std::nullopt; });
  add_ready_check("readyz", [] { return std::nullopt; });
  for (std::string& name : awaited) add_ready_check(std::move(name), nullptr);
}

void Probes::add_health_check(std::string name, Check check) {
  health_.push_back({std::move(name), std::move(check), false, false});
}

void Probes::add_ready_check(std::string name, Check check) {
  ready_.push_back({std::move(name), std::move(check), false, true});
}

void Probes::set_ready(std::string_view name) {
  for (Named& check : ready_) {
    if (check.name == name) check.passed = true;
  }
}

bool Probes::ready() const {
  return std::all_of(ready_.begin(), ready_.end(), [](const Named& check) { return !failure(check); });
}

std::optional<std::string> Probes::failure(const Named& check) {
  if (check.once && check.passed) return std::nullopt;
  if (!check.check) return "not yet";
  auto reason = check.check();
  if (!reason) check.passed = true;
  return reason;
}

std::vector<Route> Probes::routes() const {
  const io::ServerHandler reply = at_once([this](const io::ServerRequest& request) { return answer(request); });
  std::vector<Route> out;
  for (const std::string_view probe : {kHealth, kReady}) {
    out.push_back({.path = exactly(probe),
                   .access = Access::anybody(),
                   .answer = reply,
                   .listing = {.name = std::string(probe)}});
    out.push_back({.path = below(std::string(probe) + "/"), .access = Access::anybody(), .answer = reply});
  }
  return out;
}

io::ServerResponse Probes::answer(const io::ServerRequest& request) const {
  io::ServerResponse response;
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Cache-Control", "no-store");

  const bool health = check_below(request.path, kHealth).has_value();
  const std::string_view probe = (health ? kHealth : kReady).substr(1);
  const auto rest = check_below(request.path, health ? kHealth : kReady);
  const std::vector<Named>& checks = health ? health_ : ready_;
  const bool one = rest && !rest->empty();
  if (!rest || (one && std::none_of(checks.begin(), checks.end(), [&](const Named& c) { return c.name == *rest; }))) {
    response.status = 404;
    response.body = "not found; there are /healthz and /readyz, and each check below them (?verbose names them)\n";
    return response;
  }

  const io::Query query(request.query);
  std::set<std::string> excluded = query.all("exclude");
  bool failed = false;
  std::string details;
  for (const Named& check : checks) {
    if (one && check.name != *rest) continue;
    if (excluded.erase(check.name) > 0) {
      details += fmt::format("[+]{} excluded: ok\n", check.name);
    } else if (const auto reason = failure(check)) {
      failed = true;
      details += fmt::format("[-]{} failed: {}\n", check.name, io::printable(*reason));
    } else {
      details += fmt::format("[+]{} ok\n", check.name);
    }
  }
  response.status = failed ? 503 : 200;
  if (!failed && !query.has("verbose")) {
    response.body = "ok";
    return response;
  }
  if (!one) {
    for (const auto& [key, message] : problems_.open())
      details += fmt::format("[!]{}: {}\n", io::printable(key), io::printable(message));
  }
  for (const std::string& name : excluded) {
    details += fmt::format("warn: some checks cannot be excluded: no matches for \"{}\"\n", io::printable(name));
  }
  response.body = details + fmt::format("{} check {}\n", probe, failed ? "failed" : "passed");
  return response;
}

}  // namespace careen::web
