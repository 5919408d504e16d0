// A MaintenanceLimit as careen reads it: how many nodes (or how much of a workload) may be out at once, and what a
// request under it goes through. What is of another type, out of range or makes no sense is a mistake, which is told in
// the object's status, and as long as it lasts nothing is admitted that the limit is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drain/options.h"
#include "io/time.h"
#include "kube/label_selector.h"
#include "kube/resource.h"

namespace careen::kube {
struct Node;
struct Object;
}  // namespace careen::kube

namespace careen::limits {

extern const kube::Resource kLimitResource;  // maintenancelimits.repairman.k8s.io v1

// spec.type, or the name of an object that has none.
enum class Subject { unsupported, node, deployment, stateful_set, daemon_set };
enum class Mode { observe, queue, enforce };
// What counts: places of careen, requests and what the policies match; or whatever is out, whoever took it out.
enum class Count { policies, all };
enum class Policy { not_ready, unschedulable };

// A number, or percent of what there is, rounded down.
struct Amount {
  int64_t value = 0;
  bool percent = false;
  int64_t of(int64_t total) const { return percent ? total * value / 100 : value; }
  bool operator==(const Amount&) const = default;
};

// Places that only this actor may take.
struct Reserve {
  std::string actor;
  int64_t nodes = 0;
  bool operator==(const Reserve&) const = default;
};

enum class OnTimeout { reject, go_on };

// spec.drain: what happens to the node before a request is approved.
struct DrainStep {
  bool enabled = false;
  bool cordon_only = false;
  drain::Options options;  // its time-out is `timeout`
  io::Duration timeout{};  // 0: none
  io::Duration after{};    // grace period once it is drained
  OnTimeout on_timeout = OnTimeout::reject;
  bool uncordon = true;
  bool operator==(const DrainStep&) const = default;
};

// spec.infraDrain: volumes are detached before a request is approved.
struct InfraDrainStep {
  bool enabled = false;
  io::Duration timeout = io::seconds{300};
  io::Duration after{};
  OnTimeout on_timeout = OnTimeout::reject;
  bool operator==(const InfraDrainStep&) const = default;
};

// spec.timeouts; zero: off.
struct Timeouts {
  io::Duration pending{}, approved{}, in_progress{};
  io::Duration evidence = io::seconds{600};
  bool operator==(const Timeouts&) const = default;
};

struct Limit {
  std::string name;
  std::string uid;
  uint64_t version = 0;
  int64_t generation = 0;
  bool deleting = false;

  Subject subject = Subject::unsupported;
  kube::LabelSelector selector;            // of nodes, or of workloads; without one everything
  kube::LabelSelector namespace_selector;  // of workloads' namespaces
  std::vector<std::string> group_by;       // label keys: a limit of its own for each combination of their values
  std::string unit;                        // label key; empty: each node is one

  std::optional<int64_t> percent;  // spec.limit
  std::optional<Amount> max_unavailable;
  std::optional<Amount> max_parallel;
  std::optional<int64_t> minimum;
  std::vector<Policy> policies;  // in the order of the list, without those that match nothing
  Mode mode = Mode::observe;
  Count count = Count::policies;
  io::Duration settle{};
  io::Duration foreign_cordon_after{};
  std::vector<Reserve> reserve;
  std::vector<std::string> governors;

  DrainStep drain;
  InfraDrainStep infra_drain;
  Timeouts timeouts;
  io::Duration interval{};          // between the end, or the approval, of one request and the approval of the next
  std::optional<io::Duration> ttl;  // of finished requests; nothing: they stay

  // Of the status, what decisions rest on.
  std::optional<io::Wall> last_approval, last_finish;

  // What is wrong with it: a word for the condition Valid, and a sentence that names the field. Empty: nothing.
  std::string mistake_reason, mistake;

  // How many may be out of so many: the smaller one of limit and maxUnavailable, at least `minimum`. Without a minimum
  // it is 1, so that a percentage of few is not none, unless one of the two is 0 and says none. A limit that has
  // neither of them allows none either, because in the program that careen replaces an absent limit is 0 percent; that
  // program allows one all the same, and so does this one with `floor_of_one` or a minimum. Of nothing there is none.
  int64_t nominal(int64_t total) const;
  // How many may be worked on at once, also of those that are out anyway; as many as may be out where it is not said.
  int64_t parallel(int64_t total) const;
  bool selects(const kube::Node& node) const;
};

struct ParseOptions {
  // `limit: 0` still allows one, as in the program that careen replaces.
  bool floor_of_one = false;
};

Limit parse_limit(const kube::Object& object, const ParseOptions& options = {});
std::string_view name_of(Mode mode);
std::string_view name_of(Policy policy);

}  // namespace careen::limits
