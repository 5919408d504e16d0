#include "turnstile/turnstile.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/metrics.h"
#include "io/printable.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/node.h"
#include "kube/node_decoder.h"
#include "kube/pod_store.h"
#include "kube/resource.h"
#include "limits/desk.h"
#include "limits/evictions.h"
#include "limits/limit.h"

namespace careen::turnstile {

using io::Task;
using kube::AdmissionVerdict;
using limits::EvictionRow;
using limits::ForeignPlaces;

namespace {

constexpr io::Duration kLearnAgain = io::seconds{30};
constexpr io::Duration kOwnerRead = io::milliseconds{100};
// Beyond it, looks that are over are forgotten.
constexpr size_t kManyLooks = 256;
const kube::Resource kSelfReviews{"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", false};

constexpr std::string_view name_of(ForeignPlaces::Outcome outcome) {
  switch (outcome) {
    case ForeignPlaces::Outcome::placed:
      return "placed";
    case ForeignPlaces::Outcome::admitted:
      return "admitted";
    case ForeignPlaces::Outcome::waits:
      return "waits";
    case ForeignPlaces::Outcome::late:
    case ForeignPlaces::Outcome::full:
      return "unrecorded";
  }
  return "unrecorded";
}

Sight seen(const limits::Desk& desk, const kube::Node& node) {
  const std::string* reason = node.annotation(Turnstile::kBreakGlass);
  return {.exists = true,
          .uid = node.uid,
          .version = node.version,
          .facts = desk.facts_of(node),
          .break_glass = reason ? *reason : std::string()};
}

std::string break_glass_in(kube::JsonView object) {
  return std::string(object["metadata"]["annotations"][Turnstile::kBreakGlass].text().value_or(""));
}

Task<AdmissionVerdict> at_once(AdmissionVerdict verdict) { co_return verdict; }

}  // namespace

struct Turnstile::Look {
  explicit Look(io::Loop& loop) : done(loop) {}
  io::Gate done;
  io::Steady begun{};
  std::optional<Sight> sight;
};

Turnstile::Turnstile(TurnstileParts parts)
    : p_(std::move(parts)),
      silence_(p_.loop, p_.metrics, p_.problems, [this] { return somebody_decides(); }),
      reads_(p_.loop) {
  for (const char* answer : {"unconcerned", "staying", "own", "placed", "admitted", "waits", "unrecorded", "unknown",
                             "open", "down", "leader", "scale-down", "break-glass"}) {
    answers_[answer] = &p_.metrics.counter("careen_limit_webhook_answers_total",
                                           "Answers about nodes that others take out of service, by what decided.",
                                           {{"answer", answer}});
  }
}

Task<void> Turnstile::run() {
  co_await learn_own_user();
  co_await silence_.run();
}

// An account of a person may be used by careen on a workstation, and by that person beside it.
Task<void> Turnstile::learn_own_user() {
  kube::Request request;
  request.method = "POST";
  request.path = kSelfReviews.path();
  request.content_type = "application/json";
  request.body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})";
  kube::CallOptions options;
  options.repeatable = true;
  for (;;) {
    const auto answer = co_await p_.reader.call(request, kSelfReviews, "create", options);
    if (answer) {
      const auto review = kube::Json::parse(*answer);
      const auto user = review ? review->at("/status/userInfo/username").text() : std::nullopt;
      if (user && !limits::is_person(*user)) own_user_ = *user;
      co_return;
    }
    // Servers before 1.28 do not know it. careen's own nodes have places, so they pass without it.
    if (answer.error().not_found() || answer.error().code == 403) co_return;
    co_await io::sleep_for(p_.loop, kLearnAgain);
  }
}

void Turnstile::count(std::string_view answer) {
  if (const auto found = answers_.find(answer); found != answers_.end()) found->second->add();
}

AdmissionVerdict Turnstile::allow(std::string_view answer) {
  count(answer);
  return AdmissionVerdict::allow();
}

