// What the engine reads from the server itself, past all caches: the node, which has to be the one that the drain is
// about, and the list of its pods. Reads have slots of their own, so that no eviction that hangs holds them up.
#include <algorithm>

#include "drain/engine_core.h"
#include "kube/cache.h"
#include "kube/json.h"
#include "kube/node.h"
#include "kube/stream.h"
#include "kube/url.h"

namespace careen::drain {

namespace {

constexpr io::Duration kListTimeout = io::seconds{30};
constexpr io::Duration kFirstReadPause = io::seconds{1};
constexpr io::Duration kLongestReadPause = io::seconds{30};
// A node that is created again is noticed within this time at the latest, whatever the watch of nodes says.
constexpr io::Duration kNodeKnownFor = io::seconds{30};

io::Duration read_pause(int failures) {
  return std::min(kFirstReadPause * (int64_t{1} << std::min(failures, 10)), kLongestReadPause);
}

}  // namespace

void Engine::Core::start_list(Drain& drain) {
  if (!can_send() || drain.listing != Drain::Listing::wanted) return;
  drain.listing = Drain::Listing::under_way;
  sending->spawn(list(drain.id));
}

io::Task<void> Engine::Core::list(uint64_t drain_id) {
  const auto permit = co_await reads.acquire();
  const Drain* wanted = find_drain(drain_id);
  if (!wanted) co_return;
  kube::CallOptions call;
  call.timeout = kListTimeout;
  call.query = "fieldSelector=spec.nodeName%3D";
  kube::append_encoded(call.query, wanted->key.node);
  kube::Result<std::string> response = co_await p.client.list(kube::resources::pods, "", std::move(call));
  Drain* drain = find_drain(drain_id);
  if (!drain) co_return;
  std::string wrong;
  if (!response) {
    wrong = response.error().message;
  } else if (const auto taken = take_list(std::move(*response)); !taken) {
    wrong = taken.error().message;
  }
  drain->listing = wrong.empty() ? Drain::Listing::done : Drain::Listing::wanted;
  if (wrong.empty()) settle_newcomers(*drain);
  drain->list_error = wrong;
  if (!wrong.empty()) {
    drain->list_again.set(p.loop.now() + read_pause(drain->list_failures++));
    p.log.warn("the pods of a node cannot be listed", "node", drain->key.node, "error", wrong);
  }
  update_phase(*drain);
  consider_all(*drain);
  tell(*drain);
}

// The node was free for others and is cordoned again: whoever came meanwhile was there when the cordon was
// acknowledged.
void Engine::Core::list_anew(Drain& drain) {
  if (drain.listing != Drain::Listing::done) return;
  p.log.info("the node was uncordoned meanwhile; its pods are listed again", "node", drain.key.node, "owner",
             drain.key.owner);
  drain.listing = Drain::Listing::wanted;
  update_phase(drain);
  start_list(drain);
}

// A new list is a new beginning: what it shows has to go.
void Engine::Core::settle_newcomers(Drain& drain) {
  std::vector<kube::Pod> there;
  for (const auto& [name, target] : drain.pods) {
    Membership& membership = *target->membership(drain);
    if (!membership.newcomer) continue;
    count(membership, -1);
    membership.newcomer = membership.judged = false;
    ++drain.progress.total_pods;
    if (const auto pod = pod_of(*target)) there.push_back(*pod);
  }
  drain.chases.clear();
  for (const kube::Pod& pod : there) join(drain, pod);
}

// What the list shows enters the cache, and thereby the drain.
io::Result<bool> Engine::Core::take_list(std::string body) {
  kube::PodFacts facts;
  const auto page = kube::read_page(body, [&](kube::RawObject& raw) -> io::Result<bool> {
    if (auto ok = kube::decode_pod(raw, facts, p.pods.marking()); !ok) return ok;
    p.pods.put(facts);
    return true;
  });
  if (!page) return tl::make_unexpected(page.error());
  return true;
}

bool Engine::Core::node_is_known(const Drain& drain) const {
  if (!drain.node_read || *drain.node_read < drain.resumed_at) return false;
  return p.loop.now() < *drain.node_read + kNodeKnownFor;
}

// Whether the server has said lately that the pod's node is the one its drains are about. If not, it is asked.
bool Engine::Core::node_is_known(const Target& target) {
  bool known = true;
  for (const Membership& membership : target.memberships) {
    Drain& drain = *membership.drain;
    if (!is_active(drain) || node_is_known(drain)) continue;
    known = false;
    start_node(drain);
  }
  return known;
}

void Engine::Core::start_node(Drain& drain) {
  if (!can_send() || drain.node_under_way || drain.node_again.pending()) return;
  drain.node_under_way = true;
  sending->spawn(read_node(drain.id));
}

io::Task<void> Engine::Core::read_node(uint64_t drain_id) {
  const auto permit = co_await reads.acquire();
  const Drain* wanted = find_drain(drain_id);
  if (!wanted) co_return;
  const io::Steady asked = p.loop.now();
  const std::string name = wanted->key.node;
  const kube::Result<std::string> response = co_await p.client.get(kube::resources::nodes, "", name);
  Drain* drain = find_drain(drain_id);
  if (!drain) co_return;
  drain->node_under_way = false;
  take_node(*drain, response, asked);
}

void Engine::Core::take_node(Drain& drain, const kube::Result<std::string>& response, io::Steady asked) {
  if (!response && response.error().not_found()) {
    return lose_node(drain, "node " + drain.key.node + " is gone since the drain began");
  }
  const auto node = response ? kube::Json::parse(*response) : io::Result<kube::Json>(kube::Json());
  drain.node_error = !response ? response.error().message : !node ? node.error().message : std::string();
  if (!drain.node_error.empty()) {
    drain.node_again.set(p.loop.now() + read_pause(drain.node_failures++));
    p.log.warn("a node cannot be read", "node", drain.key.node, "error", drain.node_error);
    return tell(drain);
  }
  if ((*node)["metadata"]["uid"].text() != drain.progress.node_uid) {
    return lose_node(drain, "node " + drain.key.node +
                                " was made anew under its name since the drain began; nothing is evicted from it");
  }
  drain.node_failures = 0;
  drain.node_read = asked;
  consider_all(drain);
}

void Engine::Core::node_changed(const kube::Node* before, const kube::Node* after) {
  const auto there = by_node.find(after ? after->name : before->name);
  if (there == by_node.end()) return;
  const bool cordoned_again =
      before && after && before->uid == after->uid && !before->unschedulable && after->unschedulable;
  for (Drain* drain : there->second) {
    const std::string& meant = drain->progress.node_uid;
    if (cordoned_again && after->uid == meant) list_anew(*drain);
    if (after && after->uid != meant) {
      lose_node(*drain, "node " + after->name +
                            " was made anew under its name since the drain began; nothing is evicted from it");
    }
    if (!after && before->uid == meant) lose_node(*drain, "node " + before->name + " is gone since the drain began");
  }
}

void Engine::Core::start_discovery() {
  if (!can_send() || eviction_state != Evictions::assumed) return;
  eviction_state = Evictions::asked_for;
  sending->spawn(discover());
}

// As kubectl does: the core group names the subresource, or it is not there.
io::Task<void> Engine::Core::discover() {
  const auto permit = co_await reads.acquire();
  kube::Request request;
  request.method = "GET";
  request.path = "/api/v1";
  const kube::Result<std::string> response =
      co_await p.client.call(std::move(request), kube::resources::pods, "discover");
  const auto resources = response ? kube::Json::parse(*response) : io::Result<kube::Json>(kube::Json());
  if (!response || !resources || !(*resources)["resources"].is_array()) {
    eviction_state = Evictions::assumed;  // the next answer of that kind asks again
    co_return;
  }
  bool found = false;
  (*resources)["resources"].for_each_element(
      [&](kube::JsonView one) { found = found || one["name"].text() == "pods/eviction"; });
  eviction_state = found ? Evictions::known : Evictions::missing;
  if (!found) p.log.warn("the API server has no evictions; pods are deleted instead");
  for (const auto& [uid, target] : targets) {
    if (target->setback && target->setback->answer.kind == Answer::Kind::unsupported) target->setback.reset();
  }
  for (const auto& [key, drain] : drains) consider_all(*drain);
}

// Its pods are those of another node, or of none: they are not ours to evict.
void Engine::Core::lose_node(Drain& drain, std::string why) {
  if (std::exchange(drain.lost, true)) return;
  p.log.warn("drain ends without its node", "owner", drain.key.owner, "why", why);
  drain.deadline.cancel();
  drain.progress.errors = {std::move(why)};
  update_phase(drain);
}

}  // namespace careen::drain
