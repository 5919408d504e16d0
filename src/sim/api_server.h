// The API server of the model cluster: objects as JSON, versions, lists, watches, patches and refusals as
// kube-apiserver has them (a conformance test compares the two). It answers at once and knows no network: Network
// carries requests to it and can harm them on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/loop.h"
#include "io/random.h"
#include "kube/json.h"
#include "kube/transport.h"
#include "sim/object_store.h"
#include "sim/parsed_texts.h"
#include "sim/resources.h"
#include "sim/selector_index.h"
#include "sim/status.h"
#include "tl/expected.hpp"

namespace careen::sim {

class Selector;

struct Change {
  enum class Type { added, modified, deleted };
  Type type = Type::added;
  uint64_t version = 0;
  io::Steady at{};
  std::string collection;  // of all namespaces: "/api/v1/nodes", "/apis/coordination.k8s.io/v1/leases"
  std::string ns;
  std::string name;
  Text before;     // null when added
  Text object;     // when deleted: as it was last, with the version of its deletion
  std::string by;  // the client
};

// What the server still has to tell one watcher. Its holder decides when to read: that is how slow and stale streams
// are made.
class Watch {
 public:
  virtual ~Watch() = default;
  // Appends the events of changes up to that version, as lines.
  virtual void read(std::string& into, uint64_t up_to) = 0;
  // Appends a bookmark of what was read last, if the watcher asked for them.
  virtual void bookmark(std::string& into) = 0;
  // The server ends it: its time is over, or what it would have to tell is compacted away.
  virtual bool ended() const = 0;
  // Until when it may last; the watcher's timeoutSeconds.
  virtual io::Steady ends_at() const = 0;
  // The resource it is on: "/api/v1/nodes".
  virtual const std::string& collection() const = 0;
};

// Who asks.
struct Caller {
  std::string client;  // for Change::by
  // It asks a replica of the server that is behind: reads that may be stale (resourceVersion=0, watches) see no more.
  std::optional<uint64_t> sees = {};
};

class ApiServer {
 public:
  // The loop is its clock; the seed makes its UIDs and generated names.
  explicit ApiServer(io::Loop& loop, uint64_t seed = 1);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Any request but a watch.
  kube::Response handle(const kube::Request& request, const Caller& caller = {});
  // A watch, or the refusal.
  struct Opened {
    kube::Response head;  // status 200 with a watch
    std::unique_ptr<Watch> watch;
  };
  Opened watch(const kube::Request& request, const Caller& caller = {});
  // Whether the request is one for watch().
  static bool is_watch(const kube::Request& request);

  // Told of every change, in order, right after it happened. They must not make changes themselves.
  void observe(std::function<void(const Change&)> observer);

  // The newest version, and the newest one that happened at or before that time.
  uint64_t version() const { return store_.version(); }
  uint64_t version_at(io::Steady when) const { return store_.version_at(when); }
  // Forgets history up to here: older watches and continue tokens are answered with 410.
  void compact() { store_.compact(); }

  // What a person does with kubectl, at once and past all checks. Paths as in requests: /api/v1/nodes/a,
  // /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x. A resource nobody defined is served from then on.
  void put(std::string_view path, const kube::Json& object, std::string_view by = "test");
  void merge(std::string_view path, const kube::Json& patch, std::string_view by = "test");
  void merge(std::string_view path, const json::value& patch, std::string_view by);
  void erase(std::string_view path, std::string_view by = "test");
  // Null when there is none.
  kube::Json object(std::string_view path) const;
  Text text(std::string_view path) const;
  // The same to look at, without a copy for each who does; null when there is none.
  Parsed value(std::string_view path) const { return parsed(text(path)); }
  Parsed parsed(const Text& text) const { return parsed_.of(text); }
  // As it is stored, without what freshen() fills in.
  Parsed stored(std::string_view path) const;
  // A pod by namespace/name.
  Text pod_text(std::string_view key) const;
  Parsed pod(std::string_view key) const { return parsed(pod_text(key)); }
  // The pods that are bound to a node, as namespace/name.
  const FieldIndex::Keys& pods_on(std::string_view node) const { return pods_->on_node.keys(node); }
  // Every object of a resource ("/api/v1/nodes"), ordered by namespace and name.
  void for_each(std::string_view collection,
                const std::function<void(const std::string& path, const Text&)>& visit) const;

  // Whether the controllers of the control plane do their part: collect garbage, empty namespaces. They do, unless the
  // server is compared with a real one that stands alone.
  void run_controllers(bool on) { controllers_ = on; }

  // Requests that arrived, by "PATCH nodes" or "POST pods/eviction"; those that changed something by "PATCH nodes
  // changed".
  int count(std::string_view what) const;

  // Fills in what is a function of time when objects of a resource are read, and says it in their text; the stored
  // text stays. For heartbeats that nobody wants as changes.
  using Freshen = std::function<Text(std::string_view ns, std::string_view name, const Text&)>;
  void freshen(std::string_view collection, Freshen freshen);

  static kube::Response refusal(int code, std::string_view reason, std::string_view message = "refused by the test");

