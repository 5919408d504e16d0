#include "io/server_tls.h"

#include "io/files.h"
#include "io/real_loop.h"

namespace careen::io {

namespace {

// How often the files of a certificate are looked at when nothing reports a change.
constexpr Duration kLookAtFiles = seconds{10};

// The certificate from files: watched, and also looked at regularly, since not every file system reports changes.
class TlsFiles final : public ServerTls {
 public:
  TlsFiles(RealLoop& loop, const ServerOptions& options)
      : loop_(loop),
        cert_(options.tls_cert_file),
        key_(options.tls_key_file),
        log_(options.log),
        files_(loop),
        look_(loop, [this] { look(); }) {}

  Result<void> start() {
    cert_watch_ = files_.watch(cert_, [this] { load_again(); });
    key_watch_ = files_.watch(key_, [this] { load_again(); });
    look_.set(loop_.now() + kLookAtFiles);
    auto pair = read();
    if (!pair) return tl::make_unexpected(std::move(pair.error()));
    auto tls = make_server_context(*pair, cert_, key_);
    if (!tls) return tl::make_unexpected(std::move(tls.error()));
    loaded_ = std::move(*pair);
    context_ = std::move(*tls);
    return {};
  }
  TlsContext current() override { return context_; }

 private:
  Result<KeyPair> read() {
    auto cert = files_.read(cert_);
    if (!cert) return tl::make_unexpected(std::move(cert.error()));
    auto key = files_.read(key_);
    if (!key) return tl::make_unexpected(std::move(key.error()));
    return KeyPair{std::move(*cert), std::move(*key)};
  }

  void look() {
    look_.set(loop_.now() + kLookAtFiles);
    load_again();
  }

  void load_again() {
    auto pair = read();
    if (pair && *pair == loaded_) return;
    auto tls = pair ? make_server_context(*pair, cert_, key_) : tl::make_unexpected(pair.error());
    if (!tls) return tell_once(tls.error().message);
    loaded_ = std::move(*pair);
    told_.clear();
    context_ = std::move(*tls);
    log_.info("the certificate was read again", "file", cert_);
  }

  void tell_once(const std::string& message) {
    if (std::exchange(told_, message) == message) return;
    log_.error("the new certificate is not used; the last good one serves on", "error", message);
  }

  RealLoop& loop_;
  std::string cert_;
  std::string key_;
  Log log_;
  RealFiles files_;
  std::unique_ptr<Files::Watch> cert_watch_;
  std::unique_ptr<Files::Watch> key_watch_;
  Alarm look_;
  KeyPair loaded_;
  TlsContext context_;
  std::string told_;
};

// The certificate from a function.
class TlsPair final : public ServerTls {
 public:
  TlsPair(std::function<std::shared_ptr<const KeyPair>()> ask, Log log) : ask_(std::move(ask)), log_(std::move(log)) {}

  TlsContext current() override {
    const std::shared_ptr<const KeyPair> pair = ask_();
    if (!pair || pair == asked_) return context_;
    asked_ = pair;
    auto tls = make_server_context(*pair, "the certificate given", "the key given");
    if (tls) {
      context_ = std::move(*tls);
    } else {
      log_.error("the new certificate is not used; the last good one serves on", "error", tls.error().message);
    }
    return context_;
  }

 private:
  std::function<std::shared_ptr<const KeyPair>()> ask_;
  Log log_;
  std::shared_ptr<const KeyPair> asked_;
  TlsContext context_;
};

// Another one, with a second certificate for those who ask for its name.
class TlsWithName final : public ServerTls {
 public:
  TlsWithName(std::unique_ptr<ServerTls> usual, std::string name, TlsContext named)
      : usual_(std::move(usual)), name_(std::move(name)), named_(std::move(named)) {}

  TlsContext current() override {
    const TlsContext context = usual_->current();
    if (context && context != prepared_) {
      show_for_name(context, name_, named_);
      prepared_ = context;
    }
    return context;
  }

 private:
  std::unique_ptr<ServerTls> usual_;
  std::string name_;
  TlsContext named_;
  TlsContext prepared_;
};

Result<std::unique_ptr<ServerTls>> make_usual_tls(RealLoop& loop, const ServerOptions& options) {
  if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
    return fail(ErrorKind::invalid, "a certificate and its key go together, but only one of the files is given");
  }
  if (!options.tls_cert_file.empty()) {
    auto files = std::make_unique<TlsFiles>(loop, options);
    if (auto ok = files->start(); !ok) return tl::make_unexpected(std::move(ok.error()));
    return files;
  }
  if (options.tls_pair) return std::make_unique<TlsPair>(options.tls_pair, options.log);
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<ServerTls>> make_server_tls(RealLoop& loop, const ServerOptions& options) {
  auto usual = make_usual_tls(loop, options);
  if (!usual || !*usual || !options.named_pair) return usual;
  auto named = make_server_context(*options.named_pair, "the certificate for " + options.named_host, "its key");
  if (!named) return tl::make_unexpected(std::move(named.error()));
  return std::make_unique<TlsWithName>(std::move(*usual), options.named_host, std::move(*named));
}

}  // namespace careen::io
