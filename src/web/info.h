// /api/v1/info: what careen has decided for each node, and why. The replica that leads answers with its own document;
// every other one fetches the leader's, so that it does not matter which of them a service picks.
//
// The body is an array with status 200, or {"error":"…"} with status 502 (the leader cannot be reached) or 503 (nobody
// leads). The original says 200 to errors too; a reader that looks at the body alone sees the same shape.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/http.h"
#include "io/http_server.h"
#include "io/loop.h"
#include "kube/client.h"

namespace careen::web {

// What the replica knows of itself and of its leader.
struct InfoSource {
  std::function<bool()> leading;
  // Who leads: <pod>_<uuid>; empty when nobody is known to.
  std::function<std::string()> holder;
  // Begins the document: appends its next piece, false when there is none. Read piece by piece, in turn with others.
  using Pieces = std::function<bool(std::string& into)>;
  std::function<Pieces()> document;
};

class InfoApi {
 public:
  static constexpr const char* kPath = "/api/v1/info";

  // `ns`: where the replicas' pods are. The client only reads.
  InfoApi(io::Loop& loop, kube::Client& client, io::HttpClient& http, InfoSource source, std::string ns);
  ~InfoApi();
  InfoApi(const InfoApi&) = delete;
  InfoApi& operator=(const InfoApi&) = delete;

  // Where the leader serves: on the same port as we do.
  void set_port(int port) { port_ = port; }

  io::Task<io::ServerResponse> answer(io::ServerRequest request);

 private:
  struct Failed;
  template <class T>
  using Outcome = tl::expected<T, Failed>;
  struct Address {
    std::string holder;
    std::string ip;
    io::Steady read;
  };

  io::ServerResponse own();
  io::Task<io::ServerResponse> forwarded();
  io::Task<Outcome<std::string>> leader_ip(std::string holder);

  io::Loop& loop_;
  kube::Client& client_;
  io::HttpClient& http_;
  InfoSource source_;
  std::string ns_;
  int port_ = 0;
  std::optional<Address> address_;
};

}  // namespace careen::web