AdmissionVerdict Turnstile::wait(std::string_view answer, std::string text) {
  count(answer);
  return later(std::move(text));
}

Task<AdmissionVerdict> Turnstile::judge_eviction(const kube::AdmissionRequest& request) {
  return judge(eviction_question(request), reason_of(request));
}

Task<AdmissionVerdict> Turnstile::judge_cordon(const kube::AdmissionRequest& request) {
  std::string reason = reason_of(request);
  if (reason.empty()) reason = break_glass_in(request.object.view());
  return judge(cordon_question(request), std::move(reason));
}

Task<AdmissionVerdict> Turnstile::judge(Question question, std::string reason) {
  if (!own_user_.empty() && question.user == own_user_) co_return allow("own");
  if (question.passed_on && !p_.decides()) {
    co_return AdmissionVerdict::error(503, "this replica does not lead, or does not know enough yet");
  }
  if (question.kind == Question::Kind::eviction)
    co_return co_await about_eviction(std::move(question), std::move(reason));
  co_return co_await about_node(std::move(question), std::move(reason));
}

std::string Turnstile::reason_of(const kube::AdmissionRequest& request) const {
  if (p_.break_glass_group.empty()) return {};
  const auto& groups = request.groups;
  if (std::find(groups.begin(), groups.end(), p_.break_glass_group) == groups.end()) return {};
  return "the user is in the group " + p_.break_glass_group;
}

AdmissionVerdict Turnstile::break_glass(const Question& question, const std::string& reason) {
  if (question.dry_run) return allow("break-glass");
  kube::EventRecord event;
  event.regarding = {"v1", "Node", "", question.node, cached(question.node).uid, ""};
  event.type = "Warning";
  event.reason = "BreakGlass";
  event.action = "TakeOut";
  event.note = fmt::format("{} takes the node out of service, whatever its limits say: {}",
                           io::printable(question.user), io::printable(reason));
  event.controller = "careen";
  p_.events.record(std::move(event));
  return allow("break-glass");
}

bool Turnstile::knows_limits() const { return p_.desk.is_known() && p_.knows_nodes(); }

bool Turnstile::enforced(std::string_view node) const {
  return std::ranges::any_of(p_.desk.limits_of(node), [](const limits::Limit* limit) {
    return limits::makes_wait(*limit) && limit->mode == limits::Mode::enforce;
  });
}

Task<AdmissionVerdict> Turnstile::judge_deletion(const kube::AdmissionRequest& request) {
  const kube::JsonView machine = request.old_object.view();
  const auto text = [](kube::JsonView value) { return std::string(value.text().value_or("")); };
  const bool claim = machine["kind"].text() == "NodeClaim";
  Question question{.kind = Question::Kind::leave,
                    .node = text(claim ? machine["status"]["nodeName"] : machine.at("/status/nodeRef/name")),
                    .user = request.user,
                    .actor = claim ? "karpenter" : "cluster-api",
                    .dry_run = request.dry_run};
  std::string reason = reason_of(request);
  if (reason.empty()) reason = break_glass_in(machine);
  const bool ends_already = !text(machine["metadata"]["deletionTimestamp"]).empty();
  if (question.node.empty() || ends_already || (knows_limits() && !enforced(question.node))) {
    return at_once(allow("unconcerned"));
  }
  if (!reason.empty() || (!own_user_.empty() && question.user == own_user_)) {
    return judge(std::move(question), std::move(reason));
  }
  const kube::JsonView labels = machine["metadata"]["labels"];
  std::string owner, cluster;
  if (claim) {
    owner = text(labels["karpenter.sh/nodepool"]);
  } else {
    cluster = text(labels["cluster.x-k8s.io/cluster-name"]);
    machine["metadata"]["ownerReferences"].for_each_element([&](kube::JsonView reference) {
      if (reference["kind"].text() == "MachineSet") owner = text(reference["name"]);
    });
  }
  return judge_machine(text(machine["apiVersion"]), claim, request.ns, std::move(owner), std::move(cluster),
                       std::move(question));
}

