#include "web/webhook_certificates.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/base64.h"
#include "kube/decode.h"

namespace careen::web {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

const kube::Resource kSecrets{"", "v1", "secrets", "Secret", true};
const kube::Resource kConfigurations{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                     "ValidatingWebhookConfiguration", false};

// Rounds without a cause, while the watches tell of changes and while they do not.
constexpr io::Duration kWatched = io::minutes{10};
constexpr io::Duration kUnwatched = io::minutes{1};
// Between two rounds, whatever the cause.
constexpr io::Duration kShortestPause = io::milliseconds{200};
constexpr io::Duration kLongestRetry = io::minutes{1};
// Somebody who changes the bundle this often within that time does so on purpose.
constexpr size_t kManyRepairs = 5;
constexpr io::Duration kRepairsCount = io::minutes{10};

constexpr const char* kNextCert = "next-ca.crt";
constexpr const char* kNextKey = "next-ca.key";
constexpr const char* kOldCert = "old-ca.crt";

io::Result<kube::Object> decoded(kube::RawObject& raw) { return kube::decode_object(raw); }

std::string data_of(JsonView secret, std::string_view key) {
  const auto text = secret["data"][key].text();
  return text ? kube::base64_decode(*text).value_or("") : "";
}

KeptCertificates kept_in(JsonView secret) {
  KeptCertificates kept;
  kept.serving = {data_of(secret, "tls.crt"), data_of(secret, "tls.key")};
  kept.authority = {data_of(secret, "ca.crt"), data_of(secret, "ca.key")};
  kept.next_authority = {data_of(secret, kNextCert), data_of(secret, kNextKey)};
  kept.old_authority = data_of(secret, kOldCert);
  const auto stepped = secret["metadata"]["annotations"][WebhookCertificates::kStepped].text();
  if (stepped) kept.stepped = io::parse_rfc3339(*stepped);
  return kept;
}

// Everything else in the Secret stays as it is.
void write_into(Json& secret, const KeptCertificates& kept) {
  const auto put = [&](std::string_view key, const std::string& value) {
    if (value.empty()) {
      secret.remove({"data", key});
    } else {
      secret.set({"data", key}, kube::base64_encode(value));
    }
  };
  put("tls.crt", kept.serving.certificate);
  put("tls.key", kept.serving.key);
  put("ca.crt", kept.authority.certificate);
  put("ca.key", kept.authority.key);
  put(kNextCert, kept.next_authority.certificate);
  put(kNextKey, kept.next_authority.key);
  put(kOldCert, kept.old_authority);
  if (kept.stepped) {
    secret.set({"metadata", "annotations", WebhookCertificates::kStepped}, io::format_rfc3339(*kept.stepped));
  } else {
    secret.remove({"metadata", "annotations", WebhookCertificates::kStepped});
  }
}

std::string_view host_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (url.starts_with('[')) return url.substr(1, std::min(url.find(']'), url.size()) - 1);
  return url.substr(0, url.rfind(':'));
}

Task<void> sleep(io::Loop& loop, io::Duration duration) { co_await io::sleep_for(loop, duration); }

}  // namespace

struct WebhookCertificates::Secret {
  bool exists = false;
  Json document;
  KeptCertificates kept;
};

struct WebhookCertificates::Configuration {
  std::string version;
  struct Webhook {
    size_t index;
    std::string bundle;
  };
  std::vector<Webhook> ours;

  bool trusts(const std::string& bundle) const {
    return !ours.empty() &&
           std::all_of(ours.begin(), ours.end(), [&](const Webhook& webhook) { return webhook.bundle == bundle; });
  }
};

WebhookCertificates::WebhookCertificates(WebhookCertificatesParts p, WebhookCertificatesOptions options)
    : loop_(p.loop),
      client_(p.client),
      problems_(p.problems),
      log_(p.log),
      options_(std::move(options)),
      expiry_(p.metrics.gauge("careen_webhook_certificate_expiry_timestamp_seconds",
                              "When the certificate ends that careen made for its webhook.")),
      changed_(loop_),
      secret_({loop_, client_, p.metrics, problems_, p.random, p.log},
              kube::ReflectorOptions::of_one(kSecrets, options_.ns, options_.secret, "webhook secret"), decoded),
      configuration_(
          {loop_, client_, p.metrics, problems_, p.random, p.log},
          kube::ReflectorOptions::of_one(kConfigurations, "", options_.configuration, "webhook configuration"),
          decoded) {
  options_.rotation.names = {fmt::format("{}.{}.svc", options_.service, options_.ns),
                             fmt::format("{}.{}.svc.cluster.local", options_.service, options_.ns)};
  options_.rotation.names.insert(options_.rotation.names.end(), options_.hosts.begin(), options_.hosts.end());
  const auto wake = [this](const kube::Object*, const kube::Object*) { changed_.notify(); };
  secret_changes_ = secret_.store().subscribe(wake);
  configuration_changes_ = configuration_.store().subscribe(wake);
}

