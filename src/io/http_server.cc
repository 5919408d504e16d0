#include "io/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <list>
#include <map>
#include <optional>

#include "io/http_message.h"
#include "io/real_loop.h"
#include "io/server_tls.h"
#include "io/sync.h"
#include "io/tcp_listener.h"

namespace careen::io {

namespace {

// Pause after an accept that failed for want of descriptors or memory.
constexpr Duration kAcceptAgain = milliseconds{100};
// How long a connection is left alone before it has to make room for another address: a client that has just arrived,
// in a crowd that means no harm, can at least say what it wants.
constexpr Duration kYoung = milliseconds{100};
// How long and how much is still read from a client that was refused, so that it gets to see the answer.
constexpr Duration kLinger = seconds{2};
constexpr size_t kMaxLinger = 16 << 20;

class ServerConnection;

// What the server and its connections share. A connection is owned by the operation of its stream or the task that
// will go on with it; when the server goes, it closes them all.
struct Core {
  Core(RealLoop& l, ServerOptions o, ServerHandler h)
      : loop(l), options(std::move(o)), handler(std::move(h)), handlers(l) {}
  void left(std::list<ServerConnection*>::iterator place) {
    connections.erase(place);
    on_room();
  }
  // Closes the client that has been unfinished longest until what is held fits again. A single one may hold as much as
  // it likes.
  void shed();
  // Lets requests be handled as long as there may be more of them.
  void give_turns();
  ServerConnection* next_turn() const;
  int handling_of(const std::string& peer) const;
  void count_handling(const std::string& peer, int change);

  RealLoop& loop;
  ServerOptions options;
  ServerHandler handler;
  std::unique_ptr<ServerTls> tls;            // null: plain
  std::list<ServerConnection*> connections;  // the one that is in its phase longest first
  size_t held = 0;                           // bytes, of all connections
  int handling = 0;                          // requests
  std::map<std::string, int> handling_by_peer;
  std::function<void()> on_room;  // a connection has left, or could
  Scope handlers;
};

enum class Phase {
  handshake,
  waiting,  // for a request of which nothing has come
  request,  // some of it has come
  queued,   // all of it has; it waits for its turn
  handling,
  writing,    // the answer, or a piece of it
  streaming,  // between two pieces
  leaving,
};

// One client: reads a request, has it answered, and so on. Everything it does ends when it is closed.
class ServerConnection final : public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(Core& core, std::shared_ptr<TcpStream> stream)
      : core_(&core),
        stream_(std::move(stream)),
        peer_(stream_->peer()),
        parser_(core.options.max_body),
        timer_(core.loop, [this] { close(); }),
        since_(core.loop.now()),
        turn_(core.loop),
        sent_(core.loop),
        gone_(core.loop) {
    place_ = core.connections.insert(core.connections.end(), this);
  }
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  ~ServerConnection() { forget(); }

  // Null: without TLS.
  void start(TlsContext tls) {
    if (!tls) return read_request(core_->options.head_timeout);
    limit(core_->options.handshake_timeout);
    stream_->accept_tls(std::move(tls), [self = shared_from_this()](std::error_code error) {
      if (error) return self->close();
      if (self->core_ == nullptr) return;
      self->read_request(self->core_->options.head_timeout);
    });
  }

  void close() {
    stream_->close();
    forget();
  }

  // Its request may be handled now.
  void take_turn() {
    enter(Phase::handling);
    no_limit();
    hold(0);
    turn_.open();
  }
  // Until then, or until the client has gone.
  Task<void> turn() { co_await turn_.wait(); }
  bool queued() const { return phase_ == Phase::queued; }

  // Takes the answer of the handler.
  void respond(ServerResponse response) {
    if (core_ == nullptr) return;
    write(std::move(response), parser_.keeps_alive());
  }

  // The same in pieces: the head, then the body piece by piece, each when the one before is sent, then its end.
  void begin(const ServerResponse& head) {
    if (core_ == nullptr) return;
    send(head_of_pieces(head, parser_.is_http_1_0()), [](ServerConnection&) {});
    await_leave();
  }
  void send_piece(std::string piece) {
    if (core_ == nullptr) return;
    if (!parser_.is_http_1_0()) piece = fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
    send(std::move(piece), [](ServerConnection&) {});
  }
  void send_end() {
    if (core_ == nullptr) return;
    // The read of await_leave() sees the client close in turn.
    send(parser_.is_http_1_0() ? "" : "0\r\n\r\n", [](ServerConnection& self) {
      self.enter(Phase::leaving);
      self.limit(kLinger);
      self.stream_->stop_sending();
    });
  }
  // Until what was given last is sent, or the client has gone.
  Task<void> sent() {
    while (sending_ && !gone_.is_open()) co_await sent_.wait();
  }
  Task<void> left() { co_await gone_.wait(); }
  bool gone() const { return gone_.is_open(); }

