#include "app/view_source.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "app/command_set.h"
#include "app/environment.h"
#include "app/event_stream.h"
#include "io/http.h"

namespace careen::app {

using io::Task;
using kube::Json;

namespace {

constexpr io::Duration kConnect = io::seconds{5};
constexpr io::Duration kAnswer = io::seconds{20};
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
  ViewAt(io::HttpClient& http, std::string url, std::string token)
      : http_(http), url_(std::move(url)), token_(std::move(token)) {}

  std::string name() const override { return "careen at " + url_; }

  Task<ViewResult<Json>> get(std::string path) override {
    auto answer = co_await http_.send(request(path, "application/json"));
    if (!answer) co_return tl::make_unexpected(no_answer(answer.error()));
    if (answer->status != 200) co_return tl::make_unexpected(refused(answer->status, answer->body));
    auto document = Json::parse(answer->body);
    if (!document) {
      co_return tl::make_unexpected(ViewError{
          answer->status,
          fmt::format("{} answers with something else than a careen would: {}", url_, document.error().message)});
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
    co_return ViewError{0, url_ + " ended the stream"};
  }

 private:
  io::HttpRequest request(const std::string& path, const char* accept) const {
    io::HttpRequest request;
    request.url = fmt::format("{}/careen/v1/{}", url_, path);
    request.headers = {{"Accept", accept}};
    if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
    request.connect_timeout = kConnect;
    request.timeout = kAnswer;
    return request;
  }

  ViewError no_answer(const io::Error& error) const { return {0, fmt::format("{}: {}", url_, error.message)}; }

  ViewError refused(int status, const std::string& body) const {
    std::string text = error_text(body, status);
    if (status == 401 || status == 403) {
      text += token_.empty() ? "; give a token with --token or CAREEN_TOKEN" : "; the token does not suffice";
    }
    return {status, status == 404 ? text : fmt::format("{}: {}", url_, text)};
  }

  io::HttpClient& http_;
  std::string url_, token_;
};

}  // namespace

std::unique_ptr<ViewSource> view_at(io::HttpClient& http, std::string url, std::string token) {
  while (url.ends_with('/')) url.pop_back();
  if (url.find("://") == std::string::npos) url = "http://" + url;
  return std::make_unique<ViewAt>(http, std::move(url), std::move(token));
}

void add_view_flags(CLI::App& command, ViewOptions& options) {
  const std::string group = "Whom to ask [the leader, through the API server]";
  command.add_option("--server", options.server, "A careen's dashboard, such as http://127.0.0.1:8080")
      ->type_name("URL")
      ->group(group);
  command.add_option("--token", options.token, "Bearer token for --server [CAREEN_TOKEN]")
      ->type_name("TOKEN")
      ->group(group);
  command
      .add_option("--config", options.config,
                  "Nobody: compute it here from the cluster and this configuration; nothing is written")
      ->type_name("FILE")
      ->group(group);
}

void complete_view_options(ViewOptions& options) {
  if (!options.server.empty() && !options.config.empty()) {
    throw UsageError("--server asks a running careen, --config computes without one: give one of them");
  }
  if (!options.token.empty() && options.server.empty()) throw UsageError("--token goes with --server");
  if (options.token.empty()) options.token = read_environment("CAREEN_TOKEN").value_or("");
}

}  // namespace careen::app
