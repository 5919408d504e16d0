// /api/v1/info: what careen has decided for each node, and why. The replica that leads answers with its own document;
// every other one fetches the leader's.
//
// The body is an array with status 200, or {"error":"…"} with status 502 (the leader cannot be reached) or 503 (nobody
// leads). The original says 200 to errors too; a reader that looks at the body alone sees the same shape.
#pragma once

#include <functional>
#include <string>

#include "io/http_server.h"
#include "io/loop.h"
#include "web/leader.h"
#include "web/routes.h"

namespace careen::web {

// A document that is read piece by piece, in turn with others: appends the next piece, false when there is none.
using Pieces = std::function<bool(std::string& into)>;
io::ServerResponse answer_pieces(io::Loop& loop, Pieces pieces);

// What the replica knows of itself.
struct InfoSource {
  std::function<bool()> leading;
  std::function<Pieces()> document;
};

class InfoApi {
 public:
  static constexpr const char* kPath = "/api/v1/info";

  InfoApi(io::Loop& loop, Leader& leader, InfoSource source);
  InfoApi(const InfoApi&) = delete;
  InfoApi& operator=(const InfoApi&) = delete;

  // It must outlive the route.
  Route route(Access access);
  // As it is where nobody has a document to show.
  static Route nowhere(Access access);

 private:
  io::Task<io::ServerResponse> pass_on(io::ServerRequest request);

  io::Loop& loop_;
  Leader& leader_;
  InfoSource source_;
};

}  // namespace careen::web
