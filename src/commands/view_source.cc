#include "commands/view_source.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "cli/command_set.h"
#include "cli/environment.h"
#include "commands/event_stream.h"
#include "io/http.h"
#include "session/kube_session.h"
#include "web/view_token.h"

namespace careen::app {

using io::Task;
using kube::Json;

namespace {

constexpr std::string_view kServerVariable = "CAREEN_SERVER";
constexpr io::Duration kConnect = io::seconds{5};
constexpr io::Duration kDocumentTimeout = io::seconds{20};
// The server sends a comment every 15 s: silence is a broken connection.
constexpr io::Duration kSilence = io::seconds{45};

std::string error_text(const std::string& body, int status) {
  const auto document = Json::parse(body);
  if (document) {
    if (const auto text = (*document)["error"].text()) return std::string(*text);
  }
  return fmt::format("it answered with status {}", status);
}

class ViewAt final : public ViewSource {
 public:
  ViewAt(io::HttpClient& http, std::string url, std::string token, const std::string& from, std::string workload)
      : http_(http),
        url_(std::move(url)),
        token_(std::move(token)),
        workload_(std::move(workload)),
        shown_(from.empty() ? url_ : fmt::format("{} ({})", url_, from)) {}

  std::string name() const override { return "careen at " + shown_; }

  Task<ViewResult<Json>> get(std::string path) override {
    auto answer = co_await http_.send(request(path, "application/json"));
    if (!answer) co_return tl::make_unexpected(no_answer(answer.error()));
    if (answer->status != 200) co_return tl::make_unexpected(refused(answer->status, answer->body));
    auto document = Json::parse(answer->body);
    if (!document) {
      co_return tl::make_unexpected(ViewError{
          answer->status,
          fmt::format("{} answers with something else than a careen would: {}", shown_, document.error().message)});
    }
    co_return std::move(*document);
  }

  Task<ViewError> follow(OnEvent on_event) override {
    io::HttpRequest asked = request("stream", "text/event-stream");
    asked.idle_timeout = kSilence;
    auto stream = co_await http_.open(std::move(asked));
    if (!stream) co_return no_answer(stream.error());
    EventStreamDecoder decoder([&](std::string_view event, std::string_view data) {
      if (const auto document = Json::parse(data)) on_event(event, *document);
    });
    const int status = (*stream)->status();
    while (true) {
      const io::Result<bool> more = co_await (*stream)->read(decoder.buffer());
      if (!more) co_return no_answer(more.error());
      if (!*more) break;
      if (status == 200) decoder.drain();
    }
    if (status != 200) co_return refused(status, decoder.buffer());
    co_return ViewError{0, shown_ + " ended the stream"};
  }

 private:
  io::HttpRequest request(const std::string& path, const char* accept) const {
    io::HttpRequest request;
    request.url = fmt::format("{}/careen/v1/{}", url_, of_cluster(path, workload_));
    request.headers = {{"Accept", accept}};
    if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
    request.connect_timeout = kConnect;
    request.timeout = kDocumentTimeout;
    return request;
  }

  ViewError no_answer(const io::Error& error) const { return {0, fmt::format("{}: {}", shown_, error.message)}; }

  ViewError refused(int status, const std::string& body) const {
    std::string text = error_text(body, status);
    if (status == 401 || status == 403) {
      text += token_.empty() ? "; give a token with --token or CAREEN_TOKEN" : "; the token does not suffice";
    }
    return {status, status == 404 ? text : fmt::format("{}: {}", shown_, text)};
  }

  io::HttpClient& http_;
  std::string url_, token_, workload_;
  std::string shown_;  // the URL for people
};

bool has_only(std::string_view text, std::string_view allowed) {
  return text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_port(std::string_view text) {
  constexpr int kLast = 65535;
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port <= kLast;
}

// host, host:port or [v6]:port; what is wrong with it, or nothing.
std::string authority_fault(std::string_view authority) {
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = authority.substr(0, colon);
  if (host.empty()) return "names no host";
  if (host.starts_with('[') != host.ends_with(']')) return "has half a pair of brackets";
  if (has_only(host, "0123456789")) return "is a port without a host";
  if (colon != std::string_view::npos && !is_port(authority.substr(colon + 1))) return "has no port from 1 to 65535";
  return {};
}

// What is wrong with a text that should be an address, or nothing.
std::string address_fault(std::string_view text, std::string_view scheme, std::string_view rest) {
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; })) {
    return "has a blank or a special character in it";
  }
  if (scheme != "http" && scheme != "https") return "is neither an http nor an https address";
  const size_t odd = rest.find_first_of("?#@");
  if (odd != std::string_view::npos) return fmt::format("has a \"{}\" in it", rest[odd]);
  return authority_fault(rest.substr(0, rest.find('/')));
}