  // How long it has been doing what it does, and whether it may be closed to make room.
  Steady since() const { return since_; }
  bool unfinished() const { return phase_ != Phase::handling && phase_ != Phase::streaming; }
  const std::string& peer() const { return peer_.address; }
  size_t held() const { return held_; }

 private:
  void read_request(Duration patience) {
    parser_.begin();
    enter(Phase::waiting);
    limit(patience);
    if (parser_.has_bytes()) begin_request();
    read_head();
  }
  void begin_request() {
    enter(Phase::request);
    limit(core_->options.head_timeout);
  }

  void read_head() {
    const auto there = parser_.has_head();
    if (there && !*there) return read_more(&ServerConnection::read_head);
    if (!there) return refuse(there.error());
    limit(core_->options.body_timeout);
    if (!parser_.expects_continue()) return read_rest();
    stream_->write("HTTP/1.1 100 Continue\r\n\r\n", "", [self = shared_from_this()](std::error_code error) {
      if (error) return self->close();
      self->read_rest();
    });
  }

  void read_rest() {
    if (core_ == nullptr) return;
    const auto there = parser_.has_all();
    if (!there) return refuse(there.error());
    if (!*there) return read_more(&ServerConnection::read_rest);
    handle();
  }

  // A request that breaks off gets no answer.
  void read_more(void (ServerConnection::*then)()) {
    stream_->read([self = shared_from_this(), then](std::error_code error, std::string_view bytes) {
      if (error) return self->close();
      if (self->core_ == nullptr) return;
      if (self->phase_ == Phase::waiting) self->begin_request();
      self->parser_.add(bytes);
      self->hold(self->held_ + bytes.size());
      if (self->core_ != nullptr) (self.get()->*then)();
    });
  }

  void handle();

  void refuse(const Refusal& refusal) {
    ServerResponse response;
    response.status = refusal.status;
    response.body = refusal.reason + "\n";
    head_only_ = false;
    write(std::move(response), false);
  }

  void write(ServerResponse response, bool keep_alive) {
    std::string head = head_of(response, parser_.is_http_1_0(), keep_alive);
    if (head_only_ || !may_have_body(response.status)) response.body.clear();
    begin_writing();
    hold(head.size() + response.body.size());
    if (core_ == nullptr) return;
    stream_->write(std::move(head), std::move(response.body),
                   [self = shared_from_this(), keep_alive](std::error_code error) {
                     if (error) return self->close();
                     if (self->core_ == nullptr) return;
                     self->hold(0);
                     if (keep_alive) return self->read_request(self->core_->options.idle_timeout);
                     self->end();
                   });
  }

  void send(std::string text, void (*then)(ServerConnection&)) {
    begin_writing();
    set_sending(true);
    stream_->write(std::move(text), "", [self = shared_from_this(), then](std::error_code error) {
      if (error) return self->close();
      if (self->core_ == nullptr) return;
      self->enter(Phase::streaming);
      self->no_limit();
      self->set_sending(false);
      then(*self);
    });
  }
  void begin_writing() {
    enter(Phase::writing);
    limit(core_->options.write_timeout);
  }

  // Reads while a body is written, to learn that the client goes; what it still sends is of no interest.
  void await_leave() {
    if (core_ == nullptr) return;
    stream_->read([self = shared_from_this()](std::error_code error, std::string_view) {
      if (error) return self->close();
      self->await_leave();
    });
  }

  // Closing while the client still sends would make the system reset the connection, and the client would never
  // see the answer.
  void end() {
    enter(Phase::leaving);
    limit(kLinger);
    stream_->end_tls([self = shared_from_this()](std::error_code) {
      self->stream_->stop_sending();
      self->linger();
    });
  }
  void linger() {
    if (core_ == nullptr) return;
    stream_->read([self = shared_from_this()](std::error_code error, std::string_view bytes) {
      self->lingered_ += bytes.size();
      if (error || self->lingered_ > kMaxLinger) return self->close();
      self->linger();
    });
  }

