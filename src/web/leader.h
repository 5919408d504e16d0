// The way to the replica that leads: the others pass requests on to it, so that it does not matter which replica a
// Service picks. Host and port are always the leader's, whatever was asked for; what is passed on is encoded again.
//
// With TLS the leader has to prove itself with the key that it names in the lock (replica_key.h), and gets to see who
// asks. Without TLS everybody on the way could read along: then no client's token is passed on, only one that this
// replica has for the purpose.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/http.h"
#include "io/http_server.h"
#include "io/loop.h"

namespace careen::kube {
class Client;
}

namespace careen::web {

struct LeaderRequest {
  std::string path;   // decoded
  std::string query;  // as it was sent
  // The Authorization header of whoever asks us, and our own. Either may be empty.
  std::string users_authorization = {};
  std::string own_authorization = {};
  io::Duration pause_limit = io::seconds{5};  // how long the leader may pause within its answer
  // Whether an answer other than 200 is passed on as it is, or reported as an error of the leader's.
  bool pass_errors = false;
};

// A path and a query as they are in a URL, each part encoded again.
std::string encoded_target(std::string_view path, std::string_view query);

class Leader {
 public:
  // `holder` says who leads, <pod>_<random>, empty when nobody is known to. `ns`: where the replicas' pods are. The
  // client only reads. With `tls` every replica serves TLS and has a key of its own, and `http` asks for kReplicaHost.
  Leader(io::Loop& loop, kube::Client& client, io::HttpClient& http, std::function<std::string()> holder,
         std::string ns, bool tls = false);

  // Where the leader serves: on the same port as we do.
  void set_port(int port) { port_ = port; }
  // Whether it may see the token of whoever asks.
  bool sees_tokens() const { return tls_; }

  // The request was passed on to us, and goes no further.
  static bool was_passed_on(const io::ServerRequest& request);

  // The leader's answer; otherwise {"error":"…"} with status 502 (it cannot be reached, or is not known for sure) or
  // 503 (nobody leads).
  io::Task<io::ServerResponse> answer(LeaderRequest request);
  // What the leader answers with 200 to a body of JSON that is posted; otherwise why there is no answer. It proves
  // itself with `key`, as io::HttpRequest wants it, whoever holds the lock.
  io::Task<io::Result<std::string>> post(std::string path, std::string body, std::string key, io::Duration limit);

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

  Outcome<io::HttpRequest> request_to(const std::string& holder, const std::string& ip, LeaderRequest wanted) const;
  io::Task<Outcome<std::string>> ip_of(std::string holder);

  io::Loop& loop_;
  kube::Client& client_;
  io::HttpClient& http_;
  std::function<std::string()> holder_;
  std::string ns_;
  bool tls_;
  int port_ = 0;
  std::optional<Address> address_;
};

}  // namespace careen::web
