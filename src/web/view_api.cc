#include "web/view_api.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>
#include <utility>

#include "io/query.h"
#include "web/json_answer.h"

namespace careen::web {

using io::Task;

namespace {

constexpr int kUsualHours = 24, kMostHours = 24 * 90;
// The stream has a sign of life every 15 s; a plan takes as long as it takes.
constexpr io::Duration kStreamPause = io::seconds{45};
constexpr io::Duration kAnswerPause = io::seconds{30};

constexpr const char* kCrowded = "too many others are looking at this replica, or from your address; try again later";
constexpr const char* kNoTokenOfOurOwn =
    "this replica does not lead, and has no token of its own to ask the leader with: that takes POD_NAME and the right "
    "to create serviceaccounts/token; look at the leader itself (kubectl port-forward pod/NAME)";

// Counts itself for as long as it lives.
class CountedStream final : public io::BodyStream {
 public:
  using Counts = std::map<std::string, int>;
  CountedStream(std::unique_ptr<io::BodyStream> body, std::shared_ptr<Counts> counts, const std::string& peer)
      : body_(std::move(body)), counts_(std::move(counts)), own_(counts_->try_emplace(peer, 0).first) {
    ++own_->second;
  }
  CountedStream(const CountedStream&) = delete;
  CountedStream& operator=(const CountedStream&) = delete;
  ~CountedStream() override {
    if (--own_->second == 0) counts_->erase(own_);
  }
  Task<io::Result<bool>> read(std::string& into) override { return body_->read(into); }

 private:
  std::unique_ptr<io::BodyStream> body_;
  std::shared_ptr<Counts> counts_;
  Counts::iterator own_;
};

io::ServerResponse document_or(std::optional<std::string> document, std::string_view missing) {
  return document ? json_answer(std::move(*document)) : json_error(404, missing);
}

std::optional<int> read_hours(std::string_view text) {
  if (text.empty()) return kUsualHours;
  int hours = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hours);
  if (error != std::errc{} || end != text.data() + text.size() || hours < 1 || hours > kMostHours) return std::nullopt;
  return hours;
}

bool is_stream(const io::ServerRequest& request) { return request.path == "/careen/v1/stream"; }

}  // namespace

ViewApi::ViewApi(io::Loop& loop, Leader& leader, ViewSource source, ViewGuard guard, Authorization own_authorization)
    : loop_(loop),
      leader_(leader),
      source_(std::move(source)),
      guard_(guard),
      own_authorization_(std::move(own_authorization)) {}

int ViewApi::streams() const {
  return std::accumulate(streams_->begin(), streams_->end(), 0,
                         [](int sum, const auto& of_a_peer) { return sum + of_a_peer.second; });
}

bool ViewApi::is_crowded(const std::string& peer) const {
  const auto own = streams_->find(peer);
  return streams() >= kMostStreams || (own != streams_->end() && own->second >= kMostStreamsOfAPeer);
}

Task<io::ServerResponse> ViewApi::answer(io::ServerRequest request) {
  if (io::header(request.headers, "Authorization").empty()) {
    const std::string token(io::header(request.headers, kTokenHeader));
    if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
  }
  if (auto refused = co_await guard_.refusal(request)) co_return std::move(*refused);
  if (is_stream(request) && is_crowded(request.peer)) co_return json_error(503, kCrowded);
  if (source_.leading()) co_return co_await own(std::move(request));
  if (Leader::was_passed_on(request)) co_return json_error(503, "the replica that was asked does not lead any more");
  co_return co_await passed_on(std::move(request));
}

Task<io::ServerResponse> ViewApi::own(io::ServerRequest request) {
  if (const std::string why = source_.unknown(); !why.empty()) co_return json_error(503, why);
  const std::string_view path = std::string_view(request.path).substr(kPrefix.size());
  const io::Query query(request.query);
  if (path == "fleet") co_return answer_pieces(loop_, source_.fleet());
  if (path == "stream") {
    io::ServerResponse response = json_answer();
    response.content_type = "text/event-stream";
    response.stream = source_.stream();
    co_return counted(std::move(response), request.peer);
  }
  if (path == "timeline") co_return json_answer(source_.timeline(query["node"]));
  if (path == "plan") co_return co_await planned(std::string(query["hours"]));
  constexpr std::string_view kNodes = "nodes/", kMaintenances = "nodemaintenances/";
  if (path.starts_with(kNodes)) {
    const std::string_view name = path.substr(kNodes.size());
    co_return document_or(source_.node(name), fmt::format("there is no node {}", name));
  }
  if (path.starts_with(kMaintenances)) {
    const std::string_view name = path.substr(kMaintenances.size());
    co_return document_or(source_.maintenance(name),
                          fmt::format("there is no NodeMaintenance {}, or its node does not exist", name));
  }
  co_return json_error(404, "not found; there are fleet, stream, nodes/NAME, nodemaintenances/NAME, timeline and plan");
}

Task<io::ServerResponse> ViewApi::planned(std::string text) {
  const auto hours = read_hours(text);
  if (!hours) co_return json_error(400, fmt::format("hours must be a number from 1 to {}", kMostHours));
  if (!source_.plan) co_return json_error(503, "this replica makes no plans");
  std::string document = co_await source_.plan(*hours);
  if (document.empty()) co_return json_error(503, "the plan has not been made yet; try again in a moment");
  co_return json_answer(std::move(document));
}

Task<io::ServerResponse> ViewApi::passed_on(io::ServerRequest request) {
  LeaderRequest onward{.path = request.path, .query = request.query, .pass_errors = true};
  onward.pause_limit = is_stream(request) ? kStreamPause : kAnswerPause;
  if (leader_.sees_tokens()) onward.users_authorization = io::header(request.headers, "Authorization");
  // We let the client in, and we are the ones who ask the leader.
  if (onward.users_authorization.empty() && guard_.policy() != ViewPolicy::open) {
    if (own_authorization_) onward.own_authorization = co_await own_authorization_();
    if (onward.own_authorization.empty()) co_return json_error(502, kNoTokenOfOurOwn);
  }
  const bool stream = is_stream(request);
  io::ServerResponse response = co_await leader_.answer(std::move(onward));
  if (!stream || !response.stream) co_return response;
  // Others have come while the leader was asked.
  if (is_crowded(request.peer)) co_return json_error(503, kCrowded);
  co_return counted(std::move(response), request.peer);
}

io::ServerResponse ViewApi::counted(io::ServerResponse response, const std::string& peer) {
  response.stream = std::make_unique<CountedStream>(std::move(response.stream), streams_, peer);
  // Proxies that collect an answer before they pass it on would hold back what is news now.
  response.headers.emplace_back("X-Accel-Buffering", "no");
  return response;
}

}  // namespace careen::web
