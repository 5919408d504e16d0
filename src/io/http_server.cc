#include "io/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
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
// A connection that waits for its request is left alone for this long before it has to make room.
constexpr Duration kYoung = milliseconds{250};
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

  RealLoop& loop;
  ServerOptions options;
  ServerHandler handler;
  std::unique_ptr<ServerTls> tls;            // null: plain
  std::list<ServerConnection*> connections;  // the one that waits longest first
  std::function<void()> on_room;             // a connection has left, or could
  Scope handlers;
};

// One client: reads a request, has it answered, and so on. Everything it does ends when it is closed.
class ServerConnection final : public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(Core& core, std::shared_ptr<TcpStream> stream)
      : core_(&core),
        stream_(std::move(stream)),
        parser_(core.options.max_body),
        timer_(core.loop, [this] { close(); }),
        sent_(core.loop),
        gone_(core.loop) {
    place_ = core.connections.insert(core.connections.end(), this);
  }
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  ~ServerConnection() { forget(); }

  // Null: without TLS.
  void start(TlsContext tls) {
    if (!tls) return read_request();
    limit(core_->options.idle_timeout);
    stream_->accept_tls(std::move(tls), [self = shared_from_this()](std::error_code error) {
      if (error) return self->close();
      self->read_request();
    });
  }

  void close() {
    stream_->close();
    forget();
  }

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

  // Since when it has been waiting for a request of which nothing has come.
  std::optional<Steady> waits_since() const { return waits_since_; }

 private:
  void read_request() {
    if (core_ == nullptr) return;
    parser_.begin();
    set_waiting(!parser_.has_bytes());
    limit(core_->options.idle_timeout);
    read_head();
  }

  void read_head() {
    const auto there = parser_.has_head();
    if (there && !*there) return read_more(&ServerConnection::read_head);
    set_waiting(false);
    if (!there) return refuse(there.error());
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
      self->parser_.add(bytes);
      (self.get()->*then)();
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
    limit(core_->options.idle_timeout);
    std::string head = head_of(response, parser_.is_http_1_0(), keep_alive);
    if (head_only_ || !may_have_body(response.status)) response.body.clear();
    stream_->write(std::move(head), std::move(response.body),
                   [self = shared_from_this(), keep_alive](std::error_code error) {
                     if (error) return self->close();
                     if (keep_alive) return self->read_request();
                     self->end();
                   });
  }

  void send(std::string text, void (*then)(ServerConnection&)) {
    set_sending(true);
    limit(core_->options.idle_timeout);
    stream_->write(std::move(text), "", [self = shared_from_this(), then](std::error_code error) {
      if (error) return self->close();
      if (self->core_ == nullptr) return;
      self->no_limit();
      self->set_sending(false);
      then(*self);
    });
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
    if (core_ == nullptr) return;
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
    sent_.notify();
    std::exchange(core_, nullptr)->left(place_);
  }
  void set_waiting(bool waits) {
    waits_since_.reset();
    if (!waits || core_ == nullptr) return;
    waits_since_ = core_->loop.now();
    core_->connections.splice(core_->connections.end(), core_->connections, place_);
    core_->on_room();
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
  RequestParser parser_;
  std::list<ServerConnection*>::iterator place_;
  Alarm timer_;
  std::optional<Steady> waits_since_;
  bool head_only_ = false;
  bool sending_ = false;
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
  const bool head_only = request.method == "HEAD";
  ServerResponse response = co_await core.handler(std::move(request));
  if (response.stream && !head_only) co_return co_await answer_in_pieces(core.loop, *connection, std::move(response));
  connection->respond(std::move(response));
}

void ServerConnection::handle() {
  auto request = parser_.take();
  if (!request) return refuse(request.error());
  auto peer = stream_->peer();
  request->peer = std::move(peer.address);
  request->local = peer.local;
  head_only_ = request->method == "HEAD";
  no_limit();
  core_->handlers.spawn(answer(*core_, shared_from_this(), std::move(*request)));
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
      const ServerConnection* oldest = longest_waiting();
      if (oldest == nullptr) return;
      const Steady old_enough = *oldest->waits_since() + kYoung;
      if (old_enough > core_.loop.now()) return again_.set(old_enough);
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

  void take(std::shared_ptr<TcpStream> stream) {
    if (full()) {
      ServerConnection* oldest = longest_waiting();
      if (oldest == nullptr) return;
      oldest->close();
    }
    const TlsContext tls = core_.tls ? core_.tls->current() : nullptr;
    if (core_.tls && !tls) return;
    std::make_shared<ServerConnection>(core_, std::move(stream))->start(tls);
  }

  bool full() const { return core_.connections.size() >= static_cast<size_t>(core_.options.max_connections); }
  ServerConnection* longest_waiting() const {
    const auto it = std::find_if(core_.connections.begin(), core_.connections.end(),
                                 [](const ServerConnection* c) { return c->waits_since().has_value(); });
    return it == core_.connections.end() ? nullptr : *it;
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