  // The server no longer counts this connection.
  void forget() {
    no_limit();
    if (core_ == nullptr) return;
    gone_.open();
    turn_.open();
    sent_.notify();
    core_->held -= std::exchange(held_, 0);
    Core& core = *std::exchange(core_, nullptr);
    const bool was_handled = phase_ == Phase::handling;
    if (was_handled) core.count_handling(peer(), -1);
    core.left(place_);
    if (was_handled) core.give_turns();
  }
  void enter(Phase phase) {
    const bool was_handled = std::exchange(phase_, phase) == Phase::handling;
    since_ = core_->loop.now();
    core_->connections.splice(core_->connections.end(), core_->connections, place_);
    if (phase == Phase::handling) core_->count_handling(peer(), +1);
    if (was_handled) core_->count_handling(peer(), -1);
    core_->on_room();
    if (was_handled) core_->give_turns();
  }
  // Closes the connection if it is the one that has to make room.
  void hold(size_t bytes) {
    core_->held += bytes - std::exchange(held_, bytes);
    core_->shed();
  }
  void set_sending(bool sending) {
    sending_ = sending;
    if (!sending) sent_.notify();
  }
  void limit(Duration d) { timer_.set(core_->loop.now() + d); }
  void no_limit() {
    timer_.cancel();
    timer_.unlink();
  }

  Core* core_;  // null: closed
  std::shared_ptr<TcpStream> stream_;
  const TcpStream::Peer peer_;
  RequestParser parser_;
  std::list<ServerConnection*>::iterator place_;
  Alarm timer_;
  Phase phase_ = Phase::handshake;
  Steady since_;
  size_t held_ = 0;
  bool head_only_ = false;
  bool sending_ = false;
  Gate turn_;
  Signal sent_;
  Gate gone_;
  size_t lingered_ = 0;
};

Task<void> read_piece(BodyStream& body, std::string& piece, std::optional<Result<bool>>& more) {
  more = co_await body.read(piece);
}

Task<void> answer_in_pieces(Loop& loop, ServerConnection& connection, ServerResponse response) {
  connection.begin(response);
  for (;;) {
    co_await connection.sent();
    if (connection.gone()) co_return;
    std::string piece;
    std::optional<Result<bool>> more;
    co_await race(loop, read_piece(*response.stream, piece, more), connection.left());
    if (connection.gone() || !more) co_return;
    if (!*more) co_return connection.close();
    if (!**more) co_return connection.send_end();
    if (!piece.empty()) connection.send_piece(std::move(piece));
  }
}

Task<void> answer(Core& core, std::shared_ptr<ServerConnection> connection, ServerRequest request) {
  co_await connection->turn();
  if (connection->gone()) co_return;
  const bool head_only = request.method == "HEAD";
  ServerResponse response = co_await core.handler(std::move(request));
  if (response.stream && !head_only) co_return co_await answer_in_pieces(core.loop, *connection, std::move(response));
  connection->respond(std::move(response));
}

void ServerConnection::handle() {
  auto request = parser_.take();
  if (!request) return refuse(request.error());
  request->peer = peer_.address;
  request->local = peer_.local;
  head_only_ = request->method == "HEAD";
  enter(Phase::queued);
  limit(core_->options.body_timeout);
  turn_.close();
  core_->handlers.spawn(answer(*core_, shared_from_this(), std::move(*request)));
  core_->give_turns();
}

void Core::give_turns() {
  while (ServerConnection* next = next_turn()) next->take_turn();
}

// The one that has waited longest, of those whose address has the fewest being handled.
ServerConnection* Core::next_turn() const {
  if (options.max_handling > 0 && handling >= options.max_handling) return nullptr;
  ServerConnection* next = nullptr;
  int fewest = options.max_handling_per_peer > 0 ? options.max_handling_per_peer : INT_MAX;
  for (ServerConnection* connection : connections) {
    if (!connection->queued()) continue;
    const int its = handling_of(connection->peer());
    if (its >= fewest) continue;
    fewest = its;
    next = connection;
  }
  return next;
}

int Core::handling_of(const std::string& peer) const {
  const auto it = handling_by_peer.find(peer);
  return it == handling_by_peer.end() ? 0 : it->second;
}

void Core::count_handling(const std::string& peer, int change) {
  handling += change;
  int& its = handling_by_peer[peer];
  its += change;
  if (its == 0) handling_by_peer.erase(peer);
}

void Core::shed() {
  if (options.max_held == 0) return;
  while (held > options.max_held) {
    const auto holds = [](const ServerConnection* c) { return c->unfinished() && c->held() > 0; };
    const auto oldest = std::find_if(connections.begin(), connections.end(), holds);
    if (oldest == connections.end() || (*oldest)->held() == held) return;
    (*oldest)->close();
  }
}

// Accepts connections while there is room.
class TcpHttpServer final : public HttpServer {
 public:
  TcpHttpServer(RealLoop& loop, ServerOptions options, ServerHandler handler)
      : core_(loop, std::move(options), std::move(handler)), again_(loop, [this] { accept(); }) {
    core_.on_room = [this] { accept(); };
  }
  TcpHttpServer(const TcpHttpServer&) = delete;
  TcpHttpServer& operator=(const TcpHttpServer&) = delete;
  ~TcpHttpServer() override {
    listener_.reset();
    core_.handlers.cancel();
    while (!core_.connections.empty()) core_.connections.front()->close();
  }

