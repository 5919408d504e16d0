// HTTP/1 as text, on Beast: requests are parsed from bytes as they come, and the heads of answers are written. Nothing
// here waits or knows of sockets. Only the server's own .cc file includes it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "io/http_server.h"

namespace careen::io {

// An answer to what is not a request.
struct Refusal {
  int status = 400;
  std::string reason;
};

// Parses one request after the other.
class RequestParser {
 public:
  explicit RequestParser(size_t max_body);
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;
  ~RequestParser();

  // The next request begins, with the bytes that came behind the last one.
  void begin();
  void add(std::string_view bytes);
  bool has_bytes() const;

  // Whether it has all of the head, or all of the request, with what came so far. After a refusal no more is parsed.
  tl::expected<bool, Refusal> has_head();
  tl::expected<bool, Refusal> has_all();

  // Of the head. Before it is there: as of HTTP/1.1.
  bool is_http_1_0() const;
  bool keeps_alive() const;
  bool expects_continue() const;
  // The request, without its peer. Once.
  tl::expected<ServerRequest, Refusal> take();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

// Answers of some kinds have no body, whatever the handler says.
bool may_have_body(int status);
// The head of an answer that has its body whole: with its length, if it may have one.
std::string head_of(const ServerResponse& response, bool http_1_0, bool keep_alive);
// The head of an answer whose body follows in pieces: in chunks, or, with HTTP/1.0, until the connection ends.
std::string head_of_pieces(const ServerResponse& response, bool http_1_0);

}  // namespace careen::io
