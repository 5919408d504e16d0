#include "notify/slack_post.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace careen::notify {

namespace {
constexpr size_t kShown = 200;
}

io::Task<tl::expected<io::HttpResponse, SendError>> post(Outside& outside, std::string url, std::string content_type,
                                                         std::string body) {
  io::HttpRequest request;
  request.method = "POST";
  request.url = std::move(url);
  request.headers = {{"Content-Type", std::move(content_type)}};
  request.body = std::move(body);
  auto response = co_await outside.http.send(std::move(request));
  if (response) co_return std::move(*response);
  const io::Error& error = response.error();
  const auto blame = error.kind == io::ErrorKind::invalid ? SendError::Blame::message : SendError::Blame::endpoint;
  co_return tl::make_unexpected(SendError{blame, error.message, std::nullopt});
}

std::optional<io::Duration> asked_pause(const io::HttpResponse& response) {
  const std::string_view text = io::header(response.headers, "Retry-After");
  uint32_t count = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return io::seconds{count};
}

std::optional<SendError> overload(const io::HttpResponse& response) {
  if (response.status != 429 && response.status / 100 != 5) return std::nullopt;
  return SendError{SendError::Blame::endpoint,
                   fmt::format("Slack answered with status {}: {}", response.status, excerpt(response.body)),
                   asked_pause(response)};
}

std::string without_mentions(std::string text) {
  for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    if (at + 1 < text.size() && (text[at + 1] == '!' || text[at + 1] == '@')) text.replace(at, 1, "&lt;");
  }
  return text;
}

std::string excerpt(std::string_view body) {
  if (body.empty()) return "(nothing)";
  std::string out(body.substr(0, kShown));
  // Not in the middle of a character.
  if (body.size() > kShown) {
    while (!out.empty() && (static_cast<unsigned char>(body[out.size()]) & 0xC0) == 0x80) out.pop_back();
    out += " ...";
  }
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return out;
}

std::string_view authority(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  // A user and password before the host are nobody's business.
  return url.substr(url.rfind('@') + 1);
}

}  // namespace careen::notify
