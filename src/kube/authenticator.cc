#include "kube/authenticator.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/ascii.h"
#include "kube/base64.h"
#include "kube/json.h"

namespace careen::kube {

namespace {

// Also without a notice of change: the notice may be lost, the token must not grow old.
constexpr io::Duration kReadFilesAgain = io::minutes{1};
// A plugin's answer is replaced this long before it expires, or a tenth of its life if that is shorter.
constexpr io::Duration kRenewBefore = io::minutes{1};
// Answers that have expired already, or that the server refuses, are replaced no faster.
constexpr io::Duration kPluginAtMostEvery = io::seconds{5};
constexpr io::Duration kPluginTimeout = io::seconds{60};
constexpr io::Duration kLongestPluginPause = io::minutes{1};
constexpr size_t kShownOutput = 300;

bool fits_in_header(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// A header's name may not hold everything that a key may.
std::string encode_header_key(std::string_view key) {
  constexpr std::string_view allowed = "!#$&'*+-.^_`|~";
  std::string out;
  for (const char c : key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || allowed.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

void add_impersonation(const Impersonation& impersonate, io::Headers& headers) {
  if (impersonate.user.empty()) return;
  headers.emplace_back("Impersonate-User", impersonate.user);
  if (!impersonate.uid.empty()) headers.emplace_back("Impersonate-Uid", impersonate.uid);
  for (const std::string& group : impersonate.groups) headers.emplace_back("Impersonate-Group", group);
  for (const auto& [key, values] : impersonate.extra) {
    for (const std::string& value : values) {
      headers.emplace_back("Impersonate-Extra-" + encode_header_key(key), value);
    }
  }
}

std::string text_of(JsonView value) { return std::string(value.text().value_or("")); }

bool same(const io::TlsOptions& a, const io::TlsOptions& b) {
  return a.ca_pem == b.ca_pem && a.client_cert_pem == b.client_cert_pem && a.client_key_pem == b.client_key_pem &&
         a.server_name == b.server_name && a.insecure == b.insecure;
}

}  // namespace

io::Result<PluginAnswer> parse_plugin_answer(const std::string& api_version, const std::string& text) {
  const auto wrong = [](std::string what) { return io::fail(io::ErrorKind::process, std::move(what)); };
  const io::Result<Json> parsed = Json::parse(text);
  if (!parsed || !parsed->view().is_object()) return wrong("it printed no JSON object");
  if ((*parsed)["kind"].text() != "ExecCredential") return wrong("it printed no ExecCredential");
  if (const std::string version = text_of((*parsed)["apiVersion"]); version != api_version) {
    return wrong(fmt::format("it printed apiVersion \"{}\" but is configured for \"{}\"", version, api_version));
  }
  const JsonView status = (*parsed)["status"];
  if (!status.is_object()) return wrong("it printed no status");

  PluginAnswer answer;
  answer.token = text_of(status["token"]);
  answer.client_cert_pem = text_of(status["clientCertificateData"]);
  answer.client_key_pem = text_of(status["clientKeyData"]);
  if (answer.client_cert_pem.empty() != answer.client_key_pem.empty()) {
    return wrong("it printed a certificate without its key or the other way round");
  }
  if (answer.token.empty() && answer.client_cert_pem.empty()) return wrong("it printed neither token nor certificate");
  if (!fits_in_header(answer.token)) return wrong("it printed a token with a line break or a control character");
  if (const std::string expires = text_of(status["expirationTimestamp"]); !expires.empty()) {
    answer.expires = io::parse_rfc3339(expires);
    if (!answer.expires) return wrong(fmt::format("it printed expirationTimestamp \"{}\", which is no time", expires));
  }
  return answer;
}

std::string plugin_exec_info(const Access& access, const ExecPlugin& plugin) {
  Json info = Json::object({{"apiVersion", plugin.api_version},
                            {"kind", "ExecCredential"},
                            {"spec", Json::object({{"interactive", false}})}});
  if (!plugin.provide_cluster_info) return info.dump();
  info.set({"spec", "cluster", "server"}, access.server);
  if (!access.tls_server_name.empty()) info.set({"spec", "cluster", "tls-server-name"}, access.tls_server_name);
  if (access.insecure) info.set({"spec", "cluster", "insecure-skip-tls-verify"}, true);
  if (!access.ca.text.empty()) {
    info.set({"spec", "cluster", "certificate-authority-data"}, base64_encode(access.ca.text));
  }
  if (!access.proxy.empty()) info.set({"spec", "cluster", "proxy-url"}, access.proxy);
  io::Result<Json> config = Json::parse(plugin.cluster_config.empty() ? "null" : plugin.cluster_config);
  if (config) info.set({"spec", "cluster", "config"}, std::move(*config));
  return info.dump();
}

struct Authenticator::Plugin {
  Plugin(io::Loop& loop, ExecPlugin what) : config(std::move(what)), done(loop), scope(loop) {}

  ExecPlugin config;
  std::optional<PluginAnswer> answer;
  io::Wall renew_at{};
  io::Wall usable_until{};
  io::Steady last_run{};
  std::optional<io::Error> failure;
  int failures = 0;
  io::Steady not_before{};
  bool running = false;
  io::Gate done;
  io::Scope scope;
};

Authenticator::Authenticator(io::Loop& loop, io::Files& files, RunProcess run, Access access, io::Log log)
    : loop_(loop),
      files_(files),
      run_(std::move(run)),
      access_(std::move(access)),
      log_(std::move(log)),
      files_read_(loop.now()) {
  if (const auto* exec = std::get_if<ExecPlugin>(&access_.user.method)) {
    plugin_ = std::make_unique<Plugin>(loop_, *exec);
  }
  std::vector<std::string> paths{access_.ca.path, access_.user.client_cert.path, access_.user.client_key.path};
  if (const auto* token = std::get_if<Token>(&access_.user.method)) paths.push_back(token->path);
  for (const std::string& path : paths) {
    if (!path.empty()) watches_.push_back(files_.watch(path, [this] { files_changed_ = true; }));
  }
  rebuild();
}

Authenticator::~Authenticator() = default;

void Authenticator::warn_once(const std::string& message) {
  if (message == warned_) return;
  warned_ = message;
  if (!message.empty()) log_.warn("credentials cannot be renewed; the old ones stay in use", "reason", message);
}

void Authenticator::read_files(bool now) {
  if (watches_.empty()) return;
  if (!now && !files_changed_ && loop_.now() - files_read_ < kReadFilesAgain) return;
  files_changed_ = false;
  files_read_ = loop_.now();
  std::string failure;
  bool changed = false;
  const auto read_again = [&](const std::string& path, std::string& text, bool trim) {
    if (path.empty()) return;
    io::Result<std::string> content = files_.read(path);
    if (!content) {
      failure = content.error().message;
      return;
    }
    std::string fresh = trim ? std::string(io::trimmed(*content)) : std::move(*content);
    if (fresh.empty() || (trim && !fits_in_header(fresh))) {
      failure = path + (fresh.empty() ? " is empty" : " has a control character in the token");
      return;
    }
    if (fresh == text) return;
    text = std::move(fresh);
    changed = true;
  };
  read_again(access_.ca.path, access_.ca.text, false);
  read_again(access_.user.client_cert.path, access_.user.client_cert.text, false);
  read_again(access_.user.client_key.path, access_.user.client_key.text, false);
  if (auto* token = std::get_if<Token>(&access_.user.method)) read_again(token->path, token->text, true);
  warn_once(failure);
  if (changed) rebuild();
}

std::optional<std::string> Authenticator::authorization() const {
  if (const auto* token = std::get_if<Token>(&access_.user.method)) return "Bearer " + token->text;
  if (const auto* basic = std::get_if<BasicAuth>(&access_.user.method)) {
    return "Basic " + base64_encode(basic->username + ":" + basic->password);
  }
  if (plugin_ && plugin_->answer && !plugin_->answer->token.empty()) return "Bearer " + plugin_->answer->token;
  return std::nullopt;
}

void Authenticator::rebuild() {
  auto fresh = std::make_shared<Credentials>();
  if (auto value = authorization()) fresh->headers.emplace_back("Authorization", std::move(*value));
  add_impersonation(access_.user.impersonate, fresh->headers);

  io::TlsOptions tls;
  tls.ca_pem = access_.ca.text;
  tls.client_cert_pem = access_.user.client_cert.text;
  tls.client_key_pem = access_.user.client_key.text;
  tls.server_name = access_.tls_server_name;
  tls.insecure = access_.insecure;
  if (plugin_ && plugin_->answer && !plugin_->answer->client_cert_pem.empty()) {
    tls.client_cert_pem = plugin_->answer->client_cert_pem;
    tls.client_key_pem = plugin_->answer->client_key_pem;
  }
  const bool kept = current_ && same(*current_->tls, tls);
  fresh->tls = kept ? current_->tls : std::make_shared<const io::TlsOptions>(std::move(tls));
  current_ = std::move(fresh);
}

bool Authenticator::plugin_usable() const { return plugin_->answer && loop_.wall_now() < plugin_->usable_until; }

void Authenticator::start_plugin() {
  if (plugin_->running || loop_.now() < plugin_->not_before) return;
  plugin_->running = true;
  plugin_->last_run = loop_.now();
  plugin_->done.close();
  plugin_->scope.spawn(run_plugin());
}

io::Task<void> Authenticator::run_plugin() {
  const ExecPlugin& config = plugin_->config;
  io::ProcessRequest request;
  request.argv.push_back(config.command);
  request.argv.insert(request.argv.end(), config.arguments.begin(), config.arguments.end());
  request.environment = config.environment;
  request.environment.emplace_back("KUBERNETES_EXEC_INFO", plugin_exec_info(access_, config));
  request.timeout = kPluginTimeout;
  io::Result<io::ProcessResult> ended = co_await run_(std::move(request));

  io::Result<PluginAnswer> answer = tl::make_unexpected(io::Error{});
  if (!ended) {
    const std::string hint = config.install_hint.empty() ? "" : "; " + config.install_hint.substr(0, kShownOutput);
    answer = io::fail(io::ErrorKind::process, ended.error().message + hint);
  } else if (ended->exit_code != 0) {
    const std::string said(io::trimmed(ended->err).substr(0, kShownOutput));
    answer = io::fail(io::ErrorKind::process,
                      fmt::format("it ended with code {}{}{}", ended->exit_code, said.empty() ? "" : ": ", said));
  } else {
    answer = parse_plugin_answer(config.api_version, ended->out);
  }

  if (answer) {
    const io::Wall now = loop_.wall_now();
    plugin_->usable_until = answer->expires ? std::max(*answer->expires, now + kPluginAtMostEvery) : io::Wall::max();
    plugin_->renew_at = io::Wall::max();
    if (answer->expires) {
      const io::Duration life = std::max(*answer->expires, now) - now;
      plugin_->renew_at = std::max(now + life - std::min(kRenewBefore, life / 10), now + kPluginAtMostEvery);
    }
    plugin_->answer = std::move(*answer);
    plugin_->failure.reset();
    plugin_->failures = 0;
    plugin_->not_before = {};
    warn_once({});
    rebuild();
  } else {
    plugin_->failure = io::Error{io::ErrorKind::process, fmt::format("exec plugin \"{}\" gave no credentials: {}",
                                                                     config.command, answer.error().message)};
    const io::Duration pause = io::seconds{1} * (int64_t{1} << std::min(plugin_->failures++, 6));
    plugin_->not_before = loop_.now() + std::min(pause, kLongestPluginPause);
    if (plugin_usable()) warn_once(plugin_->failure->message);
  }
  plugin_->running = false;
  plugin_->done.open();
}

io::Task<io::Result<Authenticator::Held>> Authenticator::await_plugin(io::Duration limit) {
  if (plugin_->running) {
    const auto ended = co_await io::with_timeout(loop_, limit, io::completed(io::wait_for(plugin_->done)));
    if (!ended) {
      co_return io::fail(io::ErrorKind::process,
                         fmt::format("exec plugin \"{}\" gave no credentials in time", plugin_->config.command));
    }
  }
  if (plugin_usable()) co_return current_;
  co_return tl::make_unexpected(plugin_->failure.value_or(
      io::Error{io::ErrorKind::process,
                fmt::format("exec plugin \"{}\" gave credentials that have expired", plugin_->config.command)}));
}

io::Task<io::Result<Authenticator::Held>> Authenticator::get(io::Duration limit) {
  read_files(false);
  if (!plugin_) co_return current_;
  if (!plugin_->answer || loop_.wall_now() >= plugin_->renew_at) start_plugin();
  if (plugin_usable()) co_return current_;
  co_return co_await await_plugin(limit);
}

io::Task<io::Result<Authenticator::Held>> Authenticator::renew(Held refused, io::Duration limit) {
  read_files(true);
  if (current_ != refused) co_return current_;
  if (!plugin_) co_return Held{};
  if (!plugin_->running && loop_.now() - plugin_->last_run < kPluginAtMostEvery) co_return Held{};
  start_plugin();
  io::Result<Held> fresh = co_await await_plugin(limit);
  if (fresh && *fresh == refused) co_return Held{};
  co_return fresh;
}

}  // namespace careen::kube
