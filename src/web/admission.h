// Admission webhooks on the wire: AdmissionReview in its versions v1 and v1beta1, answered in kind, and the metrics
// dashboards know. What is admitted is decided by a function; whatever goes wrong is an answer with its code, in a
// review with HTTP status 200, so that the API server shows the reason to the user.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/http_server.h"
#include "io/log.h"
#include "io/loop.h"
#include "io/metrics.h"
#include "kube/admission.h"
#include "tl/expected.hpp"
#include "web/routes.h"

namespace careen::kube {
class Client;
}

namespace careen::web {

// Of a review; what is longer is refused with code 413.
inline constexpr size_t kLongestReview = 1 << 20;

struct Review {
  std::string api_version;  // admission.k8s.io/v1 or /v1beta1
  kube::AdmissionRequest request;
};

// The review in a request, or the refusal and what is known of the review.
struct Refused {
  std::string api_version;
  std::string uid;
  kube::AdmissionVerdict verdict;
};
tl::expected<Review, Refused> decode_review(const io::ServerRequest& request);
std::string encode_review(std::string_view api_version, std::string_view uid, const kube::AdmissionVerdict& verdict);

// Whether the log tells of each denial: not where whoever is denied tries again every few seconds.
enum class Denials { told, quiet };

class AdmissionEndpoint {
 public:
  // Takes from the request what it needs before it returns: a parsed review takes many times the memory of its text,
  // and is gone before anything is waited for. So there is never more than one.
  using Judge = std::function<io::Task<kube::AdmissionVerdict>(const kube::AdmissionRequest&)>;

  // `path` is also the label of its metrics, which must outlive it.
  AdmissionEndpoint(io::Loop& loop, io::Metrics& metrics, std::string path, Judge judge, io::Log log = {},
                    Denials denials = Denials::told);

  const std::string& path() const { return path_; }
  // The endpoint must outlive the answer.
  io::Task<io::ServerResponse> answer(io::ServerRequest request);

 private:
  // What has become of a review: it is being judged, or the verdict is known already.
  struct Opened {
    std::string api_version;
    std::string uid;
    std::string subject;  // for the log
    std::optional<io::Task<kube::AdmissionVerdict>> judging = {};
    kube::AdmissionVerdict verdict = {};
  };
  Opened open(const io::ServerRequest& request);
  io::Task<kube::AdmissionVerdict> verdict_on(Opened opened);
  kube::AdmissionVerdict failed(const std::string& subject, const std::string& why);

  io::Loop& loop_;
  std::string path_;
  Judge judge_;
  io::Log log_;
  Denials denials_;
  int in_flight_ = 0;
  io::Counter& answered_;
  io::Counter& panics_;
  io::Gauge& in_flight_gauge_;
  io::Histogram& latency_;
};

// What the webhooks of a controller are made of. All of it must outlive them.
struct WebhookParts {
  io::Loop& loop;
  kube::Client& reader;  // it only reads, on every replica
  io::Metrics& metrics;
  io::Log log;
  Denials denials = Denials::told;
};
// An admission webhook as it is registered: every replica answers the API server.
Route webhook_route(const WebhookParts& parts, std::string path, AdmissionEndpoint::Judge judge);

}  // namespace careen::web
