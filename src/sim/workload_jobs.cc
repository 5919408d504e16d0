#include <algorithm>

#include "sim/workload_kinds.h"
#include "sim/workload_world.h"

namespace careen::sim {

namespace {

constexpr std::string_view kJobs = "/apis/batch/v1/jobs";
// Holds a pod until it is counted.
constexpr std::string_view kTracking = "batch.kubernetes.io/job-tracking";
// After a failure the next pod waits: 10 s, and twice as long with each failure, up to 10 min.
constexpr io::Duration kFirstDelay = io::seconds{10};
constexpr io::Duration kLongestDelay = io::minutes{10};

bool is_finished(const json::value& job) {
  const json::value* conditions = find(job, {"status", "conditions"});
  if (!conditions || !conditions->is_array()) return false;
  return std::any_of(conditions->get_array().begin(), conditions->get_array().end(), [](const json::value& one) {
    const std::string_view type = text_at(one, "type");
    return (type == "Complete" || type == "Failed") && text_at(one, "status") == "True";
  });
}

bool has_succeeded(const json::value& pod) { return text_at(pod, {"status", "phase"}) == "Succeeded"; }
// A pod that was told to go counts as failed at once.
bool has_failed(const json::value& pod) {
  return text_at(pod, {"status", "phase"}) == "Failed" || (is_terminating(pod) && !has_succeeded(pod));
}

// Of a pod that was told to go while it ran nobody knows better than when it became ready: one that had run for long
// is replaced at once.
io::Wall ended_at(const json::value& pod, io::Wall otherwise) {
  const auto time_at = [](const json::value& object, std::initializer_list<std::string_view> path) {
    return io::parse_rfc3339(text_at(object, path));
  };
  io::Wall last{};
  if (const json::value* list = find(pod, {"status", "containerStatuses"}); list && list->is_array()) {
    for (const json::value& one : list->get_array()) {
      last = std::max(last, time_at(one, {"state", "terminated", "finishedAt"}).value_or(io::Wall{}));
    }
  }
  if (last != io::Wall{}) return last;
  if (const json::value* list = find(pod, {"status", "conditions"}); list && list->is_array()) {
    for (const json::value& one : list->get_array()) {
      if (text_at(one, "type") == "Ready") return time_at(one, {"lastTransitionTime"}).value_or(otherwise);
    }
  }
  return otherwise;
}

// A Job and its pods at one look.
class Run {
 public:
  Run(WorkloadWorld& world, const json::value& job)
      : world_(world),
        job_(job),
        completions_(integer_at(job, {"spec", "completions"})),
        parallelism_(spec_number(job, "parallelism", 1)),
        suspended_(is_true(job.at("spec"), "suspend")),
        succeeded_(status_number(job, "succeeded")),
        failed_(status_number(job, "failed")) {}
  Again tend();

 private:
  void count();
  void release(const json::value& pod);
  void let_go_of_active();
  void fill(Again& again);
  int64_t wanted() const;
  io::Duration delay() const;
  json::array ending(std::string_view type, std::string_view reason, const std::string& message) const;
  void write_status(json::array conditions);
  std::vector<json::value> pods() const { return world_.dependents(kPodsPath, uid_of(job_)); }
  int64_t active() const;

