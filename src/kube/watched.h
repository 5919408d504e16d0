// Objects of one kind that are kept in memory: the store, the way into it and the watch as one thing, which can be
// started, stopped and dropped. All objects of a kind, those of a namespace, those that a selector matches, or one
// alone: whatever ReflectorOptions can say.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/log.h"
#include "io/loop.h"
#include "io/sync.h"
#include "kube/cache.h"
#include "kube/reflector.h"
#include "kube/sink.h"

namespace careen::kube {

class Watch;

struct WatchParts {
  io::Loop& loop;
  Client& client;  // reads
  io::Metrics& metrics;
  io::Problems& problems;
  io::Random& random;
  io::Log log = {};
  std::vector<Watch*>* all = nullptr;  // where it is entered as long as it lives
};

// Keeps one store current. For a Store of its own see Watched; others (pods, workloads) are given with their sink.
class Watch {
 public:
  // What the sink fills must outlive the watch. Nothing is sent before start().
  Watch(WatchParts parts, ReflectorOptions what, std::unique_ptr<Sink> sink);
  // Takes along all that stop() does, but the objects stay where they are and nobody is told of it.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Called each time when the first list after a start is complete.
  void on_synced(std::function<void()> listener) { on_synced_.push_back(std::move(listener)); }
  // Has no effect while it runs.
  void start();
  // Ends the connection; then the objects leave the store, which tells its listeners. Its problem and its metrics go,
  // too. Not from a listener of the store or of on_synced().
  void stop();
  bool started() const { return reflector_ != nullptr; }

  // The first list since the start is complete. It stays so: a cache that lost its server is stale, not empty.
  bool synced() const { return reflector_ && reflector_->synced(); }
  io::Gate& synced_gate() { return synced_; }
  // See Reflector; nothing is known of one that does not run.
  io::Duration blind_for() const { return reflector_ ? reflector_->blind_for() : io::Duration::max(); }
  // Waits for a list that is taken after this call, and after the next start if it does not run.
  io::Task<uint64_t> refresh();
  void request_relist();

 private:
  io::Task<void> tell_synced();

  WatchParts p_;
  ReflectorOptions what_;
  std::unique_ptr<Sink> sink_;
  std::vector<std::function<void()>> on_synced_;
  io::Gate started_;
  io::Gate stopped_;
  io::Gate synced_;
  std::unique_ptr<Reflector> reflector_;
  io::Scope scope_;
};

namespace detail {
// Before the watch that fills it.
template <class T>
struct OwnStore {
  Store<T> store;
};
}  // namespace detail

template <class T>
class Watched : private detail::OwnStore<T>, public Watch {
 public:
  using Decoder = std::function<io::Result<T>(RawObject&)>;

  Watched(WatchParts parts, ReflectorOptions what, Decoder decoder)
      : Watch(std::move(parts), std::move(what), make_sink(this->detail::OwnStore<T>::store, std::move(decoder))) {}
  // For the kinds careen has a decoder of: an AtomPool, or a NodeDecoder.
  template <class Pool>
    requires(!std::is_convertible_v<Pool&, Decoder>)
  Watched(WatchParts parts, ReflectorOptions what, Pool& pool)
      : Watch(std::move(parts), std::move(what), make_sink(this->detail::OwnStore<T>::store, pool)) {}

  Store<T>& store() { return detail::OwnStore<T>::store; }
  const Store<T>& store() const { return detail::OwnStore<T>::store; }
};

}  // namespace careen::kube
