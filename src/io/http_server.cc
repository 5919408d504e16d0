#include "io/http_server.h"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstring>
#include <list>
#include <optional>
#include <sstream>

#include "io/real_loop.h"
#include "io/server_tls.h"
#include "io/sync.h"

namespace careen::io {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;

constexpr uint32_t kMaxHeader = 64 << 10;
// Pause after an accept that failed for want of descriptors or memory.
constexpr Duration kAcceptAgain = milliseconds{100};
// A connection that waits for its request is left alone for this long before it has to make room.
constexpr Duration kYoung = milliseconds{250};
// How long and how much is still read from a client that was refused, so that it gets to see the answer.
constexpr Duration kLinger = seconds{2};
constexpr size_t kMaxLinger = 16 << 20;

std::optional<std::string> percent_decode(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  if (out.find('\0') != std::string::npos) return std::nullopt;
  return out;
}

std::string without_controls(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  return out;
}

class Connection;

// What the server and its connections share. A connection is owned by the Asio handler or the task that will go on
// with it; when the server goes, it closes them all.
struct Core {
  Core(RealLoop& l, ServerOptions o, ServerHandler h)
      : loop(l), options(std::move(o)), handler(std::move(h)), handlers(l) {}
  void left(std::list<Connection*>::iterator place);

  RealLoop& loop;
  ServerOptions options;
  ServerHandler handler;
  std::unique_ptr<ServerTls> tls;      // null: plain
  std::list<Connection*> connections;  // the one that waits longest first
  std::function<void()> on_room;       // a connection has left, or could
  Scope handlers;
};

// What does not depend on the kind of stream.
class Connection {
 public:
  explicit Connection(Core& core)
      : core_(&core), timer_(core.loop, [this] { close(); }), sent_(core.loop), gone_(core.loop) {
    place_ = core.connections.insert(core.connections.end(), this);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() { forget(); }

  virtual void close() = 0;
  // Takes the answer of the handler.
  virtual void respond(ServerResponse response) = 0;
  // The same in pieces: the head, then the body piece by piece, each when the one before is sent, then its end.
  virtual void begin(ServerResponse head) = 0;
  virtual void send_piece(std::string_view piece) = 0;
  virtual void send_end() = 0;
  // Until what was given last is sent, or the client has gone.
  Task<void> sent() {
    while (sending_ && !gone_.is_open()) co_await sent_.wait();
  }
  Task<void> left() { co_await gone_.wait(); }
  bool gone() const { return gone_.is_open(); }
  // Since when it has been waiting for a request of which nothing has come.
  std::optional<Steady> waits_since() const { return waits_since_; }

 protected:
  // The server no longer counts this connection.
  void forget() {
    timer_.cancel();
    timer_.unlink();
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
  void limit(Duration d) { timer_.set(core_->loop.now() + d); }
  void no_limit() {
    timer_.cancel();
    timer_.unlink();
  }

  void set_sending(bool sending) {
    sending_ = sending;
    if (!sending) sent_.notify();
  }

  Core* core_;

 private:
  std::list<Connection*>::iterator place_;
  Alarm timer_;
  bool sending_ = false;
  Signal sent_;
  Gate gone_;
  std::optional<Steady> waits_since_;
};

void Core::left(std::list<Connection*>::iterator place) {
  connections.erase(place);
  on_room();
}

Task<void> read_piece(BodyStream& body, std::string& piece, std::optional<Result<bool>>& more) {
  more = co_await body.read(piece);
}

Task<void> answer_in_pieces(Loop& loop, Connection& connection, ServerResponse response) {
  const std::unique_ptr<BodyStream> body = std::move(response.stream);
  connection.begin(std::move(response));
  for (;;) {
    co_await connection.sent();
    if (connection.gone()) co_return;
    std::string piece;
    std::optional<Result<bool>> more;
    co_await race(loop, read_piece(*body, piece, more), connection.left());
    if (connection.gone() || !more) co_return;
    if (!*more) co_return connection.close();
    if (!**more) co_return connection.send_end();
    if (!piece.empty()) connection.send_piece(piece);
  }
}

Task<void> answer(Core& core, std::shared_ptr<Connection> connection, ServerRequest request) {
  const bool head_only = request.method == "HEAD";
  ServerResponse response = co_await core.handler(std::move(request));
  if (response.stream && !head_only) co_return co_await answer_in_pieces(core.loop, *connection, std::move(response));
  connection->respond(std::move(response));
}

template <class Stream>
class StreamConnection final : public Connection, public std::enable_shared_from_this<StreamConnection<Stream>> {
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

 public:
  template <class... Arguments>
  StreamConnection(Core& core, std::shared_ptr<asio::ssl::context> tls, Arguments&&... arguments)
      : Connection(core), tls_(std::move(tls)), stream_(std::forward<Arguments>(arguments)...) {}

  void start() {
    if constexpr (kTls) {
      limit(core_->options.idle_timeout);
      stream_.async_handshake(asio::ssl::stream_base::server, [self = this->shared_from_this()](ErrorCode error) {
        if (error) return self->close();
        self->read();
      });
    } else {
      read();
    }
  }

  void close() override {
    ErrorCode ignored;
    socket().close(ignored);
    forget();
  }

  void respond(ServerResponse response) override {
    if (core_ == nullptr) return;
    write(std::move(response), parser_->get().keep_alive());
  }

  void begin(ServerResponse from) override {
    if (core_ == nullptr) return;
    // A client of HTTP/1.0 takes what comes until the connection ends.
    chunked_ = parser_->get().version() != 10;
    http::response<http::empty_body> head;
    head.version(chunked_ ? 11 : 10);
    head.result(static_cast<unsigned>(from.status));
    for (const auto& [name, value] : from.headers) head.insert(name, without_controls(value));
    head.set(http::field::content_type, without_controls(from.content_type));
    head.chunked(chunked_);
    head.keep_alive(false);
    std::ostringstream text;
    text << head.base();
    send(text.str(), [](StreamConnection&) {});
    await_leave();
  }

  void send_piece(std::string_view piece) override {
    if (core_ == nullptr) return;
    send(chunked_ ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : std::string(piece), [](StreamConnection&) {});
  }

  void send_end() override {
    if (core_ == nullptr) return;
    // The read of await_leave() sees the client close in turn.
    send(chunked_ ? "0\r\n\r\n" : "", [](StreamConnection& self) {
      self.limit(kLinger);
      ErrorCode ignored;
      self.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

 private:
  void send(std::string text, void (*then)(StreamConnection&)) {
    set_sending(true);
    limit(core_->options.idle_timeout);
    outgoing_ = std::move(text);
    asio::async_write(stream_, asio::buffer(outgoing_),
                      [self = this->shared_from_this(), then](ErrorCode error, size_t) {
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
    stream_.async_read_some(asio::buffer(discarded_), [self = this->shared_from_this()](ErrorCode error, size_t) {
      if (error) return self->close();
      self->await_leave();
    });
  }

  tcp::socket& socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }

  void read() {
    if (core_ == nullptr) return;
    parser_.emplace();
    parser_->header_limit(kMaxHeader);
    parser_->body_limit(core_->options.max_body);
    set_waiting(buffer_.size() == 0);
    limit(core_->options.idle_timeout);
    http::async_read_header(stream_, buffer_, *parser_, [self = this->shared_from_this()](ErrorCode error, size_t) {
      self->set_waiting(false);
      if (error) return self->refuse(error);
      self->read_body();
    });
  }

  void read_body() {
    if (core_ == nullptr) return;
    if (boost::beast::iequals(parser_->get()[http::field::expect], "100-continue") && !parser_->is_done()) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      asio::async_write(stream_, asio::buffer(kContinue), [self = this->shared_from_this()](ErrorCode error, size_t) {
        if (error) return self->close();
        self->read_rest();
      });
      return;
    }
    read_rest();
  }

  void read_rest() {
    if (core_ == nullptr) return;
    http::async_read(stream_, buffer_, *parser_, [self = this->shared_from_this()](ErrorCode error, size_t) {
      if (error) return self->refuse(error);
      self->handle();
    });
  }

  void handle() {
    if (core_ == nullptr) return;
    auto& message = parser_->get();
    std::string_view target(message.target().data(), message.target().size());
    // The absolute form, as it is sent to a proxy.
    if (const size_t scheme = target.find("://"); !target.starts_with('/') && scheme != std::string_view::npos) {
      target.remove_prefix(std::min(target.find('/', scheme + 3), target.size()));
      if (target.empty()) target = "/";
    }
    const size_t question = std::min(target.find('?'), target.size());
    auto path = percent_decode(target.substr(0, question));
    if (!path) return refuse(400, "the path is not properly encoded");

    ServerRequest request;
    request.method = std::string(message.method_string());
    request.target = std::string(target);
    request.path = std::move(*path);
    request.query = std::string(target.substr(std::min(question + 1, target.size())));
    for (const auto& field : message) {
      request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    request.body = std::move(message.body());
    set_peer(request);
    head_only_ = message.method() == http::verb::head;
    no_limit();
    core_->handlers.spawn(answer(*core_, this->shared_from_this(), std::move(request)));
  }

  // An IPv4 client of a socket for both has an IPv6 address that stands for its own.
  void set_peer(ServerRequest& request) {
    ErrorCode error;
    asio::ip::address address = socket().remote_endpoint(error).address();
    if (error) return;
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
      address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    }
    request.peer = address.to_string();
    request.local = address.is_loopback();
  }

  void refuse(const ErrorCode& error) {
    if (error == http::error::body_limit) return refuse(413, "the body is too large");
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return refuse(431, "the headers are too large");
    }
    const bool malformed = error.category() == make_error_code(http::error::end_of_stream).category() &&
                           error != http::error::end_of_stream && error != http::error::partial_message;
    if (malformed) return refuse(400, "the request is no HTTP: " + error.message());
    close();
  }

  void refuse(int status, std::string reason) {
    if (core_ == nullptr) return;
    ServerResponse response;
    response.status = status;
    response.body = reason + "\n";
    head_only_ = false;
    write(std::move(response), false);
  }

  void write(ServerResponse from, bool keep_alive) {
    limit(core_->options.idle_timeout);
    response_.emplace();
    response_->version(parser_->get().version() == 10 ? 10 : 11);
    response_->result(static_cast<unsigned>(from.status));
    for (const auto& [name, value] : from.headers) response_->insert(name, without_controls(value));
    const bool may_have_body = from.status >= 200 && from.status != 204 && from.status != 304;
    if (may_have_body) {
      response_->set(http::field::content_type, without_controls(from.content_type));
      response_->content_length(from.body.size());
    }
    response_->keep_alive(keep_alive);
    if (may_have_body && !head_only_) response_->body() = std::move(from.body);
    serializer_.emplace(*response_);
    const auto written = [self = this->shared_from_this(), keep_alive](ErrorCode error, size_t) {
      if (error) return self->close();
      self->serializer_.reset();
      self->response_.reset();
      if (keep_alive) return self->read();
      self->end();
    };
    if (head_only_) {
      // The length is that of the body which is not sent.
      http::async_write_header(stream_, *serializer_, written);
    } else {
      http::async_write(stream_, *serializer_, written);
    }
  }

  // Closing while the client still sends would make the system reset the connection, and the client would never
  // see the answer.
  void end() {
    if (core_ == nullptr) return;
    limit(kLinger);
    if constexpr (kTls) {
      stream_.async_shutdown([self = this->shared_from_this()](ErrorCode) { self->stop_sending(); });
    } else {
      stop_sending();
    }
  }

  void stop_sending() {
    if (core_ == nullptr) return;
    ErrorCode ignored;
    socket().shutdown(tcp::socket::shutdown_send, ignored);
    linger();
  }

  void linger() {
    if (core_ == nullptr) return;
    socket().async_read_some(asio::buffer(discarded_),
                             [self = this->shared_from_this()](ErrorCode error, size_t length) {
                               self->lingered_ += length;
                               if (error || self->lingered_ > kMaxLinger) return self->close();
                               self->linger();
                             });
  }

  std::shared_ptr<asio::ssl::context> tls_;  // the stream needs it as long as it lives
  Stream stream_;
  boost::beast::flat_buffer buffer_{kMaxHeader + (64 << 10)};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  bool head_only_ = false;
  std::string outgoing_;
  bool chunked_ = false;
  char discarded_[4096];
  size_t lingered_ = 0;
};

// Accepts connections while there is room.
class Listener final : public std::enable_shared_from_this<Listener> {
 public:
  explicit Listener(Core& core) : core_(&core), acceptor_(core.loop.asio()), again_(core.loop, [this] { accept(); }) {}

  Result<void> listen(const std::string& address);
  int port() const { return port_; }
  void accept();
  void stop() {
    core_ = nullptr;
    again_.cancel();
    again_.unlink();
    ErrorCode ignored;
    acceptor_.close(ignored);
  }

 private:
  ErrorCode bind(const tcp::endpoint& endpoint);
  bool full() const { return core_->connections.size() >= static_cast<size_t>(core_->options.max_connections); }
  Connection* longest_waiting() const {
    const auto it = std::find_if(core_->connections.begin(), core_->connections.end(),
                                 [](const Connection* c) { return c->waits_since().has_value(); });
    return it == core_->connections.end() ? nullptr : *it;
  }
  void take(tcp::socket socket);

  Core* core_;
  tcp::acceptor acceptor_;
  Alarm again_;
  int port_ = 0;
  bool accepting_ = false;
};

ErrorCode Listener::bind(const tcp::endpoint& endpoint) {
  ErrorCode error, ignored;
  if (acceptor_.is_open()) acceptor_.close(ignored);
  acceptor_.open(endpoint.protocol(), error);
  if (error) return error;
  acceptor_.set_option(tcp::acceptor::reuse_address(true), ignored);
  if (endpoint.address().is_v6())
    acceptor_.set_option(asio::ip::v6_only(!endpoint.address().is_unspecified()), ignored);
  acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  return error;
}

Result<void> Listener::listen(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, std::min(colon, address.size()));
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (port.empty() || (!bracketed && host.find(':') != std::string::npos)) {
    return fail(ErrorKind::invalid,
                fmt::format("cannot listen on \"{}\": expected host:port, :port or [v6]:port", address));
  }
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) {
    return fail(ErrorKind::invalid, fmt::format("cannot listen on \"{}\": {}", address, ::gai_strerror(failed)));
  }
  std::vector<tcp::endpoint> endpoints;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    tcp::endpoint endpoint;
    endpoint.resize(entry->ai_addrlen);
    std::memcpy(endpoint.data(), entry->ai_addr, entry->ai_addrlen);
    endpoints.push_back(endpoint);
  }
  ::freeaddrinfo(found);
  // Without a host, IPv6 first: its socket takes IPv4 too.
  std::sort(endpoints.begin(), endpoints.end(),
            [&](const auto& a, const auto& b) { return host.empty() && a.address().is_v6() && !b.address().is_v6(); });
  ErrorCode error;
  for (const tcp::endpoint& endpoint : endpoints) {
    error = bind(endpoint);
    if (!error) return {};
  }
  return fail(ErrorKind::invalid, fmt::format("cannot listen on \"{}\": {}", address, error.message()));
}

void Listener::accept() {
  if (core_ == nullptr || accepting_ || again_.pending()) return;
  if (full()) {
    const Connection* oldest = longest_waiting();
    if (oldest == nullptr) return;
    const Steady old_enough = *oldest->waits_since() + kYoung;
    if (old_enough > core_->loop.now()) return again_.set(old_enough);
  }
  accepting_ = true;
  acceptor_.async_accept([self = shared_from_this()](ErrorCode error, tcp::socket socket) {
    if (self->core_ == nullptr || error == asio::error::operation_aborted) return;
    if (!error) {
      self->take(std::move(socket));
    } else if (error != asio::error::connection_aborted) {
      self->again_.set(self->core_->loop.now() + kAcceptAgain);
    }
    // Only now: making room calls for the next one, too.
    self->accepting_ = false;
    self->accept();
  });
}

void Listener::take(tcp::socket socket) {
  if (full()) {
    Connection* oldest = longest_waiting();
    if (oldest == nullptr) return;
    oldest->close();
  }
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(tcp::socket::keep_alive(true), ignored);
  if (core_->tls) {
    auto tls = core_->tls->current();
    if (!tls) return;
    std::make_shared<StreamConnection<TlsStream>>(*core_, tls, std::move(socket), *tls)->start();
  } else {
    std::make_shared<StreamConnection<tcp::socket>>(*core_, nullptr, std::move(socket))->start();
  }
}

class BeastServer final : public HttpServer {
 public:
  BeastServer(RealLoop& loop, ServerOptions options, ServerHandler handler)
      : core_(loop, std::move(options), std::move(handler)), listener_(std::make_shared<Listener>(core_)) {
    core_.on_room = [this] { listener_->accept(); };
  }

  ~BeastServer() override {
    listener_->stop();
    core_.handlers.cancel();
    while (!core_.connections.empty()) core_.connections.front()->close();
  }

  Result<void> start() {
    const ServerOptions& options = core_.options;
    auto tls = make_server_tls(core_.loop, options);
    if (!tls) return tl::make_unexpected(std::move(tls.error()));
    core_.tls = std::move(*tls);
    if (auto ok = listener_->listen(options.address); !ok) return ok;
    listener_->accept();
    return {};
  }

  int port() const override { return listener_->port(); }

 private:
  Core core_;
  std::shared_ptr<Listener> listener_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> serve_http(RealLoop& loop, ServerOptions options, ServerHandler handler) {
  auto server = std::make_unique<BeastServer>(loop, std::move(options), std::move(handler));
  if (auto ok = server->start(); !ok) return tl::make_unexpected(std::move(ok.error()));
  return server;
}

}  // namespace careen::io
