// Where a Reflector puts what it reads: the seam between the watch protocol and the caches, so that every kind of
// store is kept current by the same state machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "io/result.h"
#include "kube/cache.h"
#include "kube/decode.h"
#include "kube/node_decoder.h"
#include "kube/pod_store.h"
#include "kube/stream.h"

namespace careen::kube {

class Sink {
 public:
  virtual ~Sink() = default;
  // A list: nothing of it is seen before end_list(). Beginning again forgets what was listed so far.
  virtual void begin_list() = 0;
  virtual io::Result<bool> listed(RawObject& object) = 0;
  virtual void end_list(uint64_t version) = 0;
  virtual void drop_list() = 0;
  // An object was added, modified or deleted; its version.
  virtual io::Result<uint64_t> event(EventType type, RawObject& object) = 0;
  // Everything up to that version has been told.
  virtual void bookmark(uint64_t version) = 0;

  virtual size_t size() const = 0;
  virtual uint64_t newest_version() const = 0;
};

template <class T>
class StoreSink final : public Sink {
 public:
  using Decoder = std::function<io::Result<T>(RawObject&)>;
  StoreSink(Store<T>& store, Decoder decoder) : store_(store), decode_(std::move(decoder)) {}

  void begin_list() override { store_.begin_list(); }
  io::Result<bool> listed(RawObject& raw) override {
    auto object = decode_(raw);
    if (!object) return tl::make_unexpected(std::move(object.error()));
    store_.stage(std::move(*object));
    return true;
  }
  void end_list(uint64_t version) override { store_.end_list(version); }
  void drop_list() override { store_.drop_list(); }
  io::Result<uint64_t> event(EventType type, RawObject& raw) override {
    auto object = decode_(raw);
    if (!object) return tl::make_unexpected(std::move(object.error()));
    const uint64_t version = object->version;
    if (type == EventType::deleted) {
      store_.remove(object->key(), version);
    } else {
      store_.put(std::move(*object));
    }
    store_.progress(version);
    return version;
  }
  void bookmark(uint64_t version) override { store_.progress(version); }
  size_t size() const override { return store_.size(); }
  uint64_t newest_version() const override { return store_.newest_version(); }

 private:
  Store<T>& store_;
  Decoder decode_;
};

// The store must outlive the sink.
template <class T>
std::unique_ptr<Sink> make_sink(Store<T>& store,
                                std::type_identity_t<std::function<io::Result<T>(RawObject&)>> decoder) {
  return std::make_unique<StoreSink<T>>(store, std::move(decoder));
}

// For the kinds careen has a decoder of; the pool must outlive the sink too.
template <class T>
std::unique_ptr<Sink> make_sink(Store<T>& store, AtomPool& atoms) {
  return make_sink(store, [&atoms](RawObject& raw) -> io::Result<T> {
    if constexpr (std::is_same_v<T, Node>) {
      return decode_node(raw, atoms);
    } else if constexpr (std::is_same_v<T, Lease>) {
      return decode_lease(raw, atoms);
    } else {
      static_assert(std::is_same_v<T, Namespace>, "give make_sink a decoder");
      return decode_namespace(raw, atoms);
    }
  });
}

// Nodes with the sections that the decoder wants at the time; it must outlive the sink.
inline std::unique_ptr<Sink> make_sink(Store<Node>& store, const NodeDecoder& decoder) {
  return make_sink(store, [&decoder](RawObject& raw) { return decoder.decode(raw); });
}

std::unique_ptr<Sink> make_sink(PodStore& store);

}  // namespace careen::kube
