#include "io/tcp_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <cerrno>
#include <new>

#include "io/real_loop.h"

namespace careen::io {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
// Asio's own names stand for sockets of any executor, which take longer to compile and to run.
using Executor = asio::io_context::executor_type;
using TcpSocket = asio::basic_stream_socket<tcp, Executor>;
using TcpResolver = asio::ip::basic_resolver<tcp, Executor>;

// A body up to this size is sent together with its head.
constexpr size_t kSmall = 16 << 10;
constexpr size_t kMostInATurn = 256 << 10;

// What came of trying an operation that does not wait.
struct Attempt {
  enum class Result { done, wait_to_read, wait_to_write, failed };
  Result result = Result::done;
  size_t length = 0;
  ErrorCode error = {};

  static Attempt done(size_t length) { return {Result::done, length}; }
  static Attempt failed(ErrorCode error) { return {Result::failed, 0, error}; }
};

// A connection's TLS, on a socket that does not block.
class TlsSession {
 public:
  TlsSession(TlsContext context, int descriptor)
      : context_(std::move(context)), ssl_(::SSL_new(context_.get()), ::SSL_free) {
    if (!ssl_) throw std::bad_alloc();
    // As much of a write as the socket takes, continued from wherever the rest is by then.
    ::SSL_set_mode(ssl_.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    ::SSL_set_fd(ssl_.get(), descriptor);
  }

  void be_server() { ::SSL_set_accept_state(ssl_.get()); }
  // The server has to prove this name, which may be an address.
  void be_client_of(const std::string& name) {
    ::SSL_set_connect_state(ssl_.get());
    X509_VERIFY_PARAM* wanted = ::SSL_get0_param(ssl_.get());
    ::X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (::X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1) return;
    ::SSL_set1_host(ssl_.get(), name.c_str());
    SSL_set_tlsext_host_name(ssl_.get(), name.c_str());
  }

  Attempt shake_hands() {
    begin();
    return came_of(::SSL_do_handshake(ssl_.get()), 0);
  }
  Attempt read(char* into, size_t size) {
    begin();
    size_t length = 0;
    const int result = ::SSL_read_ex(ssl_.get(), into, size, &length);
    return came_of(result, length);
  }
  Attempt write(std::string_view bytes) {
    begin();
    size_t length = 0;
    const int result = ::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &length);
    return came_of(result, length);
  }
  Attempt say_goodbye() {
    begin();
    int result = ::SSL_shutdown(ssl_.get());
    // Ours is sent, theirs has not come yet.
    if (result == 0) result = ::SSL_shutdown(ssl_.get());
    return came_of(result, 0);
  }

  std::string certificate_trouble() const {
    const long result = ::SSL_get_verify_result(ssl_.get());
    return result == X509_V_OK ? "" : ::X509_verify_cert_error_string(result);
  }

 private:
  // OpenSSL looks for the cause of trouble in what has gathered before, also from other connections.
  static void begin() {
    ::ERR_clear_error();
    errno = 0;
  }

  Attempt came_of(int result, size_t length) {
    const int system = errno;
    switch (::SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_NONE:
        return Attempt::done(length);
      case SSL_ERROR_WANT_READ:
        return {Attempt::Result::wait_to_read};
      case SSL_ERROR_WANT_WRITE:
        return {Attempt::Result::wait_to_write};
      case SSL_ERROR_ZERO_RETURN:
        return Attempt::failed(asio::error::eof);
      case SSL_ERROR_SYSCALL:
        if (system == 0) return Attempt::failed(asio::ssl::error::stream_truncated);
        return Attempt::failed({system, boost::system::system_category()});
      default:
        return Attempt::failed(last_error());
    }
  }
  static ErrorCode last_error() {
    const unsigned long error = ::ERR_get_error();
    if (ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return asio::ssl::error::stream_truncated;
    return {static_cast<int>(error), asio::error::get_ssl_category()};
  }

  TlsContext context_;
  std::unique_ptr<SSL, decltype(&::SSL_free)> ssl_;
};

// An operation of a stream: tried until it need not wait any more, then ended.
struct Operation {
  std::function<Attempt()> attempt;
  std::function<void(const Attempt&)> end;
};

class AsioStream final : public TcpStream, public std::enable_shared_from_this<AsioStream> {
 public:
  explicit AsioStream(RealLoop& loop) : resolver_(loop.asio()), socket_(loop.asio()) {}

