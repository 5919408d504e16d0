#include "io/tcp_listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <cerrno>
#include <cstring>
#include <vector>

#include "io/real_loop.h"

namespace careen::io {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
// As in tcp_stream.cc: cheaper than the one of any executor.
using TcpAcceptor = asio::basic_socket_acceptor<tcp, asio::io_context::executor_type>;

// Without a host, those of IPv6 first: their sockets take IPv4 too.
Result<std::vector<tcp::endpoint>> endpoints_of(const std::string& address) {
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
  std::sort(endpoints.begin(), endpoints.end(),
            [&](const auto& a, const auto& b) { return host.empty() && a.address().is_v6() && !b.address().is_v6(); });
  return endpoints;
}

ErrorCode listen_on(TcpAcceptor& acceptor, const tcp::endpoint& endpoint) {
  ErrorCode error, ignored;
  if (acceptor.is_open()) acceptor.close(ignored);
  acceptor.open(endpoint.protocol(), error);
  if (error) return error;
  acceptor.set_option(TcpAcceptor::reuse_address(true), ignored);
  if (endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(!endpoint.address().is_unspecified()), ignored);
  acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(TcpAcceptor::max_listen_connections, error);
  return error;
}

// Outlives the listener as long as Asio waits.
struct Door : std::enable_shared_from_this<Door> {
  explicit Door(RealLoop& l) : loop(l), acceptor(l.asio()) {}

  void wait(TcpListener::Accepted accepted) {
    acceptor.async_wait(TcpAcceptor::wait_read,
                        [self = shared_from_this(), accepted = std::move(accepted)](ErrorCode error) mutable {
                          if (!self->acceptor.is_open()) return;
                          if (error) return accepted(error, nullptr);
                          self->open(std::move(accepted));
                        });
  }
  void open(TcpListener::Accepted accepted) {
    const int descriptor = ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) return accepted({}, enter(descriptor));
    const std::error_code error(errno, std::system_category());
    // Who knocked has left meanwhile.
    constexpr std::array kLeft = {EAGAIN, EINTR, ECONNABORTED, EPROTO};
    if (std::count(kLeft.begin(), kLeft.end(), error.value()) > 0) return wait(std::move(accepted));
    accepted(error, nullptr);
  }
  std::shared_ptr<TcpStream> enter(int descriptor) {
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return make_tcp_stream(loop, descriptor);
  }

  RealLoop& loop;
  TcpAcceptor acceptor;
};

class AsioListener final : public TcpListener {
 public:
  explicit AsioListener(RealLoop& loop) : door_(std::make_shared<Door>(loop)) {}
  AsioListener(const AsioListener&) = delete;
  AsioListener& operator=(const AsioListener&) = delete;
  ~AsioListener() override {
    ErrorCode ignored;
    door_->acceptor.close(ignored);
  }

  Result<void> listen(const std::string& address) {
    const auto endpoints = endpoints_of(address);
    if (!endpoints) return tl::make_unexpected(endpoints.error());
    ErrorCode error;
    for (const tcp::endpoint& endpoint : *endpoints) {
      error = listen_on(door_->acceptor, endpoint);
      if (!error) return {};
    }
    return fail(ErrorKind::invalid, fmt::format("cannot listen on \"{}\": {}", address, error.message()));
  }

  int port() const override {
    ErrorCode error;
    return door_->acceptor.local_endpoint(error).port();
  }
  void accept(Accepted accepted) override { door_->wait(std::move(accepted)); }

 private:
  std::shared_ptr<Door> door_;
};

}  // namespace

Result<std::unique_ptr<TcpListener>> listen_tcp(RealLoop& loop, const std::string& address) {
  auto listener = std::make_unique<AsioListener>(loop);
  if (auto ok = listener->listen(address); !ok) return tl::make_unexpected(std::move(ok.error()));
  return listener;
}

}  // namespace careen::io
