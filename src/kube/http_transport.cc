#include "kube/http_transport.h"

#include <charconv>

#include "io/process.h"
#include "io/real_loop.h"

namespace careen::kube {

namespace {

// An answer to a watch that is no stream: a Status, or a proxy's page of which the beginning will do.
constexpr size_t kMaxErrorBody = 64 << 10;

// Only the form in seconds: API servers send no other.
std::optional<io::Duration> parse_retry_after(std::string_view text) {
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return io::seconds{std::min<int64_t>(seconds, 24 * 3600)};
}

Response to_response(int status, const io::Headers& headers, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  response.retry_after = parse_retry_after(io::header(headers, "Retry-After"));
  return response;
}

tl::unexpected<io::Error> no_time_left() {
  return io::fail(io::ErrorKind::connect, "not sent: getting credentials took all the time");
}

class HttpBody final : public Stream {
 public:
  HttpBody(std::shared_ptr<io::HttpClient> client, std::unique_ptr<io::HttpStream> stream)
      : client_(std::move(client)), stream_(std::move(stream)) {}
  io::Task<io::Result<bool>> read(std::string& into) override { return stream_->read(into); }

 private:
  std::shared_ptr<io::HttpClient> client_;  // outlives its stream
  std::unique_ptr<io::HttpStream> stream_;
};

io::Task<io::Result<std::string>> read_beginning(io::HttpStream* stream) {
  std::string body;
  while (body.size() < kMaxErrorBody) {
    const io::Result<bool> more = co_await stream->read(body);
    if (!more) co_return tl::make_unexpected(more.error());
    if (!*more) break;
  }
  co_return body;
}

int status_of(const io::HttpResponse& response) { return response.status; }
int status_of(const std::unique_ptr<io::HttpStream>& stream) { return stream->status(); }

std::string host_of(std::string_view server) {
  const size_t scheme = server.find("://");
  if (scheme != std::string_view::npos) server.remove_prefix(scheme + 3);
  return std::string(server.substr(0, server.find('/')));
}

}  // namespace

HttpTransport::HttpTransport(io::Loop& loop, std::shared_ptr<Authenticator> authenticator, MakeClient make_client,
                             io::HttpClientOptions options)
    : loop_(loop),
      authenticator_(std::move(authenticator)),
      make_client_(std::move(make_client)),
      options_(std::move(options)),
      host_(host_of(authenticator_->access().server)) {
  options_.proxy = authenticator_->access().proxy;
}

std::shared_ptr<io::HttpClient> HttpTransport::client_for(const Credentials& credentials) {
  if (!client_ || tls_ != credentials.tls) {
    tls_ = credentials.tls;
    options_.tls = *tls_;
    client_ = make_client_(options_);
  }
  return client_;
}

io::HttpRequest HttpTransport::prepare(const Request& request, const Credentials& credentials,
                                       io::Duration left) const {
  io::HttpRequest prepared;
  prepared.method = request.method;
  prepared.url = authenticator_->access().server + request.path;
  prepared.headers = credentials.headers;
  prepared.headers.emplace_back("Accept", request.accept.empty() ? "application/json" : request.accept);
  if (!request.content_type.empty()) prepared.headers.emplace_back("Content-Type", request.content_type);
  prepared.headers.insert(prepared.headers.end(), headers_.begin(), headers_.end());
  prepared.body = request.body;
  prepared.timeout = left;
  prepared.connect_timeout = std::min(prepared.connect_timeout, left);
  return prepared;
}

template <class Answer>
io::Task<io::Result<HttpTransport::Answered<Answer>>> HttpTransport::exchange(const Request& request,
                                                                              io::Steady deadline, Send<Answer> send) {
  io::Result<Authenticator::Held> credentials = co_await authenticator_->get(request.timeout);
  if (!credentials) co_return tl::make_unexpected(credentials.error());
  for (bool again = false;; again = true) {
    const io::Duration left = deadline - loop_.now();
    if (left <= io::Duration::zero()) co_return no_time_left();
    const Authenticator::Held used = *credentials;
    const std::shared_ptr<io::HttpClient> client = client_for(*used);
    io::Result<Answer> answer = co_await (client.get()->*send)(prepare(request, *used, left));
    if (!answer) co_return tl::make_unexpected(answer.error());
    if (status_of(*answer) == 401 && !again) {
      credentials = co_await authenticator_->renew(used, deadline - loop_.now());
      if (credentials && *credentials) continue;
    }
    co_return Answered<Answer>{client, std::move(*answer)};
  }
}

io::Task<io::Result<Response>> HttpTransport::send(Request request) {
  auto answered = co_await exchange(request, loop_.now() + request.timeout, &io::HttpClient::send);
  if (!answered) co_return tl::make_unexpected(answered.error());
  io::HttpResponse& answer = answered->answer;
  co_return to_response(answer.status, answer.headers, std::move(answer.body));
}

io::Task<io::Result<StreamResponse>> HttpTransport::open(Request request) {
  const io::Steady deadline = loop_.now() + request.timeout;
  auto answered = co_await exchange(request, deadline, &io::HttpClient::open);
  if (!answered) co_return tl::make_unexpected(answered.error());
  io::HttpStream& stream = *answered->answer;
  StreamResponse opened;
  if (stream.status() == 200) {
    opened.head = to_response(200, stream.headers(), {});
    opened.stream = std::make_unique<HttpBody>(std::move(answered->client), std::move(answered->answer));
    co_return opened;
  }
  auto body = co_await io::with_timeout(loop_, deadline - loop_.now(), read_beginning(&stream));
  // The status says enough when its text does not come.
  opened.head = to_response(stream.status(), stream.headers(), body && *body ? std::move(**body) : std::string());
  co_return opened;
}

std::shared_ptr<Authenticator> make_authenticator(io::RealLoop& loop, io::Files& files, Access access, io::Log log) {
  return std::make_shared<Authenticator>(
      loop, files, [&loop](io::ProcessRequest request) { return io::run_process(loop, std::move(request)); },
      std::move(access), std::move(log));
}

std::unique_ptr<HttpTransport> make_http_transport(io::RealLoop& loop, std::shared_ptr<Authenticator> authenticator,
                                                   io::HttpClientOptions options) {
  return std::make_unique<HttpTransport>(
      loop, std::move(authenticator),
      [&loop](io::HttpClientOptions wanted) { return io::make_http_client(loop, std::move(wanted)); },
      std::move(options));
}

Connect over_http(io::RealLoop& loop, io::Files& files, io::Log log, io::HttpClientOptions options) {
  return [&loop, &files, log = std::move(log), options = std::move(options)](const Access& access) {
    const auto authenticator = make_authenticator(loop, files, access, log);
    return Transports{make_http_transport(loop, authenticator, options),
                      make_http_transport(loop, authenticator, options)};
  };
}

}  // namespace careen::kube
