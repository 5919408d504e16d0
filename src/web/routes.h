// What is answered at one address. Whoever has something to answer registers the path, the methods, who may ask, which
// replica answers and how long a request may be; all else follows from the registrations: 404 and 405, HEAD, the
// limits, and that nobody reaches a handler whom its policy does not let pass.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/http_server.h"
#include "io/log.h"

namespace careen::web {

struct Path {
  std::string text;
  bool and_below = false;  // everything that begins with it, unless something longer is registered
};
Path exactly(std::string_view path);
// It ends with a slash.
Path below(std::string_view path);
Path everything_else();

// What a handler answers. The handler of GET answers HEAD, too.
class Methods {
 public:
  static Methods reading() { return Methods({"GET", "HEAD"}); }
  // For handlers that look at the method themselves, or do not care.
  static Methods any() { return Methods({}); }
  explicit Methods(std::vector<std::string> names) : names_(std::move(names)) {}

  bool contain(std::string_view method) const;
  // GET, HEAD
  std::string listed(std::string_view last_joint = ", ") const;

 private:
  std::vector<std::string> names_;  // empty: any
};

// Nothing when the request may pass; otherwise the answer. It may add to the request what it has found out.
using Guard = std::function<io::Task<std::optional<io::ServerResponse>>(io::ServerRequest&)>;

// Who may ask. There is no default, so that a registration that does not say it does not compile.
class Access {
 public:
  // Nobody has to prove anything: what is answered is no secret.
  static Access anybody();
  // The API server, which shows no certificate unless it is configured to. So whoever reaches the port is taken for it;
  // a handler must tell them nothing that they have not said themselves, and bound what they can have it do.
  static Access api_server();

  enum class WrongMethod { told_to_everybody, told_to_who_may_ask };
  // The name is for people: what a table of registrations shows.
  Access(std::string name, Guard guard, WrongMethod wrong_method = WrongMethod::told_to_who_may_ask);

  const std::string& name() const { return name_; }
  io::Task<std::optional<io::ServerResponse>> refusal(io::ServerRequest& request) const;
  bool hides_methods() const { return wrong_method_ == WrongMethod::told_to_who_may_ask; }

 private:
  std::string name_;
  Guard guard_;  // empty: everybody passes
  WrongMethod wrong_method_;
};

// What only the replica that leads can answer; the others pass the request on to it, once.
struct ByLeader {
  std::function<bool()> leading;
  io::ServerHandler pass_on;
  // What another replica that took this one for the leader is told (503).
  std::string not_any_more;
};

// How lists show it: the error for an unknown path does, and the start page if the route says what it is about.
struct Listing {
  std::string name = {};
  std::string about = {};
};

// Where nobody has anything to tell us.
inline constexpr size_t kShortBody = 64 << 10;

struct Route {
  Path path;
  Methods methods = Methods::reading();
  Access access;
  io::ServerHandler answer;
  std::optional<ByLeader> by_leader = {};  // nothing: every replica answers
  size_t max_body = kShortBody;
  Listing listing = {};
};

// For answers that wait for nothing.
io::ServerHandler at_once(std::function<io::ServerResponse(const io::ServerRequest&)> answer);
io::Task<io::ServerResponse> at_once(io::ServerResponse response);

class Routes {
 public:
  // The log is told of handlers that fail.
  explicit Routes(io::Log log = {}) : log_(std::move(log)) {}
  Routes(io::Log log, std::vector<Route> routes);

  // A path is registered once.
  void add(Route route);
  void add(std::vector<Route> routes);

  // It must outlive the answer.
  io::Task<io::ServerResponse> answer(io::ServerRequest request) const;

  const std::vector<Route>& all() const { return routes_; }
  // The longest body that any of them takes.
  size_t max_body() const;

 private:
  const Route* find(std::string_view path) const;
  io::Task<io::ServerResponse> guarded(const Route& route, io::ServerRequest request) const;
  io::ServerResponse not_found() const;

  io::Log log_;
  std::vector<Route> routes_;
};

}  // namespace careen::web