  Result<void> start() {
    auto tls = make_server_tls(core_.loop, core_.options);
    if (!tls) return tl::make_unexpected(std::move(tls.error()));
    core_.tls = std::move(*tls);
    auto listener = listen_tcp(core_.loop, core_.options.address);
    if (!listener) return tl::make_unexpected(std::move(listener.error()));
    listener_ = std::move(*listener);
    accept();
    return {};
  }

  int port() const override { return listener_->port(); }

 private:
  void accept() {
    if (!listener_ || accepting_ || again_.pending()) return;
    if (full()) {
      const ServerConnection* oldest = longest_unfinished(std::nullopt);
      if (oldest == nullptr) return;
      if (oldest->since() + kYoung > core_.loop.now()) return again_.set(oldest->since() + kYoung);
    }
    accepting_ = true;
    listener_->accept([this](std::error_code error, std::shared_ptr<TcpStream> stream) {
      if (error) {
        again_.set(core_.loop.now() + kAcceptAgain);
      } else {
        take(std::move(stream));
      }
      // Only now: making room calls for the next one, too.
      accepting_ = false;
      accept();
    });
  }

  // A stream that nobody takes is closed.
  void take(std::shared_ptr<TcpStream> stream) {
    const std::string peer = stream->peer().address;
    if (has_its_share(peer) && !make_room(peer)) return;
    // There was somebody when it was accepted. If they have finished since, it is one too many for a while.
    if (full()) make_room(std::nullopt);
    const TlsContext tls = core_.tls ? core_.tls->current() : nullptr;
    if (core_.tls && !tls) return;
    std::make_shared<ServerConnection>(core_, std::move(stream))->start(tls);
  }

  bool full() const { return core_.connections.size() >= static_cast<size_t>(core_.options.max_connections); }
  bool has_its_share(const std::string& peer) const {
    const auto& all = core_.connections;
    const auto count = std::count_if(all.begin(), all.end(), [&](const auto* c) { return c->peer() == peer; });
    return core_.options.max_per_peer > 0 && count >= core_.options.max_per_peer;
  }
  // Of this peer, or of all.
  ServerConnection* longest_unfinished(const std::optional<std::string>& peer) const {
    const auto it = std::find_if(core_.connections.begin(), core_.connections.end(), [&](const ServerConnection* c) {
      return c->unfinished() && (!peer || c->peer() == *peer);
    });
    return it == core_.connections.end() ? nullptr : *it;
  }
  bool make_room(const std::optional<std::string>& peer) {
    ServerConnection* oldest = longest_unfinished(peer);
    if (oldest != nullptr) oldest->close();
    return oldest != nullptr;
  }

  Core core_;
  std::unique_ptr<TcpListener> listener_;  // null: it takes none, or no more
  Alarm again_;
  bool accepting_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> serve_http(RealLoop& loop, ServerOptions options, ServerHandler handler) {
  auto server = std::make_unique<TcpHttpServer>(loop, std::move(options), std::move(handler));
  if (auto ok = server->start(); !ok) return tl::make_unexpected(std::move(ok.error()));
  return server;
}

}  // namespace careen::io
