// A stream of bytes over TCP, plain or within TLS. Asio's operations on sockets are behind it, and only there: each of
// them costs seconds to compile, and everything would come twice, for plain sockets and for TLS.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "io/tls_context.h"

namespace careen::io {

class RealLoop;

// At most one read and one other operation at a time. An operation keeps the stream, what it writes and the function
// it was given until it ends; then the function is called from the loop, with an error after close().
class TcpStream {
 public:
  using Done = std::function<void(std::error_code)>;
  // At least one byte, or an error. The bytes are valid during the call.
  using Received = std::function<void(std::error_code, std::string_view)>;
  struct Peer {
    std::string address;  // without the port; empty when there is no connection
    bool local = false;   // a loopback address
  };

  virtual ~TcpStream() = default;

  // To the first of the host's addresses that can be reached.
  virtual void connect(const std::string& host, const std::string& port, Done done) = 0;

  // TLS from here on. As a server:
  virtual void accept_tls(TlsContext context, Done done) = 0;
  // As a client, to a server that has to prove this name, which may be an address.
  virtual void start_tls(TlsContext context, const std::string& name, Done done) = 0;
  // Why the other side's certificate was refused; empty when that was not the trouble.
  virtual std::string certificate_trouble() const = 0;
  // Says good-bye within TLS and waits for the answer; what is read from then on is what comes beneath TLS. Without
  // TLS it is done at once, within the call.
  virtual void end_tls(Done done) = 0;

  virtual void read(Received received) = 0;
  // All of the head, then all of the body.
  virtual void write(std::string head, std::string body, Done done) = 0;
  // The other side sees the end of what it reads. Its own bytes can still be read.
  virtual void stop_sending() = 0;
  virtual void close() = 0;

  virtual Peer peer() const = 0;

  // Whether the error says that the other side has closed.
  static bool is_end(const std::error_code& error);
};

// Not connected yet.
std::shared_ptr<TcpStream> make_tcp_stream(RealLoop& loop);
// Takes over the descriptor of a connection.
std::shared_ptr<TcpStream> make_tcp_stream(RealLoop& loop, int descriptor);

}  // namespace careen::io