// Fewer nodes are wanted, or none: that is no maintenance.
Task<AdmissionVerdict> Turnstile::judge_machine(std::string group_version, bool claim, std::string ns,
                                                std::string owner, std::string cluster, Question question) {
  const size_t slash = group_version.find('/');
  const std::string group = group_version.substr(0, slash);
  const std::string version = slash == std::string::npos ? "v1" : group_version.substr(slash + 1);
  const kube::Resource owners = claim ? kube::Resource{group, version, "nodepools", "NodePool", false}
                                      : kube::Resource{group, version, "machinesets", "MachineSet", true};
  const kube::Resource clusters{group, version, "clusters", "Cluster", true};
  if (!owner.empty() && !(co_await stays(owners, claim ? "" : ns, owner)).value_or(true)) co_return allow("scale-down");
  if (!cluster.empty() && !(co_await stays(clusters, ns, cluster)).value_or(true)) co_return allow("scale-down");
  co_return co_await judge(std::move(question), {});
}

Task<std::optional<bool>> Turnstile::stays(kube::Resource resource, std::string ns, std::string name) {
  kube::CallOptions options;
  options.timeout = kOwnerRead;
  options.attempts = 1;
  const auto answer = co_await p_.reader.get(resource, ns, name, options);
  if (!answer && answer.error().not_found()) co_return false;
  const auto read = answer ? kube::Json::parse(*answer) : io::fail(io::ErrorKind::protocol, answer.error().message);
  if (!read) co_return std::nullopt;
  if ((*read)["metadata"]["deletionTimestamp"].text()) co_return false;
  const auto wanted = read->at("/spec/replicas").integer();
  const auto there = read->at("/status/replicas").integer();
  co_return !wanted || !there || *wanted >= *there;
}

Task<AdmissionVerdict> Turnstile::about_eviction(Question question, std::string reason) {
  if (!knows_limits() || !p_.knows_pods()) co_return co_await pass_on(std::move(question));
  const auto found = p_.pods.find(question.ns, question.pod);
  limits::EvictedPod pod = limits::evicted_pod(found ? &*found : nullptr);
  // Another replica has seen it.
  if (!pod.known && !question.node.empty()) pod = {.known = true, .node = question.node};
  Sight sight = cached(pod.node);
  limits::EvictedNode node{.makes_wait = limits::makes_wait(p_.desk, pod.node),
                           .leaving = limits::leaving_by(sight.facts) != nullptr};
  EvictionRow row = limits::row_of(pod, node);
  if (row == EvictionRow::look) {
    auto looked = co_await look_at(pod.node);
    if (!looked)
      co_return wait("unknown", fmt::format("node {} cannot be read to see whether it is leaving", pod.node));
    sight = std::move(*looked);
    if (!sight.exists) co_return allow("unconcerned");
    node.leaving = limits::leaving_by(sight.facts) != nullptr;
    node.fresh = true;
    row = limits::row_of(pod, node);
  }
  if (row == EvictionRow::unconcerned) co_return allow("unconcerned");
  if (row == EvictionRow::staying) co_return allow("staying");
  question.node = pod.node;
  if (reason.empty()) reason = sight.break_glass;
  if (!reason.empty()) co_return break_glass(question, reason);
  co_return co_await decide(std::move(question), std::move(sight));
}

Task<AdmissionVerdict> Turnstile::about_node(Question question, std::string reason) {
  if (!reason.empty()) co_return break_glass(question, reason);
  if (!knows_limits()) co_return co_await pass_on(std::move(question));
  if (!enforced(question.node)) co_return allow("unconcerned");
  Sight sight = cached(question.node);
  if (!sight.exists) co_return allow("unconcerned");
  if (limits::is_down(sight.facts, p_.loop.wall_now())) co_return allow("down");
  co_return co_await decide(std::move(question), std::move(sight));
}

