// A small API server in memory, for tests: objects of any kind by their path, resource versions, merge patches,
// preconditions and watches, with the semantics of the real one. Requests can be delayed, lost, held back, refused or
// left unanswered, and they outlive the client that sent them, as they do on a real network.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/loop.h"
#include "io/sync.h"
#include "kube/json.h"
#include "kube/transport.h"

namespace careen::kube {

class FakeApi {
 public:
  explicit FakeApi(io::Loop& loop);
  ~FakeApi();
  FakeApi(const FakeApi&) = delete;
  FakeApi& operator=(const FakeApi&) = delete;

  // A client's way to the server, on the client's own loop. Destroy it (and the client) whenever you like: what was
  // sent still arrives.
  std::unique_ptr<Transport> connect(io::Loop& client);

  // What happens to one request.
  struct Treatment {
    io::Duration before{};             // until it reaches the server
    io::Duration after{};              // until the answer is back
    bool lost = false;                 // it never arrives
    bool held = false;                 // it arrives with release_held()
    bool unanswered = false;           // it takes effect, but no answer comes
    std::optional<Response> refuse{};  // this is the answer, and it has no effect
    std::optional<Response> mask{};    // it takes effect, but this is the answer
  };
  // Asked for each request but watches; without it everything goes through at once. It may replace itself.
  std::function<Treatment(const Request&)> treat;
  // Called after each change of an object; `object` is nothing when it was deleted.
  std::function<void(std::string_view path, JsonView object)> changed;

  // Lets what was held back arrive now.
  void release_held();
  size_t held() const { return held_.size(); }

  // Watch events are seen by clients this much later; frozen, not at all until it ends.
  void delay_watches(io::Duration delay) { watch_delay_ = delay; }
  void freeze_watches(bool frozen);
  // Ends all open watches, as a restart of the server does.
  void break_watches();

  // What a person does with kubectl, at once and unconditionally. Paths as in requests: /api/v1/nodes/a.
  void put(std::string_view path, Json object);
  void merge(std::string_view path, const Json& patch);
  void erase(std::string_view path);
  // Nothing when there is no such object.
  JsonView object(std::string_view path) const;
  uint64_t version() const { return version_; }

  // Requests that arrived, by "PATCH nodes"; those that were accepted and changed something by "PATCH nodes changed".
  int count(std::string_view what) const;

  static Response refusal(int code, std::string_view reason, std::string_view message = "refused by the test");

 private:
  struct Call;
  struct Feed;
  class Connection;
  class WatchStream;
  struct Event {
    uint64_t version;
    io::Steady at;
    std::string collection;
    std::string line;
  };

  io::Task<void> serve(std::shared_ptr<Call> call);
  Response answer(const Request& request);
  Response list(std::string_view collection);
  Response create(std::string_view collection, const std::string& body);
  Response change(const std::string& path, Json wanted, const std::string& expected_version);
  Response remove(const std::string& path, const std::string& body);
  void store(const std::string& path, Json object, std::string_view event);
  void announce(const std::string& path, std::string_view event, JsonView object);
  void pump(Feed& feed);
  void pump_all();
  io::Task<void> pump_later();

  io::Loop& loop_;
  std::map<std::string, Json, std::less<>> objects_;  // by path
  std::vector<Event> log_;
  std::vector<std::weak_ptr<Feed>> feeds_;
  std::vector<std::shared_ptr<Call>> held_;
  std::map<std::string, int, std::less<>> counts_;
  uint64_t version_ = 1;
  uint64_t next_uid_ = 1;
  io::Duration watch_delay_{};
  bool frozen_ = false;
  io::Scope scope_;
};

}  // namespace careen::kube
