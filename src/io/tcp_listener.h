// Listens on an address of this machine and hands over connections, one each time it is asked. How many there may be
// at once is up to whoever asks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <system_error>

#include "io/result.h"
#include "io/tcp_stream.h"

namespace careen::io {

// Listens until destroyed; a function that still waits is not called then.
class TcpListener {
 public:
  // The next connection, or why there is none: want of descriptors or of memory, mostly.
  using Accepted = std::function<void(std::error_code, std::shared_ptr<TcpStream>)>;

  virtual ~TcpListener() = default;
  virtual int port() const = 0;
  // One at a time.
  virtual void accept(Accepted accepted) = 0;
};

// The address is "host:port", ":port" or "[v6]:port"; port 0 takes a free one. The error names it.
Result<std::unique_ptr<TcpListener>> listen_tcp(RealLoop& loop, const std::string& address);

}  // namespace careen::io
