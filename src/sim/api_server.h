// The API server of the model cluster: objects as JSON, versions, lists, watches, patches and refusals as
// kube-apiserver has them (a conformance test compares the two). It answers at once and knows no network: Network
// carries requests to it and can harm them on the way.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/loop.h"
#include "io/random.h"
#include "kube/json.h"
#include "kube/transport.h"

namespace careen::sim {

// An object as it was at one version; shared by the store, its history and the watches.
using Text = std::shared_ptr<const std::string>;

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

// What the server still has to tell one watcher. Whoever holds it decides when to read: that is how slow and stale
// streams are made.
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

  // Told of every change, in order, right after it happened. They must not make changes themselves.
  void observe(std::function<void(const Change&)> observer);

  // The newest version, and the newest one that happened at or before that time.
  uint64_t version() const { return version_; }
  uint64_t version_at(io::Steady when) const;
  // Forgets history up to here: older watches and continue tokens are answered with 410.
  void compact();

  // What a person does with kubectl, at once and past all checks. Paths as in requests: /api/v1/nodes/a,
  // /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x.
  void put(std::string_view path, kube::Json object, std::string_view by = "test");
  void merge(std::string_view path, const kube::Json& patch, std::string_view by = "test");
  void erase(std::string_view path, std::string_view by = "test");
  // Null when there is none.
  kube::Json object(std::string_view path) const;
  Text text(std::string_view path) const;
  // Every object of a resource ("/api/v1/nodes"), ordered by namespace and name.
  void for_each(std::string_view collection,
                const std::function<void(const std::string& path, const Text&)>& visit) const;

  // Requests that arrived, by "PATCH nodes"; those that changed something by "PATCH nodes changed".
  int count(std::string_view what) const;

  static kube::Response refusal(int code, std::string_view reason, std::string_view message = "refused by the test");

 private:
  friend class HistoryWatch;
  struct Place;
  kube::Response answer(const kube::Request& request, const Place& place, const Caller& caller);
  kube::Response list(const Place& place);
  kube::Response create(const Place& place, const std::string& body, const Caller& caller);
  kube::Response change(const Place& place, kube::Json wanted, const std::string& expected_version,
                        std::string_view by);
  kube::Response remove(const Place& place, const std::string& body, const Caller& caller);
  void store(const Place& place, kube::Json object, std::string_view by);
  void announce(Change change);

  io::Loop& loop_;
  io::Random random_;
  std::map<std::string, Text, std::less<>> objects_;  // by path
  std::deque<Change> history_;
  uint64_t version_ = 1;
  uint64_t compacted_ = 0;
  std::vector<std::function<void(const Change&)>> observers_;
  std::map<std::string, int, std::less<>> counts_;
};

}  // namespace careen::sim