 private:
  friend class HistoryWatch;
  struct Ask;
  template <class T>
  using Either = tl::expected<T, Failure>;

  // Where a request or path leads.
  tl::expected<Ask, kube::Response> understand(const kube::Request& request, const Caller& caller) const;
  Ask locate(std::string_view path);
  const Ask* locate_known(std::string_view path, Ask& into) const;
  kube::Response answer(const Ask& ask);

  // Reading.
  kube::Response get(const Ask& ask) const;
  kube::Response list(const Ask& ask);
  Either<uint64_t> version_to_read(const Ask& ask) const;
  std::string shown(const Resource& resource, std::string_view key, const Text& text, bool in_list) const;
  // The same, at the end of another text.
  void show(std::string& into, const Resource& resource, std::string_view key, const Text& text, bool in_list) const;
  Text fresh(const Collection& collection, const std::string& key, const Text& text) const;

  // Writing.
  kube::Response create(const Ask& ask);
  kube::Response update(const Ask& ask);
  kube::Response patch(const Ask& ask);
  kube::Response bind(const Ask& ask);
  void take_topology(json::value& pod, std::string_view node) const;
  kube::Response scale(const Ask& ask);
  kube::Response evict(const Ask& ask);
  std::optional<Failure> spend_budget(const Ask& ask, const json::value& pod, bool dry_run);
  void mark_evicted(const Ask& ask, Draft pod);
  Either<json::value> decode(const Resource& resource, const std::string& body, json::storage_ptr memory = {}) const;
  std::optional<Failure> conform_to(const Resource& resource, json::value& object) const;
  std::optional<Failure> check_namespace(const Ask& ask, std::string_view name) const;
  Either<json::value> patched(const Ask& ask, const json::value& known, json::storage_ptr memory);
  kube::Response create_decoded(const Ask& ask, Draft draft);
  kube::Response change(const Ask& ask, Draft draft, const Text& known_text, const json::value& known, bool patching);
  kube::Response apply(const Ask& ask);
  void prepare_new(const Resource& resource, json::value& object) const;
  void prepare_change(const Ask& ask, json::value& object, const json::value& known) const;

  // Deleting.
  kube::Response remove(const Ask& ask);
  kube::Response remove_collection(const Ask& ask);
  struct Removal;
  Either<Removal> removal_options(const Ask& ask) const;
  kube::Response remove_one(const Resource& resource, const std::string& key, const Removal& options,
                            const std::string& by, bool dry_run);
  kube::Response remove_marked_pod(const Resource& resource, const std::string& key, Draft pod, const std::string& by,
                                   bool dry_run);
  void remove_namespace_content(const std::string& ns, const std::string& by);
  void finish_namespace(const std::string& ns, const std::string& by);
  void finish_definition(const std::string& name, const std::string& by);
  void collect_garbage(const std::string& uid, const std::string& by);
  void finish_foreground(const Resource& resource, const std::string& key, const std::string& by);

  // Keeping.
  Text store(const Resource& resource, const std::string& key, Draft draft, const std::string& by);
  Text store(const Resource& resource, const std::string& key, const json::value& object, const std::string& by) {
    return store(resource, key, Draft(object), by);
  }
  // Its last text; null when there is none.
  Text drop(const Resource& resource, const std::string& key, const std::string& by);
  void announce(const Collection& collection, const Past& past, const std::string& by);
  void follow_owners(const Collection& collection, const std::string& key, const json::value* before,
                     const json::value* now);
  void follow_node(Collection& collection, const std::string& key, const Text& before, const json::value* now);
  void follow_budget(const Collection& collection, const std::string& key, const Text& before, const json::value* now);
  void define(const json::value& definition, bool remove);
  void expire_events();
  std::string now_text() const;

  struct Dependent {
    Collection* collection;
    std::string key;
    friend auto operator<=>(const Dependent&, const Dependent&) = default;
  };

  io::Loop& loop_;
  bool controllers_ = true;
  io::Random random_;
  Resources resources_;
  ObjectStore store_;
  mutable ParsedTexts parsed_;
  Collection* pods_ = nullptr;
  Collection* budgets_ = nullptr;
  std::map<std::string, SelectorIndex, std::less<>> budget_selectors_;  // by namespace; of names
  std::map<const Collection*, Freshen> freshen_;
  std::map<Collection*, Resource> stored_as_;  // copies: a definition may go before its last watch
  void keep_as(const Resource& resource);
  std::vector<std::function<void(const Change&)>> observers_;
  std::map<std::string, int, std::less<>> counts_;
  std::unordered_map<std::string, std::set<Dependent>> dependents_;  // by the owner's UID
  std::set<std::string> terminating_;                                // namespaces
  std::set<std::string> foreground_;                                 // UIDs of objects that wait for their dependents
  struct Expiry {
    io::Steady at;
    std::string key;
    Text object;
  };
  std::deque<Expiry> expiries_;  // of events
  io::Alarm expiry_;
  std::map<std::string, size_t, std::less<>> remaining_;  // items after a continue token
};

}  // namespace careen::sim
