#include "replica/limits_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kube/decode.h"
#include "limits/desk.h"
#include "limits/limit.h"

namespace careen::replica {

using io::Task;

namespace {

constexpr const char* kLimitsProblem = "limits";
constexpr const char* kLimitsName = "maintenancelimits.repairman.k8s.io";
constexpr io::Duration kLimitsLookEvery = io::seconds{3};
// A cluster that does not serve the kind may do so later.
constexpr io::Duration kServedAgain = io::seconds{30};
// How long the known limits count while no changes can be heard of.
constexpr io::Duration kLimitsTrusted = io::seconds{30};

}  // namespace

LimitsWatch::LimitsWatch(LimitsWatchParts parts, LimitsWatchOptions options)
    : client_(parts.client),
      problems_(parts.problems),
      loop_(parts.loop),
      options_(std::move(options)),
      limits_(std::move(parts.watch),
              kube::ReflectorOptions{.resource = limits::kLimitResource, .name = "maintenancelimits"},
              [](kube::RawObject& raw) { return kube::decode_object(raw); }) {
  limits_.on_synced([this] { read(); });
}

Task<void> LimitsWatch::run() {
  for (;;) {
    const Served served = co_await discover();
    if (served == Served::yes) {
      limits_.start();
      co_await follow();
      limits_.stop();
    } else if (served == Served::no) {
      none();
      co_await io::sleep_for(loop_, kServedAgain);
      continue;
    }
    co_await io::sleep_for(loop_, kLimitsLookEvery);
  }
}

// A server that has just started may not know its kinds yet, but then it does not answer with a list of them.
Task<LimitsWatch::Served> LimitsWatch::discover() {
  const kube::Resource& resource = limits::kLimitResource;
  kube::Request request;
  request.path = fmt::format("/apis/{}/{}", resource.group, resource.version);
  const auto answer = co_await client_.call(std::move(request), {"", "", "apis", "APIResourceList"}, "discover");
  if (!answer) {
    if (answer.error().not_found()) co_return Served::no;
    unreadable("whether there are MaintenanceLimits", answer.error());
    co_return Served::unknown;
  }
  const auto document = kube::Json::parse(*answer);
  bool served = false;
  if (document) {
    (*document)["resources"].for_each_element(
        [&](kube::JsonView one) { served |= one["name"].text() == resource.plural; });
  }
  co_return served ? Served::yes : Served::no;
}

bool LimitsWatch::is_current() const { return limits_.synced() && limits_.blind_for() < kLimitsTrusted; }

// Until the kind is not served any more.
Task<void> LimitsWatch::follow() {
  for (;; co_await io::sleep_for(loop_, kLimitsLookEvery)) {
    if (is_current()) {
      if (unread_) read();
      continue;
    }
    unread_ = true;
    kube::CallOptions call;
    call.query = "limit=1";
    const auto answer = co_await client_.list(limits::kLimitResource, "", std::move(call));
    if (is_current()) continue;
    if (answer) {
      refusals_.granted();
      // Watches may be refused where lists are not.
      limits_.request_relist();
    } else if (answer.error().not_found()) {
      co_return;
    } else {
      unreadable(kLimitsName, answer.error());
    }
  }
}

// The stores of a follower are as good as its watch; whoever decides wants to know what is in force now.
Task<void> LimitsWatch::lead() {
  told_ = !options_.places_told;
  const bool follows = limits_.started();
  if (follows) {
    listing_anew_ = true;
    desk_->unknown(fmt::format("{} are being listed again, since this replica has just begun to decide", kLimitsName));
    co_await limits_.refresh();
    listing_anew_ = false;
    read();
  }
  if (told_) co_return;
  co_await options_.places_told();
  told_ = true;
  if (!desk_->is_known() && untold_) open();
}

void LimitsWatch::open() {
  untold_ = !told_ && limits_.store().size() > 0;
  if (!untold_) return desk_->known();
  desk_->unknown("it is not known yet who has places, since this replica has just begun to decide");
}

void LimitsWatch::read() {
  if (listing_anew_) return;
  refusals_.granted();
  unread_ = false;
  settled_ = true;
  problems_.clear(kLimitsProblem);
  open();
}

void LimitsWatch::none() {
  refusals_.granted();
  unread_ = true;
  settled_ = true;
  problems_.clear(kLimitsProblem);
  desk_->known();
}

void LimitsWatch::unreadable(const std::string& what, const kube::ApiError& error) {
  if (refusals_.missing(error, loop_.now())) return go_on_without(what, error);
  // There were none a moment ago; a server that does not answer makes none.
  if (settled_ && !limits_.started()) return;
  const std::string wrong = fmt::format("{} cannot be read: {}", what, error.message);
  untold_ = false;
  problems_.raise(kLimitsProblem, fmt::format("{}; no node is admitted to any maintenance until it can be{}", wrong,
                                              error.code != 403 || options_.closed_without_right
                                                  ? ""
                                                  : ", or has been refused for " +
                                                        io::format_duration(kube::SteadyRefusal::kPatience)));
  desk_->unknown(wrong);
}

// What was known of limits stays so: whoever takes the right away raises none of them.
void LimitsWatch::go_on_without(const std::string& what, const kube::ApiError& error) {
  const bool knows_some = limits_.store().size() > 0;
  const std::string wrong = fmt::format("{} cannot be read: {}", what, error.message);
  problems_.raise(
      kLimitsProblem,
      options_.closed_without_right
          ? fmt::format("{}; no request is approved and no node is admitted to any maintenance until careen may list "
                        "and watch {}",
                        wrong, kLimitsName)
          : fmt::format("{}; careen goes on {} until it may list and watch {}", wrong,
                        knows_some ? "with the limits that it knew" : "as if there were none", kLimitsName));
  // The reflector has reported the same, but not what it means.
  problems_.clear("watch maintenancelimits");
  untold_ = false;
  if (options_.closed_without_right) return desk_->unknown(wrong);
  listing_anew_ = false;
  told_ = true;  // nobody waits for the list any more after which it would be asked
  open();
}

}  // namespace careen::replica
