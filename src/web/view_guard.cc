#include "web/view_guard.h"

#include <algorithm>
#include <string>
#include <utility>

#include "web/json_answer.h"

namespace careen::web {

namespace {

// A numeric address needs no name service that somebody else could answer.
bool names_this_machine(std::string_view host) {
  if (host.starts_with('[')) return true;
  const size_t colon = host.find(':');
  host = host.substr(0, colon);
  if (host == "localhost" || host.empty()) return true;
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string without_newline(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

std::optional<ViewPolicy> parse_view_policy(std::string_view text) {
  if (text == "loopback") return ViewPolicy::loopback;
  if (text == "token") return ViewPolicy::token;
  if (text == "none") return ViewPolicy::open;
  return std::nullopt;
}

bool is_local(const io::ServerRequest& request) {
  if (!request.local) return false;
  for (const char* name : {"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"}) {
    if (!io::header(request.headers, name).empty()) return false;
  }
  return names_this_machine(io::header(request.headers, "Host"));
}

io::Task<std::optional<io::ServerResponse>> ViewGuard::refusal(const io::ServerRequest& request) {
  if (policy_ == ViewPolicy::open) co_return std::nullopt;
  if (policy_ == ViewPolicy::loopback && is_local(request)) co_return std::nullopt;
  if (!auth_) co_return json_error(403, "only clients on this machine may look");
  auto refused = co_await auth_->refusal(request);
  if (!refused) co_return std::nullopt;
  const std::string text = without_newline(std::move(refused->body));
  io::ServerResponse response = json_error(
      refused->status, refused->status == 401 ? text + ": a bearer token that the API server knows is needed" : text);
  const std::string_view scheme = io::header(refused->headers, "WWW-Authenticate");
  if (!scheme.empty()) response.headers.emplace_back("WWW-Authenticate", scheme);
  co_return response;
}

}  // namespace careen::web
