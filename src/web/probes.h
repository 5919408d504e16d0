// Liveness and readiness, as a kubelet and people ask for them. Unready only until everything needed has been there
// once: what breaks later is shown in the details with status 200, because one bad configuration must not take every
// replica away.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/http_server.h"
#include "io/problems.h"
#include "web/routes.h"

namespace careen::web {

class Probes {
 public:
  // What is wrong, or nothing.
  using Check = std::function<std::optional<std::string>()>;

  // Open problems are listed by ?verbose and change no status. Ready when each of `awaited` has been set_ready().
  explicit Probes(const io::Problems& problems, std::vector<std::string> awaited = {"caches", "config"});

  void set_ready(std::string_view name);
  bool ready() const;
  // A further reason for /healthz to fail, asked at each request.
  void add_health_check(std::string name, Check check);
  // A further condition of /readyz, asked until it has held once.
  void add_ready_check(std::string name, Check check);

  // /healthz, /readyz and everything below. It must outlive them.
  std::vector<Route> routes() const;
  // /healthz, /readyz: 200 "ok", or 503 and what failed; /healthz/<check>, /readyz/<check>: one alone. ?verbose lists
  // the checks and problems, ?exclude=<check> leaves one out.
  io::ServerResponse answer(const io::ServerRequest& request) const;

 private:
  struct Named {
    std::string name;
    Check check;  // absent: set_ready() alone passes it
    mutable bool passed = false;
    bool once = false;
  };
  static std::optional<std::string> failure(const Named& check);

  const io::Problems& problems_;
  std::vector<Named> health_;
  std::vector<Named> ready_;
};

}  // namespace careen::web