// The leader is a pod that holds a lock, and who that is a stranger may have written. So only a token that is good for
// the view alone is kept for it.
void complete_token(ViewOptions& options, const Environment& environment) {
  const bool for_leader = options.server.empty();
  if (for_leader && !options.token.empty() && !web::is_for_the_view_alone(options.token)) {
    throw UsageError(fmt::format(
        "--token: the leader in the cluster is shown no token that is good for anything else; give one made by "
        "\"kubectl create token SERVICEACCOUNT --audience {}\", or name whom to ask with --server or {}",
        web::kViewAudience, kServerVariable));
  }
  if (!options.token.empty() || !options.config.empty()) return;
  std::string token = environment("CAREEN_TOKEN").value_or("");
  if (!for_leader || web::is_for_the_view_alone(token)) options.token = std::move(token);
}

}  // namespace

io::Result<std::string> server_url(std::string_view text) {
  constexpr std::string_view kBetween = "://";
  const size_t found = text.find(kBetween);
  const std::string_view scheme = found == std::string_view::npos ? "http" : text.substr(0, found);
  std::string_view rest = found == std::string_view::npos ? text : text.substr(found + kBetween.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const std::string fault = address_fault(text, scheme, rest);
  if (fault.empty()) return fmt::format("{}{}{}", scheme, kBetween, rest);
  return io::fail(io::ErrorKind::invalid,
                  fmt::format("\"{}\" {}; expected an address such as http://127.0.0.1:8080, or {} for a careen that "
                              "runs on this machine",
                              text, fault, kAutoServer));
}

std::unique_ptr<ViewSource> view_at(io::HttpClient& http, std::string url, std::string token, std::string from,
                                    std::string workload) {
  return std::make_unique<ViewAt>(http, std::move(url), std::move(token), from, std::move(workload));
}

std::string of_cluster(std::string path, std::string_view workload) {
  if (workload.empty() || path.find("cluster=") != std::string::npos) return path;
  path += path.find('?') == std::string::npos ? '?' : '&';
  return path + "cluster=" + url_text(workload);
}

void add_view_flags(CLI::App& command, ViewOptions& options) {
  const std::string group = "Whom to ask [the leader, through the API server]";
  command
      .add_option("--server", options.server,
                  "A careen's dashboard, such as http://127.0.0.1:8080, or auto: a careen that runs on this machine "
                  "[CAREEN_SERVER]")
      ->type_name("URL")
      ->group(group);
  command
      .add_option("-n,--namespace", options.ns,
                  "The namespace in which \"careen run\" keeps its leases, and the leader is [looked for]")
      ->type_name("NAMESPACE")
      ->group(group);
  command
      .add_option("--token", options.token,
                  "Bearer token for --server, or for the leader one of audience careen.dev/view [CAREEN_TOKEN]")
      ->type_name("TOKEN")
      ->group(group);
  command
      .add_option("--config", options.config,
                  "Nobody: compute it here from the cluster and this configuration; nothing is written")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--cluster", options.workload,
                  "The workload cluster that is meant, of those that a careen in their management cluster looks after")
      ->type_name("NAMESPACE/NAME")
      ->group(group);
}

void complete_view_options(ViewOptions& options, const Environment& environment) {
  if (!options.server.empty() && !options.config.empty()) {
    throw UsageError("--server asks a running careen, --config computes without one: give one of them");
  }
  if (!options.server.empty() && !options.ns.empty()) {
    throw UsageError("--server names the careen to ask, --namespace where the leader is looked for: give one of them");
  }
  if (!options.token.empty() && !options.config.empty()) {
    throw UsageError("--token is for a careen that is asked, --config computes without one: give one of them");
  }
  if (!options.workload.empty() && !options.config.empty()) {
    throw UsageError(
        "--cluster names one that a running careen looks after, --config computes without one: give one of them");
  }
  if (!options.workload.empty() && options.workload.find('/') == std::string::npos) {
    throw UsageError(fmt::format("--cluster: \"{}\" is not NAMESPACE/NAME", options.workload));
  }
  options.server_from = "--server";
  // A flag says more than the environment; --config and --namespace are such flags, too.
  if (options.server.empty() && options.config.empty() && options.ns.empty()) {
    options.server = environment(kServerVariable).value_or("");
    options.server_from = kServerVariable;
  }
  complete_token(options, environment);
  if (options.server.empty() || options.server == kAutoServer) return;
  auto url = server_url(options.server);
  if (!url) throw UsageError(fmt::format("{}: {}", options.server_from, url.error().message));
  options.server = std::move(*url);
}

void complete_view_options(ViewOptions& options) { complete_view_options(options, read_environment); }

}  // namespace careen::app
