#include "web/view_guard.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <utility>

#include "io/address.h"
#include "web/json_answer.h"

namespace careen::web {

namespace {

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// By an address that is this machine's alone, or the name that every machine has for itself: they need no name service,
// which somebody else could answer. A port may follow.
bool names_this_machine(std::string_view host) {
  constexpr std::string_view kV6 = "[::1]";
  const std::string_view name = host.starts_with(kV6) ? kV6 : host.substr(0, host.find(':'));
  const std::string_view rest = host.substr(name.size());
  if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return false;
  return name == kV6 || name == "localhost" || io::is_loopback_address(std::string(name));
}

// A proxy on this machine, such as a side-car, speaks for others.
bool came_by_a_proxy(const io::Headers& headers) {
  return std::any_of(headers.begin(), headers.end(), [](const auto& header) {
    std::string name = header.first;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name == "forwarded" || name == "via" || name == "x-real-ip" || name.starts_with("x-forwarded-") ||
           name.starts_with("x-envoy-") || name.starts_with("l5d-");
  });
}

void take_other_header(io::ServerRequest& request) {
  if (!io::header(request.headers, "Authorization").empty()) return;
  const std::string token(io::header(request.headers, kTokenHeader));
  if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
}

const char* in_words(ViewPolicy policy) {
  switch (policy) {
    case ViewPolicy::loopback:
      return "the view: from this machine, or with a token";
    case ViewPolicy::token:
      return "the view: with a token";
    case ViewPolicy::open:
      return "the view: anybody";
  }
  std::abort();
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
  if (!request.local || came_by_a_proxy(request.headers)) return false;
  return names_this_machine(io::header(request.headers, "Host"));
}

io::Task<std::optional<io::ServerResponse>> ViewGuard::refusal(const io::ServerRequest& request) const {
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

Access ViewGuard::access() const {
  const auto guard = [guard = *this](io::ServerRequest& request) {
    take_other_header(request);
    return guard.refusal(request);
  };
  return Access(in_words(policy_), guard, Access::WrongMethod::told_to_everybody);
}

}  // namespace careen::web
