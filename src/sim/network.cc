#include "sim/network.h"

#include <algorithm>
#include <utility>

namespace careen::sim {

using io::Result;
using io::Task;
using kube::Request;
using kube::Response;
using kube::StreamResponse;

namespace {
// As the real server sends them to a watch that asks.
constexpr io::Duration kBookmarks = io::seconds{60};
}  // namespace

// A request on its way. The client may have gone; then the replies are null.
struct Network::Call {
  std::string client;
  Request request;
  bool stream = false;
  Treatment treatment;
  io::Loop* client_loop = nullptr;  // while one of the replies is there
  io::OneShot<Result<Response>>* reply = nullptr;
  io::OneShot<Result<StreamResponse>>* stream_reply = nullptr;

  Sending sending() const { return {client, request, stream}; }
  void fail(io::ErrorKind kind, std::string message) {
    if (reply) reply->set(io::fail(kind, message));
    if (stream_reply) stream_reply->set(io::fail(kind, message));
  }
};

// An open stream: what the server has to tell, and how much of it is on its way.
struct Network::Feed {
  Feed(io::Loop& loop, std::string name, std::unique_ptr<Watch> w)
      : client(std::move(name)), watch(std::move(w)), changed(loop) {}
  std::string client;
  std::unique_ptr<Watch> watch;
  std::string text;  // arrived
  bool ended = false;
  bool broken = false;
  io::Signal changed;
};

class Network::FeedStream final : public kube::Stream {
 public:
  explicit FeedStream(std::shared_ptr<Feed> feed) : feed_(std::move(feed)) {}
  Task<Result<bool>> read(std::string& into) override {
    for (;;) {
      if (!feed_->text.empty()) {
        into += std::exchange(feed_->text, {});
        co_return true;
      }
      if (feed_->broken) co_return io::fail(io::ErrorKind::closed, "the connection broke");
      if (feed_->ended) co_return false;
      co_await feed_->changed.wait();
    }
  }

 private:
  std::shared_ptr<Feed> feed_;
};

class Network::Connection final : public kube::Transport {
 public:
  Connection(Network& network, io::Loop& client, std::string name)
      : network_(network), loop_(client), name_(std::move(name)) {}
  std::string_view host() const override { return "model:443"; }

  Task<Result<Response>> send(Request request) override {
    io::OneShot<Result<Response>> reply(loop_);
    co_return co_await exchange(std::move(request), false, &Call::reply, reply);
  }
  Task<Result<StreamResponse>> open(Request request) override {
    io::OneShot<Result<StreamResponse>> reply(loop_);
    co_return co_await exchange(std::move(request), true, &Call::stream_reply, reply);
  }

 private:
  template <class T>
  Task<Result<T>> exchange(Request request, bool stream, io::OneShot<Result<T>>* Call::* slot,
                           io::OneShot<Result<T>>& reply) {
    const io::Duration timeout = request.timeout;
    auto call = std::make_shared<Call>();
    call->client = name_;
    call->request = std::move(request);
    call->stream = stream;
    call->client_loop = &loop_;
    if (const auto chosen = network_.treat) call->treatment = chosen(call->sending());
    // The call outlives this frame; it must not find the reply after the frame has gone.
    struct Hangup {
      Call& call;
      io::OneShot<Result<T>>* Call::* slot;
      ~Hangup() { call.*slot = nullptr; }
    };
    const Hangup hangup{*call, slot};
    (*call).*slot = &reply;
    network_.scope_.spawn(network_.serve(call));
    auto response = co_await io::with_timeout(loop_, timeout, wait_for(reply));
    if (!response) co_return io::fail(io::ErrorKind::timeout, "no answer in time");
    co_return std::move(*response);
  }
  template <class T>
  static Task<T> wait_for(io::OneShot<T>& reply) {
    co_return co_await reply.take();
  }

