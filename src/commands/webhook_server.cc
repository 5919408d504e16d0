#include "commands/webhook_server.h"

#include <fmt/format.h>

#include <utility>

#include "io/certificates.h"
#include "kube/base64.h"
#include "kube/lock.h"
#include "turnstile/reach.h"

namespace careen::app {

namespace {

// The API server waits a second for both.
constexpr io::Duration kLeaderAnswers = io::milliseconds{500};

}  // namespace

WebhookServer::WebhookServer(WebhookServerParts parts, const RunOptions& options)
    : p_(std::move(parts)),
      options_(options.webhook),
      dry_run_(options.dry_run),
      leader_(
          p_.loop, p_.replica.reader(), p_.http, [this] { return p_.replica.election().holder(); }, p_.ns, true),
      routes_(p_.log, p_.replica.webhooks(p_.log)) {
  if (!wanted() || !options_.self_signed) return;
  certificates_ = std::make_unique<web::WebhookCertificates>(
      web::WebhookCertificatesParts{p_.loop, p_.replica.reader(), p_.replica.metrics(), p_.replica.problems(),
                                    p_.random, p_.log},
      web::WebhookCertificatesOptions{.ns = p_.ns,
                                      .secret = options_.secret,
                                      .service = options_.service,
                                      .configuration = options_.configuration,
                                      .hosts = options_.hosts});
}

io::Result<web::ServingTls> WebhookServer::tls() {
  if (certificates_) return web::ServingTls{.pair = [this] { return certificates_->current(); }};
  const std::string usual = p_.temporary + "/" + web::kWebhookFolder;
  auto files = web::webhook_tls_from_files(p_.files, options_.cert_dir.empty() ? usual : options_.cert_dir);
  if (files) cert_file_ = files->cert_file;
  return files;
}

io::Result<void> WebhookServer::open() {
  if (const auto why = never_served()) p_.log.warn(*why);
  if (!wanted()) return {};
  auto certificate = tls();
  if (!certificate) return tl::make_unexpected(certificate.error());
  auto served = web::serve_webhooks(p_.loop, options_.address, *certificate, std::move(routes_), p_.log);
  if (!served) return tl::make_unexpected(served.error());
  server_ = std::move(*served);
  leader_.set_port(server_->port());
  p_.replica.webhooks_served({.client_config = [this](const std::string& path) { return client_config(path); },
                              .ask_leader =
                                  [this](std::string path, std::string review) {
                                    return leader_.post(std::move(path), std::move(review), key(), kLeaderAnswers);
                                  }});
  p_.log.info("the webhook is served", "address", options_.address);
  return {};
}

// Beside the certificate lies that of the authority, as cert-manager and OLM's Secrets have it.
io::Result<std::string> WebhookServer::authorities() const {
  if (certificates_) {
    if (!certificates_->bundle().empty()) return certificates_->bundle();
    return io::fail(io::ErrorKind::invalid, "the webhook's certificate is not there yet");
  }
  const std::string file = cert_file_.substr(0, cert_file_.rfind('/') + 1) + "ca.crt";
  auto text = p_.files.read(file);
  if (text) return std::move(*text);
  return io::fail(io::ErrorKind::file, fmt::format("{}, which has to have the authority that the API server is to "
                                                   "trust, cannot be read: {}",
                                                   file, text.error().message));
}

io::Result<kube::Json> WebhookServer::client_config(const std::string& path) const {
  using kube::Json;
  const auto trusted = authorities();
  if (!trusted) return tl::make_unexpected(trusted.error());
  Json config = Json::object({{"caBundle", kube::base64_encode(*trusted)}});
  if (options_.hosts.empty()) {
    config.set({"service"},
               Json::object({{"name", options_.service}, {"namespace", p_.ns}, {"path", path}, {"port", 443}}));
  } else {
    const std::string& host = options_.hosts.front();
    const bool bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
    config.set({"url"}, fmt::format(fmt::runtime(bare_v6 ? "https://[{}]:{}{}" : "https://{}:{}{}"), host,
                                    server_->port(), path));
  }
  return config;
}

// All replicas serve the same certificate.
std::string WebhookServer::key() const {
  std::string certificate;
  if (certificates_) {
    if (const auto pair = certificates_->current()) certificate = pair->certificate;
  } else if (auto text = p_.files.read(cert_file_)) {
    certificate = std::move(*text);
  }
  const auto facts = io::read_certificate(certificate);
  return facts ? "sha256//" + kube::base64_encode(facts->key_digest) : std::string();
}

io::Task<void> WebhookServer::run() {
  if (certificates_) co_await certificates_->run();
}

std::optional<std::string> WebhookServer::never_served() const {
  if (!dry_run_ || !options_.wanted()) return std::nullopt;
  return "a dry run serves no webhook; start it without --webhook-bind-address, and with no webhook registered for it";
}

std::optional<std::string> WebhookServer::unready() const {
  if (auto why = never_served()) return why;
  if (!certificates_ || certificates_->ready()) return std::nullopt;
  return "the webhook's certificate is not published yet";
}

}  // namespace careen::app
