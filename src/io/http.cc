#include "io/http.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "io/curl_handles.h"
#include "io/curl_multi.h"
#include "io/proxy.h"
#include "io/real_loop.h"
#include "io/redact.h"
#include "io/sync.h"

namespace careen::io {

namespace {

// What a stream holds while nobody reads.
constexpr size_t kMaxBuffered = 256 << 10;
constexpr size_t kMaxHeaderBytes = 1 << 20;
// To a peer that does not speak HTTP/2.
constexpr long kHttp1Connections = 16;
// A peer that vanished without a word is found within these, also where nothing is being sent.
constexpr int kKeepAliveIdleSeconds = 15;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;
constexpr unsigned kUserTimeoutMilliseconds = 30'000;

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

bool has(const Headers& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(), [&](const auto& h) { return same_name(h.first, name); });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

// Whether sending the request twice does no harm.
bool only_reads(std::string_view method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

// What the client's requests share. They hold it, so that the client may go before them.
struct HttpShared {
  HttpShared(RealLoop& l, HttpClientOptions o)
      : loop(l), options(std::move(o)), permits(l, std::max(1, options.max_in_flight)) {
    renew_requests();
    streams = std::make_shared<CurlMulti>(loop);
    streams->set_option(CURLMOPT_MAXCONNECTS, kHttp1Connections);
  }

  // A frozen HTTP/2 connection would be chosen again and again. Requests that are still on the old handle keep it
  // until they end.
  void renew_requests() {
    requests = std::make_shared<CurlMulti>(loop);
    requests->set_option(CURLMOPT_MAXCONNECTS, kHttp1Connections);
    allow_connections(http1_seen ? kHttp1Connections : 1);
  }
  // With HTTP/2 one connection carries all; told so, curl queues what exceeds the peer's stream limit instead of
  // connecting again.
  void allow_connections(long count) { requests->set_option(CURLMOPT_MAX_HOST_CONNECTIONS, count); }
  void saw_http1() {
    if (std::exchange(http1_seen, true)) return;
    allow_connections(kHttp1Connections);
  }

  RealLoop& loop;
  const HttpClientOptions options;
  HandlePool handles;
  // Read once, as Go does.
  const ProxySettings environment = proxy_settings_of_environment();
  std::shared_ptr<CurlMulti> requests;
  std::shared_ptr<CurlMulti> streams;
  Semaphore permits;
  bool http1_seen = false;
};

// Where a request goes, as messages name it. The rest of a URL may hold a secret.
struct Target {
  std::string scheme, host, port;
};

Result<Target> target_of(const HttpRequest& request) {
  const Url url(request.url);
  Target target{url.get(CURLUPART_SCHEME), url.get(CURLUPART_HOST), url.get(CURLUPART_PORT, CURLU_DEFAULT_PORT)};
  if (!url.valid() || target.host.empty() || (target.scheme != "http" && target.scheme != "https")) {
    return fail(ErrorKind::invalid, "the URL is no http or https URL");
  }
  if (!request.pinned_key.empty() && target.scheme != "https") {
    return fail(ErrorKind::invalid, "a key can only be asked for with https");
  }
  if (!is_token(request.method)) return fail(ErrorKind::invalid, "the HTTP method is not a word");
  return target;
}

Error error_at(const Target& target, std::string_view method, ErrorKind kind, std::string_view what,
               std::string_view why) {
  return {kind, fmt::format("{} {}://{}:{}: {}: {}", method, target.scheme, target.host, target.port, what, why)};
}

// What is left of a time-out differs from request to request by a hair; messages about the same trouble should not.
std::string about(Duration d) {
  return d < seconds{1} ? format_duration(std::chrono::ceil<milliseconds>(d))
                        : format_duration(std::chrono::ceil<seconds>(d));
}

enum class Mode { whole, stream };

// One request on its way, with what has come back so far.
class Exchange final : CurlMulti::Transfer {
 public:
  Exchange(std::shared_ptr<HttpShared> shared, HttpRequest request, Target target, Mode mode)
      : Transfer(shared->handles.take()),
        changed(shared->loop),
        shared_(std::move(shared)),
        request_(std::move(request)),
        target_(std::move(target)),
        mode_(mode) {}

  ~Exchange() override {
    cancel();
    curl_slist_free_all(header_list_);
    curl_slist_free_all(connect_to_);
    shared_->handles.give_back(easy());
  }

  // An error here means that the request makes no sense.
  Result<void> prepare();
  void start(Steady deadline);

  bool headers_complete() const { return headers_complete_; }
  bool ended() const { return result_.has_value(); }
  // Once ended: nothing when all went well.
  Result<void> outcome() const;

  // Moves what has come to the end of `into`, and lets the peer go on.
  void take_body(std::string& into);
  bool has_body() const { return !response.body.empty(); }
  Duration idle_timeout() const { return request_.idle_timeout; }
  Steady now() const { return shared_->loop.now(); }
  using Transfer::set_deadline;

  HttpResponse response;
  Signal changed;

 private:
  void finished(CURLcode result) override;
  Result<void> set_tls();
  Result<void> set_server_name();
  Result<void> set_headers();
  Result<void> set_signature();
  bool sends_body() const;
  void set_method();
  size_t take_header(std::string_view line);
  size_t take_bytes(std::string_view bytes);
  std::string reason(CURLcode code) const;
  Error describe(CURLcode code) const;

  static size_t on_header(char* data, size_t size, size_t count, void* self) {
    return static_cast<Exchange*>(self)->take_header({data, size * count});
  }
  static size_t on_body(char* data, size_t size, size_t count, void* self) {
    return static_cast<Exchange*>(self)->take_bytes({data, size * count});
  }
  static int on_socket_created(void*, curl_socket_t fd, curlsocktype);
  static int before_sending(void* self, char*, char*, int, int);

  std::shared_ptr<HttpShared> shared_;
  HttpRequest request_;
  Target target_;
  Mode mode_;
  std::shared_ptr<CurlMulti> pool_;
  std::string url_;
  std::string host_header_;
  curl_slist* header_list_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  char curl_message_[CURL_ERROR_SIZE] = {};
  size_t header_bytes_ = 0;
  bool sent_ = false;  // the request has begun to leave
  bool refused_resend_ = false;
  bool too_large_ = false;
  bool headers_complete_ = false;
  bool paused_ = false;
  std::optional<CURLcode> result_;
};

Result<void> Exchange::prepare() {
  if (request_.signature) {
    if (auto ok = set_signature(); !ok) return ok;
  }
  url_ = request_.url;

  CURL* e = easy();
  set_option(e, CURLOPT_NOSIGNAL, 1L);
  // Without it, cancelling waits for a name that is being looked up.
  set_option(e, CURLOPT_QUICK_EXIT, 1L);
  set_option(e, CURLOPT_ERRORBUFFER, curl_message_);
  set_option(e, CURLOPT_PROTOCOLS_STR, "http,https");
  set_option(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  // The smallest there is: what is sent is short, and idle handles keep it.
  set_option(e, CURLOPT_UPLOAD_BUFFERSIZE, 16L << 10);
  set_option(e, CURLOPT_USERAGENT, shared_->options.user_agent.c_str());
  set_option(e, CURLOPT_CONNECTTIMEOUT_MS,
             std::max<long>(1, std::chrono::duration_cast<milliseconds>(request_.connect_timeout).count()));
  set_option(e, CURLOPT_TCP_KEEPALIVE, 1L);
  set_option(e, CURLOPT_TCP_KEEPIDLE, static_cast<long>(kKeepAliveIdleSeconds));
  set_option(e, CURLOPT_TCP_KEEPINTVL, static_cast<long>(kKeepAliveIntervalSeconds));
  set_option(e, CURLOPT_SOCKOPTFUNCTION, &Exchange::on_socket_created);
  set_option(e, CURLOPT_HEADERFUNCTION, &Exchange::on_header);
  set_option(e, CURLOPT_HEADERDATA, this);
  set_option(e, CURLOPT_WRITEFUNCTION, &Exchange::on_body);
  set_option(e, CURLOPT_WRITEDATA, this);
  set_option(e, CURLOPT_PREREQFUNCTION, &Exchange::before_sending);
  set_option(e, CURLOPT_PREREQDATA, this);
  if (mode_ == Mode::whole) {
    set_option(e, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    // Rather one more stream than one more connection, unless the peer has only connections to offer.
    set_option(e, CURLOPT_PIPEWAIT, target_.scheme == "https" && !shared_->http1_seen ? 1L : 0L);
  } else {
    // A paused HTTP/2 stream does not hold the peer back: curl goes on reading up to 32 MB.
    set_option(e, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  }
  if (!shared_->options.proxy.empty()) {
    if (curl_easy_setopt(e, CURLOPT_PROXY, shared_->options.proxy.c_str()) != CURLE_OK) {
      return fail(ErrorKind::invalid, "the proxy's URL makes no sense");
    }
    // An explicit proxy is meant, whatever NO_PROXY says.
    set_option(e, CURLOPT_NOPROXY, "");
  } else {
    // An empty one keeps libcurl from asking the environment itself: it does not read all of it as Go does.
    const auto proxy = shared_->options.direct
                           ? Result<std::string>(std::string())
                           : proxy_for(shared_->environment, target_.scheme, target_.host, target_.port);
    if (!proxy) return tl::make_unexpected(proxy.error());
    if (curl_easy_setopt(e, CURLOPT_PROXY, proxy->c_str()) != CURLE_OK) {
      return fail(ErrorKind::invalid, "the URL of the environment's proxy makes no sense");
    }
    set_option(e, CURLOPT_NOPROXY, "");
  }
  if (target_.scheme == "https") {
    if (auto ok = set_tls(); !ok) return ok;
    if (auto ok = set_server_name(); !ok) return ok;
  }
  set_method();
  if (auto ok = set_headers(); !ok) return ok;
  set_option(e, CURLOPT_URL, url_.c_str());
  return {};
}

Result<void> Exchange::set_tls() {
  CURL* e = easy();
  const TlsOptions& tls = shared_->options.tls;
  if (tls.client_cert_pem.empty() != tls.client_key_pem.empty()) {
    return fail(ErrorKind::invalid, "a client certificate and its key go together, but only one of them is given");
  }
  // A rotated authority counts with the next connection, not a day later.
  set_option(e, CURLOPT_CA_CACHE_TIMEOUT, 0L);
  if (!request_.pinned_key.empty()) set_option(e, CURLOPT_PINNEDPUBLICKEY, request_.pinned_key.c_str());
  if (tls.insecure || !request_.pinned_key.empty()) {
    set_option(e, CURLOPT_SSL_VERIFYPEER, 0L);
    set_option(e, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!tls.ca_pem.empty()) {
    set_option(e, CURLOPT_CAINFO, static_cast<char*>(nullptr));
    set_option(e, CURLOPT_CAPATH, static_cast<char*>(nullptr));
    set_blob_option(e, CURLOPT_CAINFO_BLOB, tls.ca_pem);
  }
  if (!tls.client_cert_pem.empty()) {
    set_option(e, CURLOPT_SSLCERTTYPE, "PEM");
    set_blob_option(e, CURLOPT_SSLCERT_BLOB, tls.client_cert_pem);
    set_option(e, CURLOPT_SSLKEYTYPE, "PEM");
    set_blob_option(e, CURLOPT_SSLKEY_BLOB, tls.client_key_pem);
  }
  return {};
}

// curl verifies the name in the URL (and names it to the server), so the URL gets that name and the connection
// goes where the URL pointed.
Result<void> Exchange::set_server_name() {
  const std::string& name = shared_->options.tls.server_name;
  if (name.empty() || same_name(name, target_.host)) return {};
  Url url(request_.url);
  const bool bare_v6 = name.find(':') != std::string::npos && !name.starts_with('[');
  const std::string shown = bare_v6 ? "[" + name + "]" : name;
  if (!url.set_host(shown)) return fail(ErrorKind::invalid, fmt::format("the TLS server name \"{}\" is no name", name));
  url_ = url.get(CURLUPART_URL);
  connect_to_ =
      curl_slist_append(nullptr, fmt::format("{}:{}:{}:{}", shown, target_.port, target_.host, target_.port).c_str());
  set_option(easy(), CURLOPT_CONNECT_TO, connect_to_);
  host_header_ = target_.port == "443" ? target_.host : target_.host + ":" + target_.port;
  return {};
}

bool Exchange::sends_body() const {
  const std::string& method = request_.method;
  return !request_.body.empty() || method == "POST" || method == "PUT" || method == "PATCH";
}

void Exchange::set_method() {
  CURL* e = easy();
  const std::string& method = request_.method;
  if (sends_body()) {
    set_option(e, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set_option(e, CURLOPT_POSTFIELDS, request_.body.c_str());
  } else if (method == "HEAD") {
    set_option(e, CURLOPT_NOBODY, 1L);
  } else {
    set_option(e, CURLOPT_HTTPGET, 1L);
  }
  set_option(e, CURLOPT_CUSTOMREQUEST, method.c_str());
}

Result<void> Exchange::set_headers() {
  const auto add = [this](const std::string& line) { header_list_ = curl_slist_append(header_list_, line.c_str()); };
  for (const auto& [name, value] : request_.headers) {
    if (!is_token(name) || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return fail(ErrorKind::invalid, fmt::format("the value of the header {} cannot be sent", name));
    }
    add(value.empty() ? name + ";" : name + ": " + value);
  }
  const bool typed = has(request_.headers, "Content-Type");
  if (!request_.signature) {
    // curl would wait a second for leave to send a longer body, and guess a type for it.
    add("Expect:");
    if (!typed) add("Content-Type:");
  } else if (sends_body() && !typed) {
    // It would sign these two lines although it does not send them.
    return fail(ErrorKind::invalid, "a request with a body cannot be signed without a Content-Type");
  }
  if (!host_header_.empty() && !has(request_.headers, "Host")) add("Host: " + host_header_);
  set_option(easy(), CURLOPT_HTTPHEADER, header_list_);
  return {};
}

Result<void> Exchange::set_signature() {
  if (auto ok = make_signable(request_); !ok) return ok;
  CURL* e = easy();
  const AwsSignature& signature = *request_.signature;
  set_option(e, CURLOPT_AWS_SIGV4,
             fmt::format("{}:{}:{}", signature.provider, signature.region, signature.service).c_str());
  set_option(e, CURLOPT_USERNAME, signature.key_id.c_str());
  set_option(e, CURLOPT_PASSWORD, signature.secret.c_str());
  // The wait for leave to send a longer body, see set_headers().
  set_option(e, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
  return {};
}

void Exchange::start(Steady deadline) {
  if (mode_ == Mode::whole && target_.scheme == "http") shared_->saw_http1();
  pool_ = mode_ == Mode::whole ? shared_->requests : shared_->streams;
  pool_->start(*this, deadline);
}

int Exchange::on_socket_created(void*, curl_socket_t fd, curlsocktype) {
  // Best effort: a socket without these still works.
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepAliveProbes, sizeof kKeepAliveProbes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMilliseconds, sizeof kUserTimeoutMilliseconds);
  return CURL_SOCKOPT_OK;
}

int Exchange::before_sending(void* self, char*, char*, int, int) {
  auto& exchange = *static_cast<Exchange*>(self);
  // curl sends a request again by itself when a connection it reused dies without an answer. The peer may have
  // acted on it by then.
  if (exchange.sent_ && !only_reads(exchange.request_.method)) {
    exchange.refused_resend_ = true;
    return CURL_PREREQFUNC_ABORT;
  }
  exchange.sent_ = true;
  return CURL_PREREQFUNC_OK;
}

size_t Exchange::take_header(std::string_view line) {
  const size_t size = line.size();
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  // What comes after the body (trailers) is of no interest.
  if (headers_complete_) return size;
  header_bytes_ += size;
  if (header_bytes_ > kMaxHeaderBytes) {
    too_large_ = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    response.headers.clear();
    response.status = 0;
    const size_t space = std::min(line.find(' '), line.size() - 1);
    std::from_chars(line.data() + space + 1, line.data() + line.size(), response.status);
  } else if (line.empty()) {
    headers_complete_ = response.status >= 200;
    if (headers_complete_ && mode_ == Mode::stream) {
      set_deadline(kNever);
      changed.notify();
    }
  } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    response.headers.emplace_back(line.substr(0, colon), value);
  }
  return size;
}

size_t Exchange::take_bytes(std::string_view bytes) {
  if (mode_ == Mode::whole) {
    if (response.body.size() + bytes.size() > shared_->options.max_body) {
      too_large_ = true;
      return 0;
    }
    response.body += bytes;
    return bytes.size();
  }
  if (!response.body.empty() && response.body.size() + bytes.size() > kMaxBuffered) {
    paused_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  response.body += bytes;
  changed.notify();
  return bytes.size();
}

void Exchange::take_body(std::string& into) {
  if (into.empty()) {
    into.swap(response.body);
  } else {
    into += response.body;
  }
  response.body.clear();
  if (std::exchange(paused_, false) && !ended()) curl_easy_pause(easy(), CURLPAUSE_CONT);
}

void Exchange::finished(CURLcode result) {
  result_ = result;
  if (mode_ == Mode::whole) {
    long version = 0;
    curl_easy_getinfo(easy(), CURLINFO_HTTP_VERSION, &version);
    // Not when a proxy has refused to connect us.
    if (sent_ && (version == CURL_HTTP_VERSION_1_0 || version == CURL_HTTP_VERSION_1_1)) shared_->saw_http1();
    if (result == CURLE_OPERATION_TIMEDOUT && pool_ == shared_->requests) shared_->renew_requests();
  }
  changed.notify();
}

Result<void> Exchange::outcome() const {
  if (*result_ == CURLE_OK && headers_complete_) return {};
  return tl::make_unexpected(describe(*result_ == CURLE_OK ? CURLE_GOT_NOTHING : *result_));
}

std::string Exchange::reason(CURLcode code) const {
  std::string why = curl_message_[0] != '\0' ? curl_message_ : curl_easy_strerror(code);
  while (!why.empty() && (why.back() == ' ' || why.back() == '\n')) why.pop_back();
  // curl ends with its own words for the code where the system's would tell more.
  long system_error = 0;
  curl_easy_getinfo(easy(), CURLINFO_OS_ERRNO, &system_error);
  if (const std::string_view tail = curl_easy_strerror(code); system_error != 0 && why.ends_with(tail)) {
    why.replace(why.size() - tail.size(), tail.size(), std::strerror(static_cast<int>(system_error)));
  }
  return why;
}

Error Exchange::describe(CURLcode code) const {
  std::string why = reason(code);
  if (request_.signature) why = redact(why, request_.signature->secrets());
  const auto error = [&](ErrorKind kind, std::string_view what, std::string_view because) {
    return error_at(target_, request_.method, kind, what, because);
  };

  if (too_large_) return error(ErrorKind::protocol, "the answer is refused", "it is too large");
  if (refused_resend_) {
    return error(ErrorKind::closed, "the connection was lost", "it was closed before an answer came");
  }
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_CLIENTCERT:
      return error(ErrorKind::tls, "TLS failed", why);
    case CURLE_SSL_CONNECT_ERROR:
      // curl's words for a connection that broke during the handshake, which says nothing about certificates.
      if (why.starts_with("OpenSSL SSL_connect:") || why.starts_with("Recv failure:") ||
          why.starts_with("Send failure:")) {
        return error(ErrorKind::connect, "no connection", why);
      }
      return error(ErrorKind::tls, "TLS failed", why);
    case CURLE_URL_MALFORMAT:
      return error(ErrorKind::invalid, "the request makes no sense", why);
    case CURLE_OPERATION_TIMEDOUT:
      if (!sent_) {
        // In our own words: curl's tell the milliseconds, and at which step it was.
        why = "not connected within " + about(std::min(request_.connect_timeout, request_.timeout));
        return error(ErrorKind::connect, "no connection", why);
      }
      if (headers_complete_ && mode_ == Mode::stream) {
        return error(ErrorKind::timeout, "time-out", "nothing came for " + about(request_.idle_timeout));
      }
      return error(ErrorKind::timeout, "time-out", "no complete answer within " + about(request_.timeout));
    default:
      break;
  }
  if (!sent_) return error(ErrorKind::connect, "no connection", why);
  // With TLS 1.3 a server refuses our certificate after the handshake, before it reads the request. Any other alert may
  // come when it has read it.
  const auto says = [&](std::string_view word) { return why.find(word) != std::string::npos; };
  if (code == CURLE_RECV_ERROR && says("SSL routines") && says("alert") &&
      (says("certificate") || says("unknown ca") || says("access denied"))) {
    return error(ErrorKind::tls, "TLS failed", why);
  }
  switch (code) {
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return error(ErrorKind::closed, "the connection was lost", why);
    default:
      return error(ErrorKind::protocol, "the answer is no HTTP", why);
  }
}

Steady deadline_of(const HttpShared& shared, const HttpRequest& request) {
  const Steady now = shared.loop.now();
  return request.timeout > kNever - now ? kNever : now + request.timeout;
}

Task<Semaphore::Permit> acquire(Semaphore& permits) { co_return co_await permits.acquire(); }

Task<std::optional<Semaphore::Permit>> acquire_until(HttpShared& shared, Steady deadline) {
  if (shared.permits.free() > 0) co_return co_await shared.permits.acquire();
  co_return co_await with_timeout(shared.loop, deadline - shared.loop.now(), acquire(shared.permits));
}

Task<Result<HttpResponse>> send_request(std::shared_ptr<HttpShared> shared, HttpRequest request) {
  auto target = target_of(request);
  if (!target) co_return tl::make_unexpected(std::move(target.error()));
  const Steady deadline = deadline_of(*shared, request);
  const auto permit = co_await acquire_until(*shared, deadline);
  if (!permit) {
    co_return tl::make_unexpected(error_at(
        *target, request.method, ErrorKind::connect, "not sent",
        fmt::format("{} requests were in flight for {}", shared->options.max_in_flight, about(request.timeout))));
  }
  Exchange exchange(shared, std::move(request), std::move(*target), Mode::whole);
  if (auto ok = exchange.prepare(); !ok) co_return tl::make_unexpected(std::move(ok.error()));
  exchange.start(deadline);
  while (!exchange.ended()) co_await exchange.changed.wait();
  if (auto ok = exchange.outcome(); !ok) co_return tl::make_unexpected(std::move(ok.error()));
  co_return std::move(exchange.response);
}

class CurlStream final : public HttpStream {
 public:
  CurlStream(std::shared_ptr<HttpShared> shared, HttpRequest request, Target target)
      : exchange_(std::move(shared), std::move(request), std::move(target), Mode::stream) {}

  int status() const override { return exchange_.response.status; }
  const Headers& headers() const override { return exchange_.response.headers; }

  Task<Result<bool>> read(std::string& into) override {
    for (;;) {
      if (exchange_.has_body()) {
        exchange_.take_body(into);
        co_return true;
      }
      if (exchange_.ended()) {
        if (auto ok = exchange_.outcome(); !ok) co_return tl::make_unexpected(std::move(ok.error()));
        co_return false;
      }
      const IdleLimit limit(exchange_);
      co_await exchange_.changed.wait();
    }
  }

  Exchange& exchange() { return exchange_; }

 private:
  // The time counts only while somebody waits: a slow reader is not the peer's fault.
  struct IdleLimit {
    explicit IdleLimit(Exchange& e) : exchange(e) {
      if (e.idle_timeout() > Duration{0}) e.set_deadline(e.now() + e.idle_timeout());
    }
    IdleLimit(const IdleLimit&) = delete;
    IdleLimit& operator=(const IdleLimit&) = delete;
    ~IdleLimit() { exchange.set_deadline(kNever); }
    Exchange& exchange;
  };

  Exchange exchange_;
};

Task<Result<std::unique_ptr<HttpStream>>> open_stream(std::shared_ptr<HttpShared> shared, HttpRequest request) {
  auto target = target_of(request);
  if (!target) co_return tl::make_unexpected(std::move(target.error()));
  const Steady deadline = deadline_of(*shared, request);
  auto stream = std::make_unique<CurlStream>(shared, std::move(request), std::move(*target));
  Exchange& exchange = stream->exchange();
  if (auto ok = exchange.prepare(); !ok) co_return tl::make_unexpected(std::move(ok.error()));
  exchange.start(deadline);
  while (!exchange.headers_complete() && !exchange.ended()) co_await exchange.changed.wait();
  if (!exchange.headers_complete()) co_return tl::make_unexpected(exchange.outcome().error());
  co_return std::unique_ptr<HttpStream>(std::move(stream));
}

class CurlHttpClient final : public HttpClient {
 public:
  CurlHttpClient(RealLoop& loop, HttpClientOptions options)
      : shared_(std::make_shared<HttpShared>(loop, std::move(options))) {}
  Task<Result<HttpResponse>> send(HttpRequest request) override { return send_request(shared_, std::move(request)); }
  Task<Result<std::unique_ptr<HttpStream>>> open(HttpRequest request) override {
    return open_stream(shared_, std::move(request));
  }

 private:
  std::shared_ptr<HttpShared> shared_;
};

}  // namespace

std::string_view header(const Headers& headers, std::string_view name) {
  const auto it = std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return same_name(h.first, name); });
  return it == headers.end() ? std::string_view() : std::string_view(it->second);
}

std::unique_ptr<HttpClient> make_http_client(RealLoop& loop, HttpClientOptions options) {
  // libcurl's own set-up, once a process.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_ALL);
  if (ready != CURLE_OK) {
    std::fprintf(stderr, "careen: libcurl cannot start: %s\n", curl_easy_strerror(ready));
    std::abort();
  }
  return std::make_unique<CurlHttpClient>(loop, std::move(options));
}

}  // namespace careen::io
