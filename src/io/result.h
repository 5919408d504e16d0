// Errors that the outside world can cause, as values the caller has to look at.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace careen::io {

enum class ErrorKind {
  timeout,   // no answer in time: the request may or may not have taken effect
  connect,   // no connection: the request was not sent
  tls,       // certificates do not fit; no request was sent
  closed,    // the peer closed the connection during the exchange: the effect is unknown
  protocol,  // the peer broke the protocol
  file,      // a file could not be read or written
  process,   // a child process failed
  invalid,   // what we were given makes no sense
};

struct Error {
  ErrorKind kind = ErrorKind::invalid;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return tl::make_unexpected(Error{kind, std::move(message)});
}
inline tl::unexpected<Error> refuse(std::string message) { return fail(ErrorKind::invalid, std::move(message)); }

}  // namespace careen::io
