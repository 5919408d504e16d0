#include "observe/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "io/http.h"
#include "io/loop.h"
#include "io/query.h"
#include "io/sync.h"
#include "kube/base64.h"
#include "kube/json.h"
#include "kube/url.h"
#include "observe/go_number.h"

namespace careen::observe {

namespace {

using kube::Json;
using kube::JsonView;

constexpr io::Duration kWholeTimeout = io::seconds{10};
constexpr io::Duration kConnectTimeout = io::seconds{5};
// As much as a person wants to read of what a server says when it is not an answer of Prometheus.
constexpr std::size_t kQuotedBytes = 200;

struct UrlParts {
  std::string_view scheme;
  std::string_view credentials;  // user:password, still encoded
  std::string_view server;       // host and port as written
  std::string_view path;
  std::string_view query;
};

// Behind the last colon that is not within the brackets of an IPv6 address.
std::optional<std::string_view> port_of(std::string_view server) {
  const std::size_t colon = server.rfind(':');
  if (colon == std::string_view::npos || server.find(']', colon) != std::string_view::npos) return std::nullopt;
  return server.substr(colon + 1);
}

// nullopt when there is no host, or no http:// or https:// before it.
std::optional<UrlParts> split(std::string_view url) {
  UrlParts parts;
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  parts.scheme = url.substr(0, colon);
  if (parts.scheme != "http" && parts.scheme != "https") return std::nullopt;
  url = url.substr(colon + 3);
  url = url.substr(0, url.find('#'));
  if (const std::size_t mark = url.find('?'); mark != std::string_view::npos) {
    parts.query = url.substr(mark + 1);
    url = url.substr(0, mark);
  }
  const std::size_t slash = std::min(url.find('/'), url.size());
  parts.path = url.substr(slash);
  parts.server = url.substr(0, slash);
  if (const std::size_t at = parts.server.rfind('@'); at != std::string_view::npos) {
    parts.credentials = parts.server.substr(0, at);
    parts.server = parts.server.substr(at + 1);
  }
  if (parts.server.empty() || parts.server.starts_with(':')) return std::nullopt;
  const std::string_view port = port_of(parts.server).value_or("80");
  if (port.empty() || port.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  while (parts.path.ends_with('/')) parts.path.remove_suffix(1);
  return parts;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Seconds since 1970 with a fraction of milliseconds, the resolution of Prometheus.
std::string format_time(io::Wall time) {
  const auto milliseconds = std::chrono::floor<io::milliseconds>(time.time_since_epoch()).count();
  const auto seconds = std::chrono::floor<io::seconds>(time.time_since_epoch()).count();
  return fmt::format("{}.{:03}", seconds, milliseconds - seconds * 1000);
}

std::string form_of(std::string_view query, io::Wall now) {
  std::string form = "query=";
  kube::append_encoded(form, query);
  return form + "&time=" + format_time(now);
}

io::HttpRequest request_for(const UrlParts& url, std::string method, const std::string& form) {
  io::HttpRequest request;
  request.method = std::move(method);
  request.url = fmt::format("{}://{}{}/api/v1/query", url.scheme, url.server, url.path);
  std::string query(url.query);
  if (request.method == "GET") {
    query += query.empty() ? form : "&" + form;
  } else {
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    request.body = form;
  }
  if (!query.empty()) request.url += "?" + query;
  if (!url.credentials.empty()) {
    std::string credentials = io::url_decoded(url.credentials, false);
    if (credentials.find(':') == std::string::npos) credentials += ':';
    request.headers.emplace_back("Authorization", "Basic " + kube::base64_encode(credentials));
  }
  request.connect_timeout = kConnectTimeout;
  request.timeout = kWholeTimeout;
  return request;
}

io::Task<io::Result<io::HttpResponse>> exchange(io::HttpClient& http, UrlParts url, std::string form) {
  auto response = co_await http.send(request_for(url, "POST", form));
  if (response && (response->status == 405 || response->status == 501)) {
    response = co_await http.send(request_for(url, "GET", form));
  }
  co_return response;
}

std::string quoted_body(std::string_view body) {
  std::string text(body.substr(0, kQuotedBytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = c == '\n' || c == '\r' || c == '\t' ? ' ' : '?';
  }
  return body.size() > kQuotedBytes ? text + "…" : text;
}

std::string describe_refusal(const io::HttpResponse& response) {
  if (const std::string_view location = io::header(response.headers, "location"); !location.empty()) {
    return fmt::format("HTTP status {}: it redirects to {}; configure that address", response.status,
                       without_credentials(location));
  }
  if (response.body.empty()) return fmt::format("HTTP status {}", response.status);
  return fmt::format("HTTP status {}: {}", response.status, quoted_body(response.body));
}

// Its error, as Prometheus words it: {"status":"error","errorType":"bad_data","error":"…"}.
std::string describe_error(JsonView document) {
  return fmt::format("{}: {}", document["errorType"].text().value_or("error"),
                     document["error"].text().value_or("the server gives no reason"));
}

// The error if there is no single value in it.
std::string read_vector(JsonView data, double& value) {
  const auto type = data["resultType"].text();
  if (!type) return "the answer has no resultType; is this a Prometheus server?";
  if (*type != "vector") return fmt::format("the query gives a {}; an instant vector is needed", *type);
  const JsonView samples = data["result"];
  if (samples.size() == 0) return "the query gives no sample; exactly one is needed";
  if (samples.size() > 1) return fmt::format("the query gives {} samples; exactly one is needed", samples.size());
  const JsonView sample = samples[size_t{0}];
  if (sample["histogram"]) return "the query gives a histogram; a number is needed";
  const auto text = sample["value"][size_t{1}].text();
  const auto number = text ? parse_go_float(*text) : std::nullopt;
  if (!number) return "the answer's sample holds no number";
  value = *number;
  return {};
}

InstantAnswer read_response(const io::HttpResponse& response) {
  InstantAnswer answer;
  const auto document = Json::parse(response.body);
  const auto status = document ? (*document)["status"].text() : std::nullopt;
  const bool success = response.status / 100 == 2;
  if (status && (success || *status == "error")) {
    (*document)["warnings"].for_each_element(
        [&](JsonView warning) { answer.warnings.emplace_back(warning.text().value_or("a warning that is no text")); });
    answer.error =
        *status == "success" ? read_vector((*document)["data"], answer.value) : describe_error(document->view());
  } else if (success) {
    answer.error = "the answer is no JSON document of Prometheus: " + quoted_body(response.body);
  } else {
    answer.error = describe_refusal(response);
  }
  return answer;
}

}  // namespace

std::string without_credentials(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  // A password with a slash in it makes the URL invalid, but is one to keep secret still.
  const std::size_t at = url.substr(0, url.find_first_of("?#", begin)).rfind('@');
  if (at == std::string_view::npos || at < begin) return std::string(url);
  return std::string(url.substr(0, begin)) + "***" + std::string(url.substr(at));
}

std::string endpoint_of(std::string_view url) {
  const auto parts = split(url);
  if (!parts) return "invalid";
  std::string endpoint = fmt::format("{}://{}", parts->scheme, lower_case(parts->server));
  if (!port_of(parts->server)) endpoint += parts->scheme == "https" ? ":443" : ":80";
  return endpoint;
}

std::string PrometheusQuery::endpoint() const { return endpoint_of(url); }

io::Task<InstantAnswer> ask_instant(io::Loop& loop, io::HttpClient& http, PrometheusQuery query, io::Wall now) {
  InstantAnswer answer;
  const std::string where = without_credentials(query.url);
  const auto url = split(query.url);
  if (!url) {
    answer.error = fmt::format("\"{}\" is no URL of a server; something like http://prometheus:9090 is needed", where);
    co_return answer;
  }
  const auto response = co_await io::with_timeout(loop, kWholeTimeout, exchange(http, *url, form_of(query.query, now)));
  if (response && *response) {
    answer = read_response(**response);
  } else {
    answer.timed_out = !response || response->error().kind == io::ErrorKind::timeout;
    answer.error =
        response ? response->error().message : fmt::format("no answer within {}", io::format_duration(kWholeTimeout));
  }
  if (!answer.error.empty()) answer.error = fmt::format("{}: {}", where, answer.error);
  co_return answer;
}

}  // namespace careen::observe