// Only who leads can.
Task<AdmissionVerdict> Turnstile::decide(Question question, Sight sight) {
  if (!p_.decides()) co_return co_await pass_on(std::move(question));
  silence_.end();
  const bool direct = !question.passed_on;
  auto answer = co_await p_.places.evict({.node = question.node,
                                          .uid = std::move(sight.uid),
                                          .version = sight.version,
                                          .facts = std::move(sight.facts),
                                          .user = std::move(question.user),
                                          .actor = std::move(question.actor),
                                          .dry_run = question.dry_run,
                                          .joins_line = question.kind == Question::Kind::eviction,
                                          .patience = (direct ? kPatience : kPatienceWithLeader) * 4 / 5});
  if (answer.allowed()) co_return allow(name_of(answer.outcome));
  co_return wait(name_of(answer.outcome), std::move(answer.text));
}

Task<AdmissionVerdict> Turnstile::pass_on(Question question) {
  if (silence_.open()) co_return allow("open");
  // Nobody passes on what was passed on.
  if (question.passed_on) co_return AdmissionVerdict::error(503, "this replica does not know enough yet");
  std::string why = "this replica leads, and does not know enough yet";
  if (!p_.decides()) {
    const auto answer = co_await io::with_timeout(
        p_.loop, kPatienceWithLeader, p_.ask_leader(std::string(path_of(question.kind)), review_of(question)));
    const auto verdict = answer && *answer ? verdict_in(**answer) : std::nullopt;
    if (verdict && verdict->code != 503) {
      silence_.end();
      count("leader");
      co_return *verdict;
    }
    why = !answer   ? "the replica that leads does not answer in time"
          : *answer ? "it leads no more"
                    : answer->error().message;
    if (verdict) why = verdict->message;
  }
  silence_.begin(why);
  co_return wait("unknown", "whether the node may be taken out of service is not known at the moment: " + why);
}

Task<bool> Turnstile::somebody_decides() {
  if (p_.decides()) co_return true;
  // About no pod at all, which every leader allows.
  const auto answer =
      co_await io::with_timeout(p_.loop, kPatienceWithLeader, p_.ask_leader(std::string(kEvictionPath), review_of({})));
  const auto verdict = answer && *answer ? verdict_in(**answer) : std::nullopt;
  co_return verdict && verdict->code != 503;
}

Sight Turnstile::cached(const std::string& node) const {
  const kube::Node* known = p_.nodes.find(node);
  if (!known) return {};
  return seen(p_.desk, *known);
}

Task<std::optional<Sight>> Turnstile::look_at(std::string node) {
  if (looks_.size() > kManyLooks) {
    std::erase_if(looks_, [&](const auto& one) { return p_.loop.now() - one.second->begun > kOneLook; });
  }
  std::shared_ptr<Look>& latest = looks_[node];
  if (!latest || p_.loop.now() - latest->begun > kOneLook) {
    latest = std::make_shared<Look>(p_.loop);
    latest->begun = p_.loop.now();
    reads_.spawn(read(node, latest));
  }
  const std::shared_ptr<Look> look = latest;
  co_await look->done.wait();
  co_return look->sight;
}

Task<void> Turnstile::read(std::string node, std::shared_ptr<Look> look) {
  kube::CallOptions options;
  options.timeout = kPatienceWithLeader;
  options.attempts = 1;
  const auto answer = co_await p_.reader.get(kube::resources::nodes, "", node, options);
  if (!answer && answer.error().not_found()) look->sight = Sight{};
  if (answer) {
    if (const auto read = p_.decoder.decode(*answer)) {
      look->sight = seen(p_.desk, *read);
    }
  }
  look->done.open();
}

}  // namespace careen::turnstile
