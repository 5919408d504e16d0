#include "commands/webhook_server.h"

#include <utility>

namespace careen::app {

WebhookServer::WebhookServer(WebhookServerParts parts, const RunOptions& options)
    : p_(std::move(parts)),
      options_(options.webhook),
      dry_run_(options.dry_run),
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
  return web::webhook_tls_from_files(p_.files, options_.cert_dir.empty() ? usual : options_.cert_dir);
}

io::Result<void> WebhookServer::open() {
  if (const auto why = never_served()) p_.log.warn(*why);
  if (!wanted()) return {};
  auto certificate = tls();
  if (!certificate) return tl::make_unexpected(certificate.error());
  auto served = web::serve_webhooks(p_.loop, options_.address, *certificate, std::move(routes_), p_.log);
  if (!served) return tl::make_unexpected(served.error());
  server_ = std::move(*served);
  p_.log.info("the webhook is served", "address", options_.address);
  return {};
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
