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

io::Task<io::ServerResponse> InfoApi::answer(io::ServerRequest request) {
  if (source_.leading()) co_return answer_pieces(loop_, source_.document());
  if (Leader::was_passed_on(request)) {
    co_return json_error(503, "the replica that was asked for the leader's information does not lead any more");
  }
  // A client that may not read it there is told so.
  LeaderRequest onward{.path = kPath, .query = {}, .pass_errors = leader_.sees_tokens()};
  onward.users_authorization = io::header(request.headers, "Authorization");
  co_return co_await leader_.answer(std::move(onward));
}

}  // namespace careen::web
