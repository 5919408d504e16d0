// Requests out of any bytes, in pieces of any size: whatever is taken is a path that leads nowhere else, on this
// machine and when a replica passes it on.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "io/http_message.h"
#include "io/query.h"
#include "web/leader.h"
#include "web/view_guard.h"

namespace {

using namespace careen;

constexpr std::size_t kMaxBody = 1000;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "http request fuzz: %s\n", what);
  std::abort();
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

void expect_segments(std::string_view path) {
  while (!path.empty()) {
    expect(path.starts_with('/'), "a path that does not begin with a slash");
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    expect(segment != "." && segment != "..", "a path with a detour");
  }
}

// The parser once more, for what a replica would send to the leader.
io::ServerRequest parsed_again(const std::string& target) {
  io::RequestParser parser(kMaxBody);
  parser.add("GET " + target + " HTTP/1.1\r\nHost: leader\r\n\r\n");
  const auto there = parser.has_all();
  if (!there && there.error().status == 431) return {};
  expect(there && *there, "what is passed on is no request");
  auto request = parser.take();
  expect(request.has_value(), "what is passed on is refused");
  return std::move(*request);
}

void expect_passed_on(const io::ServerRequest& request) {
  const std::string target = web::encoded_target(request.path, request.query);
  expect(target.starts_with('/') && !target.starts_with("//"), "what is passed on could be a host");
  expect(target.find_first_of("@\\#: \r\n") == std::string::npos, "what is passed on could be more than a path");
  const io::ServerRequest again = parsed_again(target);
  if (again.path.empty()) return;
  expect(again.path == request.path, "another path is passed on");
  expect(web::encoded_target(again.path, again.query) == target, "it changes with each replica that passes it on");
}

void expect_sound(const io::ServerRequest& request) {
  expect(!request.path.empty() && !request.path.starts_with("//"), "the path could be a host");
  expect(std::none_of(request.path.begin(), request.path.end(), is_control), "a path with controls");
  expect(request.path.find('\\') == std::string::npos, "a path with a backslash");
  expect_segments(request.path);
  expect(request.body.size() <= kMaxBody, "a body that is too large");
  int hosts = 0;
  for (const auto& [name, value] : request.headers) {
    expect(!name.empty() && std::none_of(name.begin(), name.end(), is_control), "a header's name with controls");
    expect(value.find_first_of("\r\n") == std::string::npos, "a header of two lines");
    hosts += name == "Host" ? 1 : 0;
  }
  expect(hosts <= 1, "two hosts");
  expect_passed_on(request);
  io::ServerRequest local = request;
  local.local = true;
  if (!web::is_local(local)) return;
  const std::string_view host = io::header(request.headers, "Host");
  expect(host.starts_with("localhost") || host.starts_with("127.") || host.starts_with("[::1]"), "a stranger is local");
  expect(host.find_first_not_of("localhost0123456789.:[]") == std::string_view::npos, "a stranger is local");
}

// What was taken of each request, up to a refusal. How much of a head may gather depends on how it comes.
struct Taken {
  std::vector<std::string> requests;
  bool head_too_large = false;
};

Taken parse(std::string_view text, std::size_t piece) {
  Taken out;
  io::RequestParser parser(kMaxBody);
  for (;;) {
    const auto there = parser.has_all();
    if (!there) {
      expect(there.error().status >= 400 && !there.error().reason.empty(), "refused without a reason");
      out.head_too_large = there.error().status == 431;
      return out;
    }
    if (*there) {
      auto request = parser.take();
      if (!request) return out;
      expect_sound(*request);
      out.requests.push_back(request->method + " " + request->path + "?" + request->query + " " + request->body);
      if (!parser.keeps_alive()) return out;
      parser.begin();
      continue;
    }
    if (text.empty()) return out;
    const std::size_t length = std::min(piece, text.size());
    parser.add(text.substr(0, length));
    text.remove_prefix(length);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first byte says in which pieces the rest comes.
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1 + data[0];
  const Taken whole = parse(text, text.size() + 1);
  const Taken pieces = parse(text, piece);
  if (!whole.head_too_large && !pieces.head_too_large) {
    expect(whole.requests == pieces.requests, "the pieces make a difference");
  }
  // Also as the target alone.
  if (text.find_first_of(" \r\n") == std::string_view::npos) {
    parse("GET " + std::string(text) + " HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", 8192);
  }
  return 0;
}