  WorkloadWorld& world_;
  const json::value& job_;
  const std::optional<int64_t> completions_;
  const int64_t parallelism_;
  const bool suspended_;
  int64_t succeeded_, failed_;
};

void Run::release(const json::value& pod) {
  const json::value* finalizers = find(pod, {"metadata", "finalizers"});
  json::array kept = finalizers && finalizers->is_array() ? finalizers->get_array() : json::array();
  remove_elements(kept, [](const json::value& one) { return one == json::value(kTracking); });
  world_.merge(path_of(kPodsPath, pod), {{"metadata", {{"finalizers", std::move(kept)}}}});
}

// Each pod that ended is counted once; its finalizer says whether it was.
void Run::count() {
  for (const json::value& pod : pods()) {
    const json::value* finalizers = find(pod, {"metadata", "finalizers"});
    const bool tracked = finalizers && finalizers->is_array() &&
                         std::find(finalizers->get_array().begin(), finalizers->get_array().end(),
                                   json::value(kTracking)) != finalizers->get_array().end();
    if (!tracked) continue;
    WorkloadWorld::Failures& failures = world_.failures_of(uid_of(job_));
    if (has_succeeded(pod)) {
      ++succeeded_;
      failures = {};
    } else if (has_failed(pod)) {
      ++failed_;
      ++failures.in_a_row;
      failures.last = std::max(failures.last, ended_at(pod, world_.now()));
    } else {
      continue;
    }
    release(pod);
  }
}

int64_t Run::active() const {
  const auto all = pods();
  return std::count_if(all.begin(), all.end(), [](const json::value& pod) { return is_active(pod); });
}

void Run::let_go_of_active() {
  for (const json::value& pod : pods()) {
    if (!is_active(pod)) continue;
    world_.remove(path_of(kPodsPath, pod), uid_of(pod));
    release(pod);
  }
}

int64_t Run::wanted() const {
  if (suspended_) return 0;
  // Without completions, the first success means that the work is done.
  if (!completions_) return succeeded_ > 0 ? active() : parallelism_;
  return std::max<int64_t>(0, std::min(parallelism_, *completions_ - succeeded_));
}

// How long after the last failure there is no new pod.
io::Duration Run::delay() const {
  const WorkloadWorld::Failures& failures = world_.failures_of(uid_of(job_));
  if (failures.in_a_row == 0) return io::Duration{0};
  io::Duration wait = kFirstDelay;
  for (int i = 1; i < failures.in_a_row && wait < kLongestDelay; ++i) wait *= 2;
  const io::Wall due = failures.last + std::min(wait, kLongestDelay);
  return std::max(io::Duration{0}, io::Duration(std::chrono::ceil<std::chrono::milliseconds>(due - world_.now())));
}

void Run::fill(Again& again) {
  const int64_t missing = wanted() - active();
  if (missing < 0) {
    int64_t too_many = -missing;
    for (const json::value& pod : pods()) {
      if (too_many == 0) break;
      if (!is_active(pod)) continue;
      world_.remove(path_of(kPodsPath, pod), uid_of(pod));
      release(pod);
      --too_many;
    }
  }
  if (missing <= 0) return;
  if (const io::Duration wait = delay(); wait > io::Duration{0}) return sooner(again, wait);
  if (missing > kMostPodsAtOnce) sooner(again, io::Duration{0});
  for (int64_t i = 0; i < std::min(missing, kMostPodsAtOnce); ++i) {
    json::value pod = pod_from_template(job_, "batch/v1", "Job");
    json::value& finalizers = pod.at("metadata").get_object()["finalizers"];
    if (!finalizers.is_array()) finalizers.emplace_array();
    finalizers.get_array().push_back(json::value(kTracking));
    if (world_.create(collection_in(kPodsPath, namespace_of(job_)), pod)) continue;
    return sooner(again, kRetryCreation);
  }
}

json::array Run::ending(std::string_view type, std::string_view reason, const std::string& message) const {
  json::array out;
  const std::string now = world_.now_text();
  const std::string_view first = type == "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
  for (const std::string_view one : {first, type}) {
    out.push_back({{"type", one},
                   {"status", "True"},
                   {"lastProbeTime", now},
                   {"lastTransitionTime", now},
                   {"reason", reason},
                   {"message", message}});
  }
  return out;
}

void Run::write_status(json::array conditions) {
  int64_t running = 0, ready = 0, terminating = 0;
  for (const json::value& pod : pods()) {
    if (is_terminating(pod) && !has_ended(pod)) ++terminating;
    if (!is_active(pod)) continue;
    ++running;
    ready += is_ready(pod) ? 1 : 0;
  }
  json::object status;
  if (!conditions.empty()) {
    if (text_at(conditions.back(), "type") == "Complete") status["completionTime"] = world_.now_text();
    status["conditions"] = std::move(conditions);
  }
  std::string started(text_at(job_, {"status", "startTime"}));
  if (started.empty() && !suspended_) started = world_.now_text();
  if (!started.empty()) status["startTime"] = started;
  if (running > 0) status["active"] = running;
  if (succeeded_ > 0) status["succeeded"] = succeeded_;
  if (failed_ > 0) status["failed"] = failed_;
  status["terminating"] = terminating;
  status["ready"] = ready;
  status["uncountedTerminatedPods"] = json::object();
  world_.write_status(path_of(kJobs, job_), job_, status);
}

Again Run::tend() {
  Again again;
  // What was counted may go, whatever became of the Job.
  count();
  if (is_finished(job_)) return again;
  const bool done = completions_ ? succeeded_ >= *completions_ : succeeded_ > 0 && active() == 0;
  const bool hopeless = failed_ > spec_number(job_, "backoffLimit", 6);
  json::array conditions;
  if (is_terminating(job_)) {
    write_status({});
    return again;
  }
  if (done) {
    conditions = ending("Complete", "CompletionsReached", "Reached expected number of succeeded pods");
    let_go_of_active();
  } else if (hopeless) {
    conditions = ending("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit");
    let_go_of_active();
  } else {
    fill(again);
  }
  write_status(std::move(conditions));
  return again;
}

}  // namespace

Again tend_job(WorkloadWorld& world, const json::value& job) { return Run(world, job).tend(); }

}  // namespace careen::sim
