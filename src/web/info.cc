#include "web/info.h"

#include <memory>
#include <utility>

#include "web/json_answer.h"

namespace careen::web {

namespace {

// Between two pieces, everything else has its turn.
class PiecesBody final : public io::BodyStream {
 public:
  PiecesBody(io::Loop& loop, Pieces pieces) : loop_(loop), pieces_(std::move(pieces)) {}
  io::Task<io::Result<bool>> read(std::string& into) override {
    co_await io::yield_to_others(loop_);
    co_return pieces_(into);
  }

 private:
  io::Loop& loop_;
  Pieces pieces_;
};

}  // namespace

io::ServerResponse answer_pieces(io::Loop& loop, Pieces pieces) {
  io::ServerResponse response = json_answer();
  response.stream = std::make_unique<PiecesBody>(loop, std::move(pieces));
  return response;
}

InfoApi::InfoApi(io::Loop& loop, Leader& leader, InfoSource source)
    : loop_(loop), leader_(leader), source_(std::move(source)) {}

Route InfoApi::route(Access access) {
  Route route = nowhere(std::move(access));
  route.answer = at_once([this](const io::ServerRequest&) { return answer_pieces(loop_, source_.document()); });
  route.by_leader = ByLeader{
      .leading = source_.leading,
      .pass_on = [this](io::ServerRequest request) { return pass_on(std::move(request)); },
      .not_any_more = "the replica that was asked for the leader's information does not lead any more",
  };
  return route;
}

Route InfoApi::nowhere(Access access) {
  return {.path = exactly(kPath),
          .access = std::move(access),
          .answer = at_once([](const io::ServerRequest&) {
            io::ServerResponse response;
            response.status = 404;
            response.body = "not found; this address serves /metrics and /static/\n";
            return response;
          }),
          .listing = {kPath, "The state of every node, and why it is or is not moving on, as JSON."}};
}

io::Task<io::ServerResponse> InfoApi::pass_on(io::ServerRequest request) {
  // A client that may not read it there is told so.
  LeaderRequest onward{.path = kPath, .query = {}, .pass_errors = leader_.sees_tokens()};
  onward.users_authorization = io::header(request.headers, "Authorization");
  co_return co_await leader_.answer(std::move(onward));
}

}  // namespace careen::web
