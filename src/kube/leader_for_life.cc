#include "kube/leader_for_life.h"

#include <algorithm>
#include <utility>

#include "io/loop.h"
#include "kube/client.h"
#include "kube/error.h"
#include "kube/json.h"
#include "kube/stream.h"

namespace careen::kube {

namespace {

// A held lock does not change, so a watch of it has nothing to tell; what it misses is read.
constexpr io::Duration kSilentWatch = io::minutes{10};

// Who holds a ConfigMap that no single Pod owns: as in operator-lib, nobody may take it before people have looked.
constexpr std::string_view kNoPod = "(not one Pod)";

}  // namespace

struct LeaderForLife::Seen {
  std::string uid;
  std::string version;
  std::string pod;  // the owner, if it is one Pod
  std::string pod_uid;

  static io::Result<std::unique_ptr<Seen>> parse(std::string_view body) {
    const io::Result<Json> object = Json::parse(body);
    if (!object || !object->view().is_object()) return io::refuse("what the server sent is no ConfigMap");
    auto seen = std::make_unique<Seen>();
    seen->uid = object->at("/metadata/uid").text().value_or("");
    seen->version = object->at("/metadata/resourceVersion").text().value_or("");
    const JsonView owners = object->at("/metadata/ownerReferences");
    if (owners.size() != 1 || owners[size_t{0}]["kind"].text() != "Pod") return seen;
    seen->pod = owners[size_t{0}]["name"].text().value_or("");
    seen->pod_uid = owners[size_t{0}]["uid"].text().value_or("");
    return seen;
  }
};

LeaderForLife::LeaderForLife(io::Loop& loop, Client& client, io::Random& random, io::Problems& problems, io::Log log,
                             LeaderForLifeOptions options)
    : Lock(loop, client, random, problems, std::move(log),
           {resources::config_maps, resources::config_maps.kind, options.ns, options.name}, options.timing, options.pod,
           options.problem) {}

LeaderForLife::~LeaderForLife() = default;

// By its uid: a Pod that was made again under our name, as one of a StatefulSet is, does not hold what its predecessor
// held, for that goes with its predecessor.
bool LeaderForLife::ours() const {
  return seen_ && seen_->pod == identity_ && !pod_uid_.empty() && seen_->pod_uid == pod_uid_;
}

// Always looks first: what it finds is what proves the lock ours.
io::Task<Lock::Outcome> LeaderForLife::attempt(bool) {
  auto trouble = co_await learn_own_pod();
  const io::Steady sent = loop_.now();
  if (!trouble) trouble = co_await read();
  if (trouble) {
    complain(*trouble);
    co_return Outcome::failed;
  }
  if (ours() && loop_.now() >= claimable_at()) {
    proven(sent);
    co_return Outcome::held;
  }
  if (leading() || ours()) co_return Outcome::taken;
  if (!seen_) co_return co_await create();
  co_await bury_holder();
  co_return Outcome::taken;
}

io::Task<std::optional<Lock::Trouble>> LeaderForLife::learn_own_pod() {
  if (!pod_uid_.empty()) co_return std::nullopt;
  const Result<std::string> body = co_await client_.get(resources::pods, place_.ns, identity_, call_options());
  if (!body) co_return trouble_of(body.error());
  const io::Result<Json> pod = Json::parse(*body);
  if (pod) pod_uid_ = pod->at("/metadata/uid").text().value_or("");
  if (pod_uid_.empty()) co_return unreadable("what the server sent for Pod " + identity_ + " has no uid");
  co_return std::nullopt;
}

// That there is no ConfigMap is no trouble.
io::Task<std::optional<Lock::Trouble>> LeaderForLife::read() {
  const Result<std::string> body = co_await client_.get(place_.resource, place_.ns, place_.name, call_options());
  looked_ = loop_.now();
  if (!body) {
    if (!body.error().not_found()) co_return trouble_of(body.error());
    vanish();
    co_return std::nullopt;
  }
  auto seen = Seen::parse(*body);
  if (!seen) co_return unreadable(seen.error().message);
  // The watch was faster. Or else the server's history went back, and no version of ours means anything any more.
  if (as_number((*seen)->version) < as_number(std::exchange(last_version_, {}))) {
    co_return unreadable("the answer is older than what was seen before");
  }
  observe(std::move(*seen));
  co_return std::nullopt;
}

// Creating is the one step that only one can take.
io::Task<Lock::Outcome> LeaderForLife::create() {
  const Json owner = Json::object({{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", identity_}, {"uid", pod_uid_}});
  const Json object = Json::object(
      {{"apiVersion", "v1"},
       {"kind", place_.resource.kind},
       {"metadata",
        Json::object({{"name", place_.name}, {"namespace", place_.ns}, {"ownerReferences", Json::array({owner})}})}});
  const CallOptions options = call_options();
  // Noted before it is sent: if we are cancelled meanwhile, its fate is open.
  created_ = true;
  const io::Steady sent = loop_.now();
  const Result<std::string> answer = co_await client_.create(place_.resource, place_.ns, object.dump(), options);
  if (answer) {
    auto seen = Seen::parse(*answer);
    if (!seen) {
      complain(unreadable(seen.error().message));
      co_return Outcome::failed;
    }
    // The watch may already show that it was removed again.
    if (as_number((*seen)->version) > as_number(last_version_)) observe(std::move(*seen));
    if (!ours()) co_return Outcome::conflict;
    proven(sent);
    co_return Outcome::held;
  }
  if (answer.error().already_exists()) co_return Outcome::conflict;
  complain(trouble_of(answer.error()));
  co_return Outcome::failed;
}

// A Pod that has failed (one that was evicted, say) runs nothing any more, but its object stays and with it the lock.
// The garbage collector frees that when the Pod is deleted. What a Pod on a node that is not ready still does nobody
// knows, so its lock stays its own until somebody has deleted it.
io::Task<void> LeaderForLife::bury_holder() {
  if (seen_->pod.empty()) co_return;
  const std::string name = seen_->pod;
  const std::string uid = seen_->pod_uid;
  const Result<std::string> body = co_await client_.get(resources::pods, place_.ns, name, call_options());
  if (!body) co_return;
  const io::Result<Json> pod = Json::parse(*body);
  if (!pod || pod->at("/metadata/uid").text() != uid) co_return;
  if (pod->at("/status/phase").text() != "Failed" || pod->at("/metadata/deletionTimestamp").exists()) co_return;
  log_.info("the leader's Pod has failed; it is deleted, so that its lock becomes free", "pod", name, "reason",
            pod->at("/status/reason").text().value_or(""));
  DeleteOptions what;
  what.preconditions.uid = uid;
  const Result<std::string> gone =
      co_await client_.remove(resources::pods, place_.ns, name, std::move(what), call_options());
  if (!gone)
    log_.warn("the failed Pod that holds the lock cannot be deleted", "pod", name, "error", gone.error().message);
}

// Deletes the ConfigMap under the version that was read. Without the right to it the lock goes with our Pod.
io::Task<bool> LeaderForLife::hand_back() {
  if (co_await read()) co_return false;
  if (!ours()) co_return true;
  DeleteOptions what;
  what.preconditions = {seen_->uid, seen_->version};
  const Result<std::string> gone =
      co_await client_.remove(place_.resource, place_.ns, place_.name, std::move(what), call_options());
  if (!gone && gone.error().forbidden()) {
    log_.info("the lock cannot be given back; it becomes free when this Pod is gone", "error", gone.error().message);
  }
  co_return gone || gone.error().forbidden();
}

void LeaderForLife::take_event(EventType type, std::string_view object) {
  auto shown = Seen::parse(object);
  if (!shown) return seen(true);
  const uint64_t version = as_number((*shown)->version);
  if (version != 0 && version <= as_number(last_version_)) return;
  if (type == EventType::deleted) {
    last_version_ = (*shown)->version;
    vanish();
  } else {
    observe(std::move(*shown));
  }
  seen(!ours());
}

void LeaderForLife::observe(std::unique_ptr<Seen> seen) {
  seen_ = std::move(seen);
  last_version_ = seen_->version;
  uid_ = seen_->uid;
  holder_ = seen_->pod.empty() ? std::string(kNoPod) : seen_->pod;
  if (ours() && !created_ && !inherited_until_) inherited_until_ = loop_.now() + timing_.lease_duration;
  // Not to be taken for ours by its name.
  if (seen_->pod == identity_ && !ours()) holder_ = identity_ + " (" + seen_->pod_uid + ")";
}

void LeaderForLife::vanish() {
  seen_.reset();
  holder_.clear();
}

// What another holds is looked at now and then, for its Pod is not watched.
io::Steady LeaderForLife::claimable_at() const {
  if (!seen_) return io::Steady{};
  if (ours()) return inherited_until_.value_or(io::Steady{});
  return looked_ + timing_.retry_period;
}

io::Duration LeaderForLife::longest_silence() const { return kSilentWatch; }

}  // namespace careen::kube
