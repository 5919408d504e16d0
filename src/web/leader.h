// The way to the replica that leads: who does not, passes requests on, so that it does not matter which replica a
// service picks.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "io/http.h"
#include "io/http_server.h"
#include "io/loop.h"

namespace careen::kube {
class Client;
}

namespace careen::web {

struct LeaderRequest {
  std::string target;                         // path and query
  io::Headers headers = {};                   // besides those that every one has
  io::Duration pause_limit = io::seconds{5};  // how long the leader may pause within its answer
  // Whether an answer other than 200 is passed on as it is, or told as an error of the leader's.
  bool pass_errors = false;
};

class Leader {
 public:
  // `holder` says who leads, <pod>_<uuid>, empty when nobody is known to. `ns`: where the replicas' pods are. The
  // client only reads.
  Leader(io::Loop& loop, kube::Client& client, io::HttpClient& http, std::function<std::string()> holder,
         std::string ns);

  // Where the leader serves: on the same port as we do.
  void set_port(int port) { port_ = port; }

  // The request was passed on to us, and goes no further.
  static bool was_passed_on(const io::ServerRequest& request);

  // The leader's answer; otherwise {"error":"…"} with status 502 (it cannot be reached) or 503 (nobody leads).
  io::Task<io::ServerResponse> answer(LeaderRequest request);

 private:
  struct Failed {
    int status = 502;
    std::string text;
  };
  template <class T>
  using Outcome = tl::expected<T, Failed>;
  struct Address {
    std::string holder;
    std::string ip;
    io::Steady read;
  };

  io::Task<Outcome<std::string>> ip_of(std::string holder);

  io::Loop& loop_;
  kube::Client& client_;
  io::HttpClient& http_;
  std::function<std::string()> holder_;
  std::string ns_;
  int port_ = 0;
  std::optional<Address> address_;
};

}  // namespace careen::web
