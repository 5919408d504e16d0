#include "web/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "web/json_answer.h"
#include "web/leader.h"

namespace careen::web {

using io::Task;

namespace {

// a, b and c
std::string joined(const std::vector<std::string>& names, std::string_view last_joint) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? last_joint : ", ";
    out += names[i];
  }
  return out;
}

io::ServerResponse plain_error(int status, std::string text) {
  io::ServerResponse response;
  response.status = status;
  response.body = std::move(text) + "\n";
  return response;
}

io::ServerResponse wrong_method(const Methods& methods) {
  io::ServerResponse response = plain_error(405, fmt::format("only {} are answered here", methods.listed(" and ")));
  response.headers.emplace_back("Allow", methods.listed());
  return response;
}

}  // namespace

Path exactly(std::string_view path) { return {std::string(path), false}; }
Path below(std::string_view path) { return {std::string(path), true}; }
Path everything_else() { return {"", true}; }

bool Methods::contain(std::string_view method) const {
  return names_.empty() || std::find(names_.begin(), names_.end(), method) != names_.end();
}

std::string Methods::listed(std::string_view last_joint) const { return joined(names_, last_joint); }

Access Access::anybody() { return {"anybody", {}, WrongMethod::told_to_everybody}; }
Access Access::api_server() { return {"the API server", {}, WrongMethod::told_to_everybody}; }

Access::Access(std::string name, Guard guard, WrongMethod wrong_method)
    : name_(std::move(name)), guard_(std::move(guard)), wrong_method_(wrong_method) {}

Task<std::optional<io::ServerResponse>> Access::refusal(io::ServerRequest& request) const {
  if (!guard_) co_return std::nullopt;
  co_return co_await guard_(request);
}

Task<io::ServerResponse> at_once(io::ServerResponse response) { co_return response; }

io::ServerHandler at_once(std::function<io::ServerResponse(const io::ServerRequest&)> answer) {
  return [answer = std::move(answer)](const io::ServerRequest& request) { return at_once(answer(request)); };
}

Routes::Routes(io::Log log, std::vector<Route> routes) : log_(std::move(log)) { add(std::move(routes)); }

void Routes::add(Route route) {
  const auto same = [&](const Route& other) {
    return other.path.text == route.path.text && other.path.and_below == route.path.and_below;
  };
  if (std::any_of(routes_.begin(), routes_.end(), same)) std::abort();
  routes_.push_back(std::move(route));
}

void Routes::add(std::vector<Route> routes) {
  for (Route& route : routes) add(std::move(route));
}

const Route* Routes::find(std::string_view path) const {
  const Route* longest = nullptr;
  for (const Route& route : routes_) {
    if (!route.path.and_below && route.path.text == path) return &route;
    if (!route.path.and_below || !path.starts_with(route.path.text)) continue;
    if (!longest || route.path.text.size() > longest->path.text.size()) longest = &route;
  }
  return longest;
}

// A bug in one handler is no reason to end everything else that this process does.
Task<io::ServerResponse> Routes::answer(io::ServerRequest request) const {
  const Route* route = find(request.path);
  if (!route) co_return not_found();
  const std::string path = request.path;
  std::string failure;
  try {
    co_return co_await guarded(*route, std::move(request));
  } catch (const std::exception& e) {
    failure = e.what();
  }
  log_.error("a request could not be answered", "path", path, "error", failure);
  co_return plain_error(500, "the request could not be answered; careen's log says why");
}

Task<io::ServerResponse> Routes::guarded(const Route& route, io::ServerRequest request) const {
  const bool answered = route.methods.contain(request.method);
  if (!answered && !route.access.hides_methods()) co_return wrong_method(route.methods);
  if (request.body.size() > route.max_body) co_return plain_error(413, "the body is too large");
  if (auto refused = co_await route.access.refusal(request)) co_return std::move(*refused);
  if (!answered) co_return wrong_method(route.methods);
  if (!route.by_leader || route.by_leader->leading()) co_return co_await route.answer(std::move(request));
  if (Leader::was_passed_on(request)) co_return json_error(503, route.by_leader->not_any_more);
  co_return co_await route.by_leader->pass_on(std::move(request));
}

size_t Routes::max_body() const {
  size_t longest = kShortBody;
  for (const Route& route : routes_) longest = std::max(longest, route.max_body);
  return longest;
}

io::ServerResponse Routes::not_found() const {
  std::vector<std::string> names;
  for (const Route& route : routes_) {
    const std::string& name = route.listing.name;
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return plain_error(404, "not found; this address serves " + joined(names, " and "));
}

}  // namespace careen::web
