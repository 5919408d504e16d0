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

// Holds what it reads from.
class HoldingStream final : public io::BodyStream {
 public:
  HoldingStream(std::unique_ptr<io::BodyStream> body, std::shared_ptr<const ViewAnswers> held)
      : held_(std::move(held)), body_(std::move(body)) {}
  Task<io::Result<bool>> read(std::string& into) override { return body_->read(into); }

 private:
  std::shared_ptr<const ViewAnswers> held_;
  std::unique_ptr<io::BodyStream> body_;
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

// What follows the prefix, and the slash of a document that is one of many.
std::string_view name_in(const io::ServerRequest& request, std::string_view document) {
  return std::string_view(request.path).substr(ViewApi::kPrefix.size() + document.size());
}

}  // namespace

ViewApi::ViewApi(io::Loop& loop, Leader& leader, ViewAnswers answers, ViewGuard guard, Authorization own_authorization)
    : loop_(loop),
      leader_(leader),
      answers_(std::make_shared<const ViewAnswers>(std::move(answers))),
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

std::vector<Route> ViewApi::routes() {
  constexpr std::string_view kNodes = "nodes/";
  const auto answer = [](auto make) {
    return [make](Answers answers, const io::ServerRequest& request) { return at_once(make(*answers, request)); };
  };
  std::vector<Route> out;
  out.push_back(document("fleet", [this](Answers answers, const io::ServerRequest&) {
    Pieces pieces = [answers, of_fleet = answers->fleet()](std::string& into) { return of_fleet(into); };
    return at_once(answer_pieces(loop_, std::move(pieces)));
  }));
  out.push_back(stream());
  out.push_back(document(kNodes, answer([kNodes](const ViewAnswers& answers, const io::ServerRequest& request) {
                           const std::string_view name = name_in(request, kNodes);
                           return document_or(answers.node(name), fmt::format("there is no node {}", name));
                         })));
  std::string known = "fleet, stream, nodes/NAME, ";
  for (const auto& [plural, objects] : answers_->objects) {
    known += plural + "/NAME, ";
    out.push_back(document(plural + "/", answer([plural](const ViewAnswers& answers, const io::ServerRequest& request) {
                             const ViewAnswers::Objects& one = answers.objects.at(plural);
                             const std::string_view name = name_in(request, plural + "/");
                             return document_or(
                                 one.story(name),
                                 fmt::format("there is no {} {}, or its node does not exist", one.kind, name));
                           })));
  }
  out.push_back(document("timeline", answer([](const ViewAnswers& answers, const io::ServerRequest& request) {
                           return json_answer(answers.timeline(io::Query(request.query)["node"]));
                         })));
  out.push_back(document("plan", [this](Answers answers, const io::ServerRequest& request) {
    return planned(std::move(answers), std::string(io::Query(request.query)["hours"]));
  }));
  out.push_back(
      document("", answer([what = fmt::format("not found; there are {}timeline and plan", known)](
                              const ViewAnswers&, const io::ServerRequest&) { return json_error(404, what); })));
  return out;
}

Route ViewApi::document(std::string_view name, Answer own) {
  const std::string path = std::string(kPrefix).append(name);
  const auto answer = [this, own = std::move(own)](io::ServerRequest request) {
    const std::string cluster(io::Query(request.query)["cluster"]);
    Answers answers = answers_;
    if (!cluster.empty()) answers = answers_->of_cluster ? answers_->of_cluster(cluster) : nullptr;
    if (!answers) {
      return at_once(json_error(404, fmt::format("the nodes of cluster {} are not looked after from here", cluster)));
    }
    const std::string why = answers->unknown();
    return why.empty() ? own(std::move(answers), std::move(request)) : at_once(json_error(503, why));
  };
  return {.path = path.ends_with('/') ? below(path) : exactly(path),
          .access = guard_.access(),
          .answer = answer,
          .by_leader = ByLeader{.leading = answers_->leading,
                                .pass_on = [this](io::ServerRequest r) { return pass_on(std::move(r), kAnswerPause); },
                                .not_any_more = "the replica that was asked does not lead any more"}};
}

Route ViewApi::stream() {
  Route route = document("stream", [this](Answers answers, const io::ServerRequest& request) {
    io::ServerResponse response = json_answer();
    response.content_type = "text/event-stream";
    response.stream = std::make_unique<HoldingStream>(answers->stream(), answers);
    return at_once(counted(std::move(response), request.peer));
  });
  route.answer = unless_crowded(std::move(route.answer));
  route.by_leader->pass_on =
      unless_crowded([this](io::ServerRequest request) { return pass_on_stream(std::move(request)); });
  return route;
}

io::ServerHandler ViewApi::unless_crowded(io::ServerHandler handler) const {
  return [this, handler = std::move(handler)](io::ServerRequest request) {
    return is_crowded(request.peer) ? at_once(json_error(503, kCrowded)) : handler(std::move(request));
  };
}

Task<io::ServerResponse> ViewApi::planned(Answers answers, std::string text) {
  const auto hours = read_hours(text);
  if (!hours) co_return json_error(400, fmt::format("hours must be a number from 1 to {}", kMostHours));
  if (!answers->plan) co_return json_error(503, "this replica makes no plans");
  std::string document = co_await answers->plan(*hours);
  if (document.empty()) co_return json_error(503, "the plan has not been made yet; try again in a moment");
  co_return json_answer(std::move(document));
}

Task<io::ServerResponse> ViewApi::pass_on(io::ServerRequest request, io::Duration pause_limit) {
  LeaderRequest onward{.path = request.path, .query = request.query, .pass_errors = true};
  onward.pause_limit = pause_limit;
  if (leader_.sees_tokens()) onward.users_authorization = io::header(request.headers, "Authorization");
  // We let the client in, and we are the ones who ask the leader.
  if (onward.users_authorization.empty() && guard_.policy() != ViewPolicy::open) {
    if (own_authorization_) onward.own_authorization = co_await own_authorization_();
    if (onward.own_authorization.empty()) co_return json_error(502, kNoTokenOfOurOwn);
  }
  co_return co_await leader_.answer(std::move(onward));
}

Task<io::ServerResponse> ViewApi::pass_on_stream(io::ServerRequest request) {
  const std::string peer = request.peer;
  io::ServerResponse response = co_await pass_on(std::move(request), kStreamPause);
  if (!response.stream) co_return response;
  // Others have come while the leader was asked.
  if (is_crowded(peer)) co_return json_error(503, kCrowded);
  co_return counted(std::move(response), peer);
}

io::ServerResponse ViewApi::counted(io::ServerResponse response, const std::string& peer) {
  response.stream = std::make_unique<CountedStream>(std::move(response.stream), streams_, peer);
  // Proxies that collect an answer before they pass it on would hold back what is news now.
  response.headers.emplace_back("X-Accel-Buffering", "no");
  return response;
}

}  // namespace careen::web
