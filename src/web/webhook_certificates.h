// The certificate of the webhook when careen makes it itself. One Secret, written by compare-and-swap, holds it for all
// replicas; the authorities to trust are put into the ValidatingWebhookConfiguration and put back when somebody changes
// them. Every replica does the same, so it does not matter which one is alive.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/loop.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/sync.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "kube/watched.h"
#include "web/certificate_rotation.h"

namespace careen::web {

struct WebhookCertificatesOptions {
  std::string ns;       // of the Secret and the Service
  std::string secret;   // name
  std::string service;  // through which the API server reaches us
  // Name of the ValidatingWebhookConfiguration that gets the authorities to trust; empty: whoever registers the webhook
  // asks for them.
  std::string configuration;
  // Further hosts under which we are reached, by URL instead of the Service: when careen runs outside the cluster.
  std::vector<std::string> hosts = {};
  // Lifetimes; the names are filled in.
  RotationOptions rotation = {};
};

struct WebhookCertificatesParts {
  io::Loop& loop;
  kube::Client& client;  // writes on every replica, not only on the leader
  io::Metrics& metrics;
  io::Problems& problems;
  io::Random& random;
  io::Log log;
};

class WebhookCertificates {
 public:
  WebhookCertificates(WebhookCertificatesParts parts, WebhookCertificatesOptions options);
  WebhookCertificates(const WebhookCertificates&) = delete;
  WebhookCertificates& operator=(const WebhookCertificates&) = delete;

  // Until cancelled.
  io::Task<void> run();

  // What to serve; null until the Secret was read or made. Another pointer is another certificate.
  std::shared_ptr<const io::KeyPair> current() const { return serving_; }
  // The authorities that the API server is to trust, as PEM; empty until there are any.
  const std::string& bundle() const { return bundle_; }
  // There is a certificate and the API server has been told whom to trust, once.
  bool ready() const { return serving_ != nullptr && published_once_; }

  static constexpr std::string_view kStepped = "careen.dev/certificate-step";
  static constexpr std::string_view kSecretProblem = "webhook certificate";
  static constexpr std::string_view kConfigurationProblem = "webhook configuration";

 private:
  struct Secret;
  struct Configuration;
  enum class Ending { done, again, failed };

  io::Task<Ending> round();
  io::Task<std::optional<Configuration>> read_configuration();
  io::Task<std::optional<Secret>> read_secret();
  io::Task<Ending> keep(const Secret& before, RotationStep step);
  io::Task<Ending> publish(const Configuration& configuration, std::string bundle);
  bool has_configuration() const { return !options_.configuration.empty(); }
  bool is_ours(kube::JsonView client_config) const;
  void serve(const io::KeyPair& pair);
  // The configuration has the bundle.
  void trusted(const std::string& bundle);
  io::Duration pause_after(Ending ending);

  io::Loop& loop_;
  kube::Client& client_;
  io::Problems& problems_;
  io::Log log_;
  WebhookCertificatesOptions options_;
  io::Gauge& expiry_;

  std::shared_ptr<const io::KeyPair> serving_;
  bool published_once_ = false;
  std::string bundle_;              // of what serves
  std::deque<io::Steady> repairs_;  // the latest times when the bundle had been changed by others
  std::string last_bundle_;         // that was there
  io::Wall look_again_{};
  int failures_ = 0;

  // Only to hear of changes: a round reads both objects itself, in the order that makes it right.
  io::Signal changed_;
  kube::Watched<kube::Object> secret_;
  kube::Watched<kube::Object> configuration_;
  io::Subscription secret_changes_, configuration_changes_;
};

}  // namespace careen::web