  Network& network_;
  io::Loop& loop_;
  std::string name_;
};

Network::Network(io::Loop& loop, ApiServer& server) : loop_(loop), server_(server), scope_(loop) {
  weather_[""] = {};
  server_.observe([this](const Change& change) {
    const Weather& now = weather(change.collection);
    if (now.delay > io::Duration{0}) {
      scope_.spawn(pump_after(now.delay));
    } else {
      pump_all();
    }
  });
}
Network::~Network() = default;

std::unique_ptr<kube::Transport> Network::connect(io::Loop& client, std::string name) {
  return std::make_unique<Connection>(*this, client, std::move(name));
}

Task<void> Network::serve(std::shared_ptr<Call> call) {
  const Treatment& treatment = call->treatment;
  if (treatment.lost) co_return;
  if (treatment.before > io::Duration{0}) co_await io::sleep_for(loop_, treatment.before);
  if (treatment.held) {
    held_.push_back(std::move(call));
    co_return;
  }
  co_await reply(call, take_effect(*call));
}

void Network::release_held() {
  for (const auto& call : std::exchange(held_, {})) scope_.spawn(reply(call, take_effect(*call)));
}

// The request is at the server.
StreamResponse Network::take_effect(Call& call) {
  const Treatment& treatment = call.treatment;
  StreamResponse answer;
  if (treatment.refuse) {
    answer.head = *treatment.refuse;
    return answer;
  }
  Caller caller{call.client, {}};
  if (treatment.stale > io::Duration{0}) caller.sees = server_.version_at(loop_.now() - treatment.stale);
  if (!call.stream) {
    answer.head = server_.handle(call.request, caller);
  } else {
    ApiServer::Opened opened = server_.watch(call.request, caller);
    answer.head = std::move(opened.head);
    if (opened.watch && call.stream_reply) {
      auto feed = std::make_shared<Feed>(*call.client_loop, call.client, std::move(opened.watch));
      feeds_.push_back(feed);
      scope_.spawn(accompany(feed));
      pump(*feed);
      answer.stream = std::make_unique<FeedStream>(std::move(feed));
    }
  }
  if (served) {
    Sending sending = call.sending();
    sending.abandoned = !call.reply && !call.stream_reply;
    served(sending, answer.head);
  }
  return answer;
}

Task<void> Network::reply(std::shared_ptr<Call> call, StreamResponse answer) {
  const Treatment& treatment = call->treatment;
  if (treatment.unanswered) co_return;
  if (treatment.after > io::Duration{0}) co_await io::sleep_for(loop_, treatment.after);
  if (treatment.cut) {
    call->fail(io::ErrorKind::closed, "the connection broke");
    co_return;
  }
  if (treatment.mask) answer = {*treatment.mask, nullptr};
  if (call->reply) call->reply->set(std::move(answer.head));
  if (call->stream_reply) call->stream_reply->set(std::move(answer));
}

// Bookmarks, and the end when its time has come.
Task<void> Network::accompany(std::weak_ptr<Feed> weak) {
  for (;;) {
    io::Steady next;
    if (const auto feed = weak.lock(); feed && !feed->ended) {
      next = loop_.now() + kBookmarks;
      // Of a frozen stream the end does not come either.
      if (feed->watch->ends_at() > loop_.now()) next = std::min(next, feed->watch->ends_at());
    } else {
      co_return;
    }
    co_await io::sleep_until(loop_, next);
    const auto feed = weak.lock();
    if (!feed || feed->ended) co_return;
    pump(*feed);
    if (feed->ended || frozen(*feed)) continue;
    feed->watch->bookmark(feed->text);
    if (!feed->text.empty()) feed->changed.notify();
  }
}

const Network::Weather& Network::weather(const std::string& collection) const {
  // Asked for every stream after every change; mostly there is but one weather, that of all.
  if (weather_.size() == 1) return weather_.begin()->second;
  const auto own = weather_.find(collection);
  return own == weather_.end() ? weather_.find("")->second : own->second;
}

bool Network::frozen(const Feed& feed) const {
  return weather(feed.watch->collection()).frozen || blind_.contains(feed.client);
}

void Network::set_blind(std::string_view client, bool blind) {
  if (blind) {
    blind_.emplace(client);
  } else {
    blind_.erase(std::string(client));
    scope_.spawn(pump_after(io::Duration{0}));
  }
}

void Network::set_weather(std::string_view collection, Weather weather) {
  weather_.insert_or_assign(std::string(collection), weather);
  scope_.spawn(pump_after(weather.delay));
}

Task<void> Network::pump_after(io::Duration delay) {
  co_await io::sleep_for(loop_, delay);
  pump_all();
}

void Network::pump_all() {
  std::erase_if(feeds_, [](const auto& feed) { return feed.expired(); });
  for (const auto& weak : feeds_) {
    if (const auto feed = weak.lock()) pump(*feed);
  }
}

void Network::pump(Feed& feed) {
  if (feed.ended) return;
  if (frozen(feed)) return;
  const Weather& now = weather(feed.watch->collection());
  const size_t begun = feed.text.size();
  feed.watch->read(feed.text, now.delay > io::Duration{0} ? server_.version_at(loop_.now() - now.delay) : UINT64_MAX);
  feed.ended = feed.watch->ended();
  if (feed.text.size() > begun || feed.ended) feed.changed.notify();
}

void Network::end_streams(std::string_view collection, bool broken) {
  for (const auto& weak : feeds_) {
    const auto feed = weak.lock();
    if (!feed || (!collection.empty() && feed->watch->collection() != collection)) continue;
    feed->ended = true;
    feed->broken = broken;
    feed->changed.notify();
  }
}

size_t Network::open_streams() const {
  return static_cast<size_t>(std::count_if(feeds_.begin(), feeds_.end(), [](const auto& weak) {
    const auto feed = weak.lock();
    return feed && !feed->ended;
  }));
}

}  // namespace careen::sim