Task<void> WebhookCertificates::run() {
  secret_.start();
  if (has_configuration()) configuration_.start();
  for (;;) {
    const Ending ending = co_await round();
    const io::Duration pause = pause_after(ending);
    co_await io::sleep_for(loop_, std::min(pause, kShortestPause));
    if (pause > kShortestPause) co_await io::race(loop_, sleep(loop_, pause - kShortestPause), io::wait_for(changed_));
  }
}

io::Duration WebhookCertificates::pause_after(Ending ending) {
  failures_ = ending == Ending::failed ? failures_ + 1 : 0;
  if (ending == Ending::again) return io::Duration::zero();
  if (ending == Ending::failed) return std::min<io::Duration>(io::seconds{1 << std::min(failures_, 6)}, kLongestRetry);
  const bool watched = secret_.synced() && (configuration_.synced() || !has_configuration());
  const io::Duration regular = watched ? kWatched : kUnwatched;
  return std::clamp<io::Duration>(look_again_ - loop_.wall_now(), kShortestPause, regular);
}

// First the configuration, then the Secret: a bundle is written only over a configuration that was read before the
// Secret it comes from, so a replica that is behind can never put an older bundle over a newer one.
Task<WebhookCertificates::Ending> WebhookCertificates::round() {
  std::optional<Configuration> configuration;
  if (has_configuration()) configuration = co_await read_configuration();
  const auto secret = co_await read_secret();
  if (!secret) co_return Ending::failed;
  const std::string bundle = secret->kept.bundle();
  const bool published = has_configuration() ? configuration && configuration->trusts(bundle) : last_bundle_ == bundle;
  auto step = next_step(secret->kept, loop_.wall_now(), published, options_.rotation);
  if (!step) {
    problems_.raise(kSecretProblem, "no certificate for the webhook can be made: " + step.error().message);
    co_return Ending::failed;
  }
  if (step->keep) co_return co_await keep(*secret, std::move(*step));
  serve(secret->kept.serving);
  bundle_ = bundle;
  problems_.clear(kSecretProblem);
  look_again_ = step->look_again;
  if (!has_configuration()) {
    trusted(bundle);
    co_return Ending::done;
  }
  if (!configuration) co_return Ending::failed;
  if (!published) co_return co_await publish(*configuration, bundle);
  trusted(bundle);
  co_return Ending::done;
}

Task<std::optional<WebhookCertificates::Configuration>> WebhookCertificates::read_configuration() {
  const auto answer = co_await client_.get(kConfigurations, "", options_.configuration);
  const auto parsed = answer ? Json::parse(*answer) : io::fail(io::ErrorKind::protocol, answer.error().message);
  if (!parsed) {
    problems_.raise(kConfigurationProblem,
                    fmt::format("ValidatingWebhookConfiguration {} cannot be read, so the API server may not trust the "
                                "webhook; trying again: {}",
                                options_.configuration, parsed.error().message));
    co_return std::nullopt;
  }
  Configuration configuration{std::string(parsed->at("/metadata/resourceVersion").text().value_or("")), {}};
  size_t index = 0;
  (*parsed)["webhooks"].for_each_element([&](JsonView webhook) {
    const JsonView client_config = webhook["clientConfig"];
    const auto bundle = kube::base64_decode(client_config["caBundle"].text().value_or(""));
    if (is_ours(client_config)) configuration.ours.push_back({index, bundle.value_or("")});
    ++index;
  });
  if (configuration.ours.empty()) {
    problems_.raise(kConfigurationProblem,
                    fmt::format("ValidatingWebhookConfiguration {} has no webhook whose service is {}/{}, so nobody "
                                "calls this one",
                                options_.configuration, options_.ns, options_.service));
    co_return std::nullopt;
  }
  co_return configuration;
}

bool WebhookCertificates::is_ours(JsonView client_config) const {
  const JsonView service = client_config["service"];
  if (service.is_object()) {
    return service["name"].text() == options_.service && service["namespace"].text() == options_.ns;
  }
  const std::string_view host = host_of(client_config["url"].text().value_or(""));
  return !host.empty() && std::find(options_.hosts.begin(), options_.hosts.end(), host) != options_.hosts.end();
}

