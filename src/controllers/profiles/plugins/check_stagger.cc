#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <limits>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/profiles/stagger_leases.h"

namespace careen::profiles {

namespace {

class Stagger final : public Check {
 public:
  // `unusable`: why no lease can be taken, should that be so.
  Stagger(LeaseGroup group, io::Duration duration, std::string unusable)
      : group_(std::move(group)), budget_(group_.budget()), duration_(duration), unusable_(std::move(unusable)) {}
  std::string_view type() const override { return "stagger"; }
  void add_needs(Needs& needs) const override { needs.lease_namespaces.emplace(group_.ns()); }

  // True while one of the leases is free; it is taken if the transition happens.
  CheckResult run(const CheckContext& context) const override {
    const StaggerLeases& leases = context.facts.leases;
    CheckResult result;
    if (!unusable_.empty()) {
      result.error = unusable_;
      return result;
    }
    if (group_.parallel() == 0) {
      result.reason = "there is no lease to take: \"parallel\" is less than 1";
      if (context.explain) result.info.emplace_back("availableInSec", std::vector<double>{});
      return result;
    }
    if (!leases.known(group_.ns())) {
      result.pending = true;
      result.reason = fmt::format("the leases of namespace {} have not been listed yet", group_.ns());
      return result;
    }
    const LeaseUse use = leases.measure(group_, context.now, context.node.base().name);
    result.budget.emplace(budget_, budget::Use{budget_.max - use.free, budget_.max, use.free_at});
    if (use.first) {
      result.passed = true;
      // A blocked node waits for its turn instead: a free lease is not news for every node that waits.
      result.topics.push_back(leases.topic(group_));
      result.lease = grab(leases, *use.first);
      if (context.explain) result.reason = fmt::format("lease {} is free", group_.lease_key(*use.first));
      return result;
    }
    if (context.explain) explain(context, result);
    return result;
  }

 private:
  LeaseGrab grab(const StaggerLeases& leases, size_t index) const {
    LeaseGrab grab{std::string(group_.ns()), std::string(group_.lease_name(index)), duration_, 0, {}, -1};
    if (const kube::Lease* lease = leases.find(group_.lease_key(index))) {
      grab.version = lease->version;
      grab.uid = lease->uid;
      grab.transitions = lease->transitions.value_or(-1);
    }
    return grab;
  }

  void explain(const CheckContext& context, CheckResult& result) const {
    constexpr size_t kMost = 8;
    const StaggerLeases& leases = context.facts.leases;
    std::vector<double> available_in;
    std::vector<std::string> holders;
    for (size_t i = 0; i < group_.parallel(); ++i) {
      const std::string& key = group_.lease_key(i);
      const auto end = leases.held_until(key, context.now);
      // What a decision has taken is held for the whole duration once it is written.
      const io::Duration remaining = end ? *end - context.now : duration_;
      available_in.push_back(io::to_seconds(remaining));
      if (i < kMost) holders.push_back(describe(leases, i, end ? std::optional(remaining) : std::nullopt));
    }
    const size_t more = group_.parallel() - holders.size();
    result.reason = fmt::format("{}{}", fmt::join(holders, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
    result.info.emplace_back("availableInSec", std::move(available_in));
  }

  std::string describe(const StaggerLeases& leases, size_t index, std::optional<io::Duration> remaining) const {
    const std::string& key = group_.lease_key(index);
    if (const std::string* taker = leases.taken_by(key)) return fmt::format("lease {} is taken by {}", key, *taker);
    const kube::Lease* lease = leases.find(key);
    const std::string holder = lease && !lease->holder.empty() ? lease->holder : "nobody";
    const auto rounded = std::chrono::ceil<io::seconds>(remaining.value_or(io::Duration{0}));
    return fmt::format("lease {} is held by {} for another {}", key, holder, io::format_duration(rounded));
  }

  LeaseGroup group_;
  budget::LeasePlaces budget_;
  io::Duration duration_;
  std::string unusable_;
};

// What the API server would say of such a lease. The file is good all the same: only this check fails.
std::string what_is_wrong_with_duration(io::seconds whole) {
  if (whole.count() > std::numeric_limits<int32_t>::max()) {
    return "is longer than 596523h, the longest a lease can be held";
  }
  return whole.count() < 1 ? "is shorter than 1s, the shortest a lease can be held" : "";
}

int64_t read_parallel(config::ConfigReader& config) {
  constexpr int64_t kMany = 1000, kMost = 100'000;
  const int64_t parallel = config.integer("parallel", config::Required::no, 1);
  if (parallel < 1) {
    config.warn("parallel", "is less than 1, so there is no lease to take and the check never passes");
    return 0;
  }
  if (parallel > kMost) {
    config.warn("parallel", fmt::format("means the same as {}: so many leases are the most", kMost));
    return kMost;
  }
  if (parallel > kMany) config.warn("parallel", "is large: each decision looks at so many leases");
  return parallel;
}

std::unique_ptr<Check> make_stagger_check(config::ConfigReader& config) {
  const io::Duration duration = config.duration("duration", config::Required::yes);
  const auto whole = std::chrono::floor<io::seconds>(duration);  // as a lease counts them
  std::string unusable = duration.count() == 0 ? "" : what_is_wrong_with_duration(whole);
  if (!unusable.empty()) config.warn("duration", unusable + ", so the check fails whenever it is looked at");
  if (!unusable.empty()) unusable = "\"duration\" " + unusable;
  const std::string name = config.string("leaseName", config::Required::yes);
  const std::string ns = config.string("leaseNamespace", config::Required::yes);
  return std::make_unique<Stagger>(LeaseGroup(kube::object_key(ns, name), read_parallel(config)), whole,
                                   std::move(unusable));
}

}  // namespace

Plugin<Check> stagger_check() {
  return {
      make_stagger_check,
      {"stagger",
       "Passes while one of a few leases is free and takes it with the transition, so that nodes follow one another "
       "at a distance in time",
       {
           {.name = "duration",
            .type = config::KeyType::duration,
            .text = "How long a lease is held from the transition on; whole seconds count",
            .required = true},
           {.name = "leaseName",
            .text = "Name of the leases without their number: <leaseName>-0 and so on",
            .required = true},
           {.name = "leaseNamespace", .text = "Namespace of the leases", .required = true},
           {.name = "parallel",
            .type = config::KeyType::integer,
            .text = "How many leases there are",
            .otherwise = "1"},
       },
       R"(- name: one_every_ten_minutes
  type: stagger
  config:
    duration: 10m
    leaseName: maintenance-stagger
    leaseNamespace: kube-system
)"}};
}

}  // namespace careen::profiles
