// Writes of single objects, each under the version it was decided on, and the one place that tells how such a write
// ended. The server's answer enters the store. An answer that proves nothing (ApiError::ambiguous), a conflict, and an
// object that is gone or there already are looked up by reading: a write whose answer got lost, or that somebody on
// the way sent twice, has taken effect all the same. Writes of one object go one after the other.
//
// What was decided may be undecided: whoever is told that the fate of a write is unknown must not take it for failed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/log.h"
#include "io/sync.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/objects.h"

namespace careen::kube {

// The API server ends every request after a minute, and proxies do so sooner or not much later: what has not been
// applied by then never will be.
inline constexpr io::Duration kLongestFlight = io::minutes{10};

enum class WriteFate {
  written,   // an answer says so
  already,   // no answer says so, but the object is what the write makes of it
  conflict,  // it has another version than the write names, so nothing of it is on its way any more: decide again
  missing,   // there is no such object
  refused,   // nothing was stored
  unsent,    // nothing was sent: the write guard, or its time had passed
  unknown,   // it may still take effect
};

struct WriteResult {
  WriteFate fate = WriteFate::unknown;
  // What the server, or the way to it, answered to the write; nothing when it was written.
  std::optional<ApiError> error = {};
  // What kept us from looking it up, or from reading the answer; the store may be behind then.
  std::optional<ApiError> blind = {};

  // The object is as it was to be, and the store has it.
  bool done() const { return fate == WriteFate::written || fate == WriteFate::already; }
};

// One write at a time of each object. Shared by all who write objects of one kind.
class WriteLanes {
 public:
  explicit WriteLanes(io::Loop& loop) : loop_(loop) {}

  // Held while the object is written.
  class Turn {
   public:
    Turn(std::shared_ptr<io::Semaphore> lane, io::Semaphore::Permit permit)
        : lane_(std::move(lane)), permit_(std::move(permit)) {}

   private:
    std::shared_ptr<io::Semaphore> lane_;
    io::Semaphore::Permit permit_;
  };
  io::Task<Turn> wait(std::string key);

 private:
  io::Loop& loop_;
  std::map<std::string, std::weak_ptr<io::Semaphore>, std::less<>> lanes_;
};

// What is written, whatever the object's type.
struct WriteRequest {
  using Answer = io::Task<Result<std::string>>;

  std::string ns = {};  // empty for cluster-scoped objects
  std::string name;
  std::optional<PatchType> patch = PatchType::merge;  // nothing: an update
  std::string body;                                   // names `version`
  std::string subresource = {};
  uint64_t version = 0;  // that it was decided on
  bool ends = false;     // with this write the object ends: the answer is how it was at its end
  CallOptions call = {};
  // Around the request, for who has more to say about whether it is sent (budget::PauseGuard).
  std::function<Answer(Answer)> carry = {};
};

// There may be something else than what was decided on, or the write may have taken effect.
bool is_worth_a_look(const ApiError& error);

// The parts that do not depend on the type.
namespace detail {
io::Task<Result<std::string>> send_write(Client& client, Resource resource, WriteRequest what);
// Without a look.
WriteFate fate_of(const ApiError& error);
// With one: the version that is there, nothing if there is no object.
WriteFate fate_of(const ApiError& error, std::optional<uint64_t> now, uint64_t decided_on);
}  // namespace detail

template <class T>
class ObjectWriter {
 public:
  using Decoder = std::function<io::Result<T>(std::string_view)>;
  // True of an object that is what the write makes of it.
  using Test = std::function<bool(const T&)>;

  // The store must outlive it. `lanes`: shared with others who write such objects, or its own.
  ObjectWriter(Client& client, Resource resource, Store<T>& store, Decoder decode, io::Log log = {},
               std::shared_ptr<WriteLanes> lanes = {})
      : client_(client),
        resource_(std::move(resource)),
        store_(store),
        decode_(std::move(decode)),
        log_(std::move(log)),
        lanes_(lanes ? std::move(lanes) : std::make_shared<WriteLanes>(client.loop())) {}

  // Without `is_done`, nothing but an answer counts.
  io::Task<WriteResult> write(WriteRequest what, Test is_done = {});
  // For whoever writes an object in another way.
  io::Task<WriteLanes::Turn> turn(std::string_view ns, std::string_view name) {
    return lanes_->wait(object_key(ns, name));
  }
  // Reads the object into the store, or out of it; what kept us from it, if anything did.
  io::Task<std::optional<ApiError>> look(std::string ns, std::string name);
  // Puts the answer to any other request into the store; what kept us from it, if anything did.
  std::optional<ApiError> enter(const std::string& body) { return take(body, false); }

 private:
  std::optional<ApiError> take(const std::string& body, bool ends);

  Client& client_;
  Resource resource_;
  Store<T>& store_;
  Decoder decode_;
  io::Log log_;
  std::shared_ptr<WriteLanes> lanes_;
};

template <class T>
io::Task<WriteResult> ObjectWriter<T>::write(WriteRequest what, Test is_done) {
  const std::string key = object_key(what.ns, what.name);
  const std::string ns = what.ns, name = what.name;
  const uint64_t version = what.version;
  const bool ends = what.ends;
  const WriteLanes::Turn turn = co_await lanes_->wait(key);
  const Result<std::string> answer = co_await detail::send_write(client_, resource_, std::move(what));
  if (answer) co_return WriteResult{WriteFate::written, std::nullopt, take(*answer, ends)};
  WriteResult result{detail::fate_of(answer.error()), answer.error()};
  if (!is_worth_a_look(answer.error())) co_return result;
  result.blind = co_await look(ns, name);
  // The watch may have told what could not be read.
  const T* now = store_.find(key);
  if (now && is_done && is_done(*now)) {
    result.fate = WriteFate::already;
  } else if (!result.blind) {
    result.fate = detail::fate_of(answer.error(), now ? std::optional(now->version) : std::nullopt, version);
  }
  co_return result;
}

template <class T>
io::Task<std::optional<ApiError>> ObjectWriter<T>::look(std::string ns, std::string name) {
  const uint64_t asked_at = store_.newest_version();
  const Result<std::string> answer = co_await client_.get(resource_, ns, name);
  if (answer) co_return enter(*answer);
  if (!answer.error().not_found() || answer.error().kind_not_served()) co_return answer.error();
  store_.remove(object_key(ns, name), asked_at);
  co_return std::nullopt;
}

template <class T>
std::optional<ApiError> ObjectWriter<T>::take(const std::string& body, bool ends) {
  io::Result<T> object = decode_(body);
  if (!object) {
    log_.error("the server's answer cannot be read", "cause", object.error().message);
    return to_api_error(object.error());
  }
  if (ends) {
    store_.remove(object->key(), object->version);
  } else {
    store_.put(std::move(*object));
  }
  return std::nullopt;
}

}  // namespace careen::kube