Task<std::optional<WebhookCertificates::Secret>> WebhookCertificates::read_secret() {
  const auto answer = co_await client_.get(kSecrets, options_.ns, options_.secret);
  if (!answer && answer.error().not_found()) co_return Secret{};
  auto parsed = answer ? Json::parse(*answer) : io::fail(io::ErrorKind::protocol, answer.error().message);
  if (!parsed) {
    problems_.raise(
        kSecretProblem,
        fmt::format("Secret {}/{} with the webhook's certificate cannot be read; {}: {}", options_.ns, options_.secret,
                    serving_ ? "the last one serves on" : "the webhook waits for it", parsed.error().message));
    co_return std::nullopt;
  }
  Secret secret{true, std::move(*parsed), {}};
  secret.kept = kept_in(secret.document.view());
  if (!secret.kept.serving.certificate.empty() && secret.kept.authority.key.empty()) {
    problems_.raise(kSecretProblem,
                    fmt::format("Secret {}/{} holds a certificate that careen did not make: it has no ca.key. careen "
                                "leaves it alone; delete it, or name another one for the webhook",
                                options_.ns, options_.secret));
    co_return std::nullopt;
  }
  co_return secret;
}

Task<WebhookCertificates::Ending> WebhookCertificates::keep(const Secret& before, RotationStep step) {
  Json document = before.exists ? before.document
                                : Json::object({{"apiVersion", "v1"},
                                                {"kind", "Secret"},
                                                {"metadata", Json::object({{"name", options_.secret}})},
                                                {"type", "kubernetes.io/tls"}});
  write_into(document, *step.keep);
  const auto answer = before.exists ? co_await client_.update(kSecrets, options_.ns, options_.secret, document.dump())
                                    : co_await client_.create(kSecrets, options_.ns, document.dump());
  if (answer) {
    log_.info(step.what, "secret", fmt::format("{}/{}", options_.ns, options_.secret));
    co_return Ending::again;
  }
  // Another replica was faster, or may have been we: read what is there.
  const kube::ApiError& error = answer.error();
  if (error.conflict() || error.already_exists()) co_return Ending::again;
  problems_.raise(
      kSecretProblem,
      fmt::format("Secret {}/{} with the webhook's certificate cannot be written; {}: {}", options_.ns, options_.secret,
                  serving_ ? "the last one serves on" : "the webhook waits for it", error.message));
  // What is still valid serves, whether or not it can be renewed.
  if (before.exists && io::check_pair(before.kept.serving)) serve(before.kept.serving);
  co_return Ending::failed;
}

Task<WebhookCertificates::Ending> WebhookCertificates::publish(const Configuration& configuration, std::string bundle) {
  const bool repaired = bundle == last_bundle_;
  Json patch = Json::array(
      {Json::object({{"op", "test"}, {"path", "/metadata/resourceVersion"}, {"value", configuration.version}})});
  for (const auto& webhook : configuration.ours) {
    patch.push_back(Json::object({{"op", "add"},
                                  {"path", fmt::format("/webhooks/{}/clientConfig/caBundle", webhook.index)},
                                  {"value", kube::base64_encode(bundle)}}));
  }
  const auto answer =
      co_await client_.patch(kConfigurations, "", options_.configuration, kube::PatchType::json, patch.dump());
  if (answer) {
    log_.info("the webhook's authorities were put into its configuration", "configuration", options_.configuration);
    if (repaired) repairs_.push_back(loop_.now());
    trusted(bundle);
    co_return Ending::again;
  }
  if (answer.error().conflict()) co_return Ending::again;
  problems_.raise(kConfigurationProblem,
                  fmt::format("the webhook's authorities cannot be put into ValidatingWebhookConfiguration {}, so the "
                              "API server may not trust the webhook; trying again: {}",
                              options_.configuration, answer.error().message));
  co_return Ending::failed;
}

void WebhookCertificates::trusted(const std::string& bundle) {
  last_bundle_ = bundle;
  published_once_ = true;
  std::erase_if(repairs_, [&](io::Steady when) { return when + kRepairsCount <= loop_.now(); });
  if (repairs_.size() < kManyRepairs) return problems_.clear(kConfigurationProblem);
  problems_.raise(kConfigurationProblem,
                  fmt::format("somebody keeps changing caBundle in ValidatingWebhookConfiguration {}, and careen keeps "
                              "putting it back; is it an injector of another program?",
                              options_.configuration));
}

void WebhookCertificates::serve(const io::KeyPair& pair) {
  if (const auto facts = io::read_certificate(pair.certificate)) {
    expiry_.set(io::to_seconds(facts->validity.until.time_since_epoch()));
  }
  if (serving_ && *serving_ == pair) return;
  serving_ = std::make_shared<const io::KeyPair>(pair);
}

}  // namespace careen::web