  void take_over(int descriptor) {
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &length);
    ErrorCode error;
    socket_.assign(own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), descriptor, error);
    if (error) ::close(descriptor);
    if (!error) socket_.non_blocking(true, error);
    // Whatever is asked of it will fail.
    if (error) close();
  }

  void connect(const std::string& host, const std::string& port, Done done) override {
    auto found = [self = shared_from_this(), done = std::move(done)](ErrorCode error,
                                                                     const TcpResolver::results_type& addresses) {
      // It may have been closed while the answer was on its way.
      if (!error && self->closed_) error = asio::error::operation_aborted;
      if (error) return done(error);
      self->connect_to(addresses, done);
    };
    resolver_.async_resolve(host, port, std::move(found));
  }

  void accept_tls(TlsContext context, Done done) override {
    tls_ = std::make_unique<TlsSession>(std::move(context), socket_.native_handle());
    tls_->be_server();
    shake_hands(std::move(done));
  }
  void start_tls(TlsContext context, const std::string& name, Done done) override {
    tls_ = std::make_unique<TlsSession>(std::move(context), socket_.native_handle());
    tls_->be_client_of(name);
    shake_hands(std::move(done));
  }
  std::string certificate_trouble() const override { return tls_ ? tls_->certificate_trouble() : ""; }
  void end_tls(Done done) override {
    if (!within_tls_) return done({});
    start({[this] { return tls_->say_goodbye(); },
           [this, done = std::move(done)](const Attempt& goodbye) {
             within_tls_ = false;
             done(goodbye.error);
           }});
  }

  void read(Received received) override {
    start({[this] { return read_some(); },
           [this, received = std::move(received)](const Attempt& read) {
             received(read.error, {incoming_.data(), read.length});
           }});
  }

  void write(std::string head, std::string body, Done done) override {
    // What is small goes in one packet; what is large is not copied.
    if (body.size() <= kSmall) head += std::exchange(body, {});
    outgoing_ = {std::move(head), std::move(body)};
    sent_ = 0;
    start({[this] { return write_on(); },
           [this, done = std::move(done)](const Attempt& written) {
             outgoing_ = {};
             done(written.error);
           }});
  }

  void stop_sending() override {
    ErrorCode ignored;
    socket_.shutdown(TcpSocket::shutdown_send, ignored);
  }

  void close() override {
    closed_ = true;
    resolver_.cancel();
    ErrorCode ignored;
    socket_.close(ignored);
  }

