// libcurl 7.88 signs what it is given as it stands: path and query as they are in the URL, and each line of the list of
// headers, also those by which it is told to send none. A service canonicalises what it receives before it signs in
// turn. So everything is canonical before libcurl sees it, and what cannot be is refused here instead of there.
#include "io/aws_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "io/ascii.h"
#include "io/digest.h"
#include "io/http.h"
#include "io/query.h"

namespace careen::io {

namespace {

// libcurl's limit for each part of what it is told to sign with.
constexpr size_t kLongestPart = 64;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

bool is_word(std::string_view text, std::string_view also) {
  return !text.empty() && text.size() <= kLongestPart && std::ranges::all_of(text, [&](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || also.find(c) != std::string_view::npos;
  });
}

tl::unexpected<Error> cannot_sign(std::string_view why) {
  return fail(ErrorKind::invalid, fmt::format("the request cannot be signed: {}", why));
}

struct SignedUrl {
  std::string_view server;  // with the scheme
  std::string_view path;
  std::string_view query;
};

SignedUrl split_url(std::string_view url) {
  url = url.substr(0, url.find('#'));
  const size_t scheme = url.find("://");
  const size_t server_end =
      std::min(url.find_first_of("/?", scheme == std::string_view::npos ? 0 : scheme + 3), url.size());
  const size_t path_end = std::min(url.find('?', server_end), url.size());
  return {url.substr(0, server_end), url.substr(server_end, path_end - server_end),
          url.substr(std::min(path_end + 1, url.size()))};
}

// S3 signs the path as it is sent, encoded once. All others sign it encoded once more and without empty segments, which
// libcurl does not do; it makes no difference only where nothing has to be encoded.
Result<std::string> canonical_path(std::string_view path, bool s3) {
  std::string out;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    if (segment == "." || segment == ".." || (segment.empty() && !path.empty() && !s3)) {
      return cannot_sign("its path has a segment that is empty, \".\" or \"..\"");
    }
    std::string encoded;
    append_encoded(encoded, s3 ? url_decoded(segment, false) : std::string(segment));
    if (!s3 && encoded != segment) return cannot_sign("its path holds what has to be encoded in a URL");
    out += "/" + encoded;
  }
  return out.empty() ? "/" : out;
}

// Sorted by name and value as they are encoded, each with its "=". A plus is a space, as in forms.
std::string canonical_query(std::string_view query) {
  std::multiset<std::pair<std::string, std::string>> sorted;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    std::string name, value;
    append_encoded(name, url_decoded(pair.substr(0, equals), true));
    append_encoded(value, url_decoded(pair.substr(std::min(equals + 1, pair.size())), true));
    sorted.emplace(std::move(name), std::move(value));
  }
  std::string out;
  for (const auto& [name, value] : sorted) out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

Result<std::string> canonical_url(std::string_view url, bool s3) {
  const SignedUrl parts = split_url(url);
  if (parts.server.find('@') != std::string_view::npos) return cannot_sign("its URL holds other credentials");
  auto path = canonical_path(parts.path, s3);
  if (!path) return path;
  std::string out(parts.server);
  out += *path;
  if (const std::string query = canonical_query(parts.query); !query.empty()) out += "?" + query;
  return out;
}

// libcurl signs every header of the request, in the order of whole lines: "x-a-b:" comes before "x-a:" then, but after
// it in the order of names that services go by. It knows no way to sign one without a value, and none to sign one that
// occurs twice.
Result<void> check_headers(const HttpRequest& request) {
  const std::string& provider = request.signature->provider;
  const std::string date = lower_case("x-" + provider.substr(provider.find(':') + 1) + "-date");
  std::vector<std::string> lines, names;
  for (const auto& [name, value] : request.headers) {
    names.push_back(lower_case(name));
    lines.push_back(names.back() + ":");
    if (trimmed(value).empty()) return cannot_sign(fmt::format("its header {} has no value", name));
    // libcurl would take the time from one, and leave the request as it is with the other.
    if (names.back() == "date" || names.back() == date || names.back() == "authorization") {
      return cannot_sign(fmt::format("it has a header {} of its own", name));
    }
  }
  std::ranges::sort(names);
  std::ranges::sort(lines);
  if (std::ranges::adjacent_find(names) != names.end()) return cannot_sign("one of its headers occurs twice");
  const bool same_order = std::ranges::equal(names, lines, [](std::string_view name, std::string_view line) {
    return name == line.substr(0, line.size() - 1);
  });
  if (!same_order) return cannot_sign("the name of one of its headers begins with that of another one");
  return {};
}

Result<void> check_signature(const AwsSignature& signature) {
  if (!is_word(signature.region, "-_")) return cannot_sign("its region is no word of letters, digits and dashes");
  if (!is_word(signature.service, "-_")) return cannot_sign("its service is no word of letters, digits and dashes");
  const auto colon = std::ranges::count(signature.provider, ':');
  if (!is_word(signature.provider, ":") || colon != 1 || signature.provider.starts_with(':') ||
      signature.provider.ends_with(':')) {
    return cannot_sign("its provider is not two words with a colon between them");
  }
  if (signature.key_id.empty() || signature.secret.empty()) return cannot_sign("there is no key, or no secret of it");
  return {};
}

}  // namespace

Result<void> make_signable(HttpRequest& request) {
  const AwsSignature& signature = *request.signature;
  if (auto ok = check_signature(signature); !ok) return ok;
  // Only S3 looks at the digest of the body in a header, and wants it there.
  const bool s3 = signature.service == "s3";
  auto url = canonical_url(request.url, s3);
  if (!url) return tl::make_unexpected(std::move(url.error()));
  request.url = std::move(*url);
  if (s3) request.headers.emplace_back("X-Amz-Content-Sha256", hex(sha256(request.body)));
  if (!signature.session_token.empty()) {
    request.headers.emplace_back("X-Amz-Security-Token", signature.session_token);
  }
  return check_headers(request);
}

}  // namespace careen::io