  Peer peer() const override {
    ErrorCode error;
    asio::ip::address address = socket_.remote_endpoint(error).address();
    if (error) return {};
    // An IPv4 client of a socket for both has an IPv6 address that stands for its own.
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
      address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    }
    return {address.to_string(), address.is_loopback()};
  }

 private:
  void connect_to(const TcpResolver::results_type& addresses, Done done) {
    auto connected = [self = shared_from_this(), done = std::move(done)](ErrorCode error, const tcp::endpoint&) {
      if (!error) self->socket_.non_blocking(true, error);
      done(error);
    };
    asio::async_connect(socket_, addresses, std::move(connected));
  }

  void shake_hands(Done done) {
    within_tls_ = true;
    start({[this] { return tls_->shake_hands(); },
           [done = std::move(done)](const Attempt& handshake) { done(handshake.error); }});
  }

  Attempt read_some() {
    if (within_tls_) return tls_->read(incoming_.data(), incoming_.size());
    ErrorCode error;
    const size_t length = socket_.read_some(asio::buffer(incoming_), error);
    if (error == asio::error::would_block) return {Attempt::Result::wait_to_read};
    return error ? Attempt::failed(error) : Attempt::done(length);
  }

  std::string_view unsent() const {
    const auto& [head, body] = outgoing_;
    if (sent_ < head.size()) return std::string_view(head).substr(sent_);
    return std::string_view(body).substr(sent_ - head.size());
  }
  // As much as the socket takes at once: a last answer is on its way before the process ends. Others get their turn
  // while much is sent.
  Attempt write_on() {
    const size_t enough = sent_ + kMostInATurn;
    while (!unsent().empty()) {
      if (sent_ >= enough) return {Attempt::Result::wait_to_write};
      const Attempt some = write_some(unsent());
      if (some.result != Attempt::Result::done) return some;
      sent_ += some.length;
    }
    return Attempt::done(sent_);
  }
  Attempt write_some(std::string_view bytes) {
    if (within_tls_) return tls_->write(bytes);
    ErrorCode error;
    const size_t length = socket_.write_some(asio::buffer(bytes), error);
    if (error == asio::error::would_block) return {Attempt::Result::wait_to_write};
    return error ? Attempt::failed(error) : Attempt::done(length);
  }

  // Ends from the loop also what need not wait: whoever reads again as soon as something has come must not do so on
  // an ever deeper stack.
  void start(Operation operation) {
    const Attempt attempt = try_once(operation);
    if (must_wait(attempt)) return wait(attempt, std::move(operation));
    asio::post(socket_.get_executor(), [self = shared_from_this(), attempt, operation = std::move(operation)] {
      operation.end(self->socket_.is_open() ? attempt : Attempt::failed(asio::error::operation_aborted));
    });
  }
  void go_on(Operation operation) {
    const Attempt attempt = try_once(operation);
    if (must_wait(attempt)) return wait(attempt, std::move(operation));
    operation.end(attempt);
  }
  void wait(const Attempt& attempt, Operation operation) {
    const bool reads = attempt.result == Attempt::Result::wait_to_read;
    socket_.async_wait(reads ? TcpSocket::wait_read : TcpSocket::wait_write,
                       [self = shared_from_this(), operation = std::move(operation)](ErrorCode error) mutable {
                         if (error) return operation.end(Attempt::failed(error));
                         self->go_on(std::move(operation));
                       });
  }
  // The descriptor of a socket that was closed may be another's by now: TLS, which only knows its number, must not
  // touch it.
  Attempt try_once(const Operation& operation) const {
    return socket_.is_open() ? operation.attempt() : Attempt::failed(asio::error::operation_aborted);
  }
  static bool must_wait(const Attempt& attempt) {
    return attempt.result == Attempt::Result::wait_to_read || attempt.result == Attempt::Result::wait_to_write;
  }

  TcpResolver resolver_;
  TcpSocket socket_;
  bool closed_ = false;
  std::unique_ptr<TlsSession> tls_;
  bool within_tls_ = false;
  std::array<char, 8192> incoming_;
  std::array<std::string, 2> outgoing_;
  size_t sent_ = 0;
};

}  // namespace

bool TcpStream::is_end(const std::error_code& error) {
  return error == std::error_code(ErrorCode(asio::error::eof)) ||
         error == std::error_code(ErrorCode(asio::ssl::error::stream_truncated));
}

std::shared_ptr<TcpStream> make_tcp_stream(RealLoop& loop) { return std::make_shared<AsioStream>(loop); }

std::shared_ptr<TcpStream> make_tcp_stream(RealLoop& loop, int descriptor) {
  auto stream = std::make_shared<AsioStream>(loop);
  stream->take_over(descriptor);
  return stream;
}

}  // namespace careen::io
