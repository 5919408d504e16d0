// What the tests of leader election share: a server that keeps the one lock, the ways of replicas to it with what can
// go wrong on them, and a fixture that checks at every step that no two replicas may write at once. Each test runs once
// for each kind of object that may hold the record.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/result.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/election.h"
#include "kube/events.h"
#include "kube/transport.h"

namespace careen::kube {

namespace json = boost::json;

inline Response refusal(int code, std::string reason) {
  const json::object body{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", "refused: " + reason}};
  return {code, json::serialize(body), std::nullopt};
}

// The one lock, as an API server keeps it: versions, conflicts, watches. What tests see of it is always a Lease; for
// a lock in a ConfigMap the server translates on the way in and out.
class LockServer {
 public:
  explicit LockServer(LockKind kind = LockKind::lease) : kind_(kind) {}

  struct Watcher {
    explicit Watcher(io::Loop& loop) : arrived(loop) {}
    io::Signal arrived;
    std::deque<std::string> lines;
    bool cut = false;
  };

  Response handle(const Request& request) {
    ++count[request.method];
    if (request.method == "GET") return lease ? ok() : refusal(404, "NotFound");
    json::object object = received(request.body);
    if (request.method == "POST") {
      if (lease) return refusal(409, "AlreadyExists");
      object["metadata"].as_object()["uid"] = "uid-" + std::to_string(version_);
      store(std::move(object), "ADDED");
      return ok();
    }
    if (request.method != "PUT") return refusal(405, "MethodNotAllowed");
    if (!lease) return refusal(404, "NotFound");
    if (object["metadata"].at("resourceVersion") != lease->at("metadata").at("resourceVersion")) {
      return refusal(409, "Conflict");
    }
    store(std::move(object), "MODIFIED");
    return ok();
  }
  void store(json::object object, std::string_view type) {
    object["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    const json::object& spec = object["spec"].as_object();
    if (const auto* holder = spec.if_contains("holderIdentity")) {
      const std::string name(holder->as_string());
      if (holders.empty() || holders.back() != name) holders.push_back(name);
    }
    lease = std::move(object);
    announce(type);
  }
  void remove() {
    (*lease)["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    announce("DELETED");
    lease.reset();
  }
  // Somebody else changes the Lease.
  json::object& spec() { return lease->at("spec").as_object(); }
  void touch() { store(json::object(*lease), "MODIFIED"); }

  std::string text(std::string_view field) const {
    const auto* value = lease->at("spec").as_object().if_contains(field);
    return value ? std::string(value->as_string()) : "";
  }
  int64_t number(std::string_view field) const { return lease->at("spec").at(field).as_int64(); }

  std::string line(std::string_view type) const {
    return json::serialize(json::object{{"type", type}, {"object", sent()}}) + "\n";
  }
  std::shared_ptr<Watcher> watch(io::Loop& loop) {
    ++count["WATCH"];
    auto watcher = std::make_shared<Watcher>(loop);
    if (lease) watcher->lines.push_back(line("ADDED"));
    watchers_.push_back(watcher);
    return watcher;
  }

  bool garbled = false;  // the record in the ConfigMap cannot be read
  std::optional<json::object> lease;
  std::vector<std::string> holders;  // each change of the holder
  std::map<std::string, int> count;  // requests that arrived

 private:
  static constexpr std::string_view kRecord = "control-plane.alpha.kubernetes.io/leader";

  Response ok() { return {200, json::serialize(sent()), std::nullopt}; }
  static void rename(json::object& fields, std::string_view from, std::string_view to) {
    if (const auto* value = fields.if_contains(from)) {
      fields[to] = json::value(*value);
      fields.erase(from);
    }
  }
  json::object sent() const {
    json::object object = *lease;
    if (kind_ == LockKind::lease) return object;
    const json::value spec = object.contains("spec") ? object.at("spec") : json::value();
    object.erase("spec");
    if (!spec.is_object()) return object;
    json::object fields = spec.as_object();
    rename(fields, "leaseTransitions", "leaderTransitions");
    json::object& meta = object["metadata"].as_object();
    if (!meta.contains("annotations")) meta["annotations"] = json::object();
    meta["annotations"].as_object()[kRecord] = garbled ? "{\"holderIdentity\":" : json::serialize(fields);
    return object;
  }
  json::object received(const std::string& body) const {
    json::object object = json::parse(body).as_object();
    EXPECT_EQ(object.contains("spec"), kind_ == LockKind::lease);
    if (kind_ == LockKind::lease) return object;
    json::object& annotations = object["metadata"].as_object()["annotations"].as_object();
    json::object fields = json::parse(annotations.at(kRecord).as_string()).as_object();
    EXPECT_FALSE(fields.contains("leaseTransitions"));
    rename(fields, "leaderTransitions", "leaseTransitions");
    annotations.erase(kRecord);
    object["spec"] = std::move(fields);
    return object;
  }
  void announce(std::string_view type) {
    std::erase_if(watchers_, [](const auto& w) { return w.expired(); });
    for (const auto& weak : watchers_) {
      const auto watcher = weak.lock();
      if (watcher->cut) continue;
      watcher->lines.push_back(line(type));
      watcher->arrived.notify();
    }
  }
  LockKind kind_;
  uint64_t version_ = 1000;
  std::vector<std::weak_ptr<Watcher>> watchers_;
};

// The way of one replica to the server, with what can go wrong on it.
class Wire final : public Transport {
 public:
  Wire(io::Loop& loop, LockServer& server, io::Scope& late) : loop_(loop), server_(server), late_(late) {}

  bool cut = false;                       // nothing arrives, neither there nor here
  bool lose_answers = false;              // writes take effect, their answers get lost
  io::Duration late{};                    // writes are given up here and take effect that much later
  std::optional<Response> refuse;         // instead of an answer to anything but a watch
  std::optional<Response> refuse_writes;  // the same, for writes alone
  std::optional<Response> refuse_watch;   // instead of a stream
  io::Duration latency = io::milliseconds{2};
  io::Duration watch_delay{};

  void set_cut(bool value) {
    cut = value;
    if (const auto watcher = watcher_.lock(); watcher && cut) watcher->cut = true;
  }

  io::Task<io::Result<Response>> send(Request request) override {
    const bool writes = request.method != "GET";
    if (cut) co_return co_await hang(request.timeout);
    if (writes && late > io::Duration::zero()) {
      late_.spawn(deliver(late, request));
      co_return co_await hang(request.timeout);
    }
    co_await io::sleep_for(loop_, latency);
    if (cut) co_return co_await hang(request.timeout);
    if (refuse) co_return *refuse;
    if (writes && refuse_writes) co_return *refuse_writes;
    Response response = server_.handle(request);
    if (writes && lose_answers) co_return co_await hang(request.timeout);
    co_await io::sleep_for(loop_, latency);
    if (cut) co_return co_await hang(request.timeout);
    co_return response;
  }

  io::Task<io::Result<StreamResponse>> open(Request request) override {
    EXPECT_THAT(request.path, testing::HasSubstr("fieldSelector=metadata.name%3Dlock"));
    EXPECT_THAT(request.path, testing::HasSubstr("watch=true"));
    if (cut) {
      co_await io::sleep_for(loop_, request.timeout);
      co_return io::fail(io::ErrorKind::timeout, "no answer");
    }
    co_await io::sleep_for(loop_, latency);
    if (refuse_watch) co_return StreamResponse{*refuse_watch, nullptr};
    auto watcher = server_.watch(loop_);
    watcher_ = watcher;
    StreamResponse opened;
    opened.head.status = 200;
    opened.stream = std::make_unique<Events>(*this, std::move(watcher));
    co_return opened;
  }

 private:
  class Events final : public Stream {
   public:
    Events(Wire& wire, std::shared_ptr<LockServer::Watcher> w) : wire_(wire), watcher_(std::move(w)) {}
    io::Task<io::Result<bool>> read(std::string& into) override {
      while (watcher_->lines.empty()) co_await watcher_->arrived.wait();
      co_await io::sleep_for(wire_.loop_, wire_.watch_delay);
      // In two pieces, as a network may bring it.
      std::string& line = watcher_->lines.front();
      const size_t half = line.size() > 1 ? line.size() / 2 : 1;
      into += line.substr(0, half);
      line.erase(0, half);
      if (line.empty()) watcher_->lines.pop_front();
      co_return true;
    }

   private:
    Wire& wire_;
    std::shared_ptr<LockServer::Watcher> watcher_;
  };

  io::Task<io::Result<Response>> hang(io::Duration timeout) {
    EXPECT_LE(timeout, io::seconds{5});
    co_await io::sleep_for(loop_, timeout);
    co_return io::fail(io::ErrorKind::timeout, "no answer");
  }
  io::Task<void> deliver(io::Duration after, Request request) {
    co_await io::sleep_for(loop_, after);
    server_.handle(request);
  }

  io::Loop& loop_;
  LockServer& server_;
  io::Scope& late_;
  std::weak_ptr<LockServer::Watcher> watcher_;
};

struct LogLines final : io::LogSink {
  bool enabled(io::LogLevel) const override { return true; }
  void write(io::LogLevel level, std::string_view, std::string_view message, const io::LogFields&) override {
    if (level == io::LogLevel::error) errors.emplace_back(message);
  }
  std::vector<std::string> errors;
};

struct Replica {
  Replica(io::Loop& l, LockServer& server, io::Scope& late, const std::string& identity, uint64_t seed,
          ElectionOptions options = {})
      : loop(l),
        wire(loop, server, late),
        random(seed),
        problems(io::Log(lines, "test")),
        client(loop, wire, metrics, random),
        election(loop, client, random, problems, io::Log(), with_names(options, identity)),
        scope(loop) {
    election.report_to(metrics);
    election.on_event([this](std::string message) { events.push_back(std::move(message)); });
  }
  static ElectionOptions with_names(ElectionOptions options, const std::string& identity) {
    options.ns = "kube-system";
    options.name = "lock";
    options.identity = identity;
    return options;
  }
  void start() { scope.spawn(election.run()); }
  // As if the process had been killed.
  void crash() { scope.cancel(); }

  std::shared_ptr<LogLines> lines = std::make_shared<LogLines>();
  io::Loop& loop;
  Wire wire;
  io::Metrics metrics;
  io::Random random;
  io::Problems problems;
  Client client;
  Election election;
  io::Scope scope;
  std::vector<std::string> events;
  bool alive = true;
};

class ElectionTest : public testing::TestWithParam<LockKind> {
 protected:
  explicit ElectionTest(LockKind k = GetParam()) : kind(k) {}
  Replica& add(const char* identity, io::Duration skew = {}) {
    loops.push_back(time.make_loop(skew));
    replicas.push_back(
        std::make_unique<Replica>(*loops.back(), server, late, identity, replicas.size() + 1, options()));
    replicas.back()->start();
    return *replicas.back();
  }
  // Runs with the rule checked at every step: while one may write, or while something it sent may be under way,
  // nobody else leads.
  void run(io::Duration span) {
    run_until([] { return false; }, span);
  }
  bool run_until(const std::function<bool()>& done, io::Duration span) {
    return time.run_until(
        [&] {
          check();
          return done();
        },
        span);
  }
  void check() {
    for (const auto& one : replicas) {
      if (!one->alive) continue;
      if (const auto window = one->election.write_window()) {
        busy_until[one.get()] = std::max(busy_until[one.get()], time.now() + *window);
      }
      // One that gives the lock back has ended its writes.
      if (one->election.state() == Election::State::released) busy_until.erase(one.get());
    }
    for (const auto& one : replicas) {
      if (!one->alive || !one->election.leading() || !one->election.write_window()) continue;
      for (const auto& [other, until] : busy_until) {
        if (other == one.get()) continue;
        ASSERT_GE(time.now(), until) << "two may write at once";
      }
    }
  }
  bool lead(Replica& replica) {
    return run_until([&] { return replica.election.leading(); }, io::minutes{2});
  }
  io::Duration time_to(const std::function<bool()>& done, io::Duration limit = io::minutes{5}) {
    const auto begin = time.now();
    EXPECT_TRUE(run_until(done, limit));
    return time.now() - begin;
  }
  int leaders() const {
    return static_cast<int>(std::count_if(replicas.begin(), replicas.end(),
                                          [](const auto& r) { return r->alive && r->election.leading(); }));
  }

  ElectionOptions options() const {
    ElectionOptions of_kind;
    of_kind.kind = kind;
    return of_kind;
  }

  LockKind kind;
  io::VirtualTime time;
  LockServer server{kind};
  std::unique_ptr<io::Loop> server_loop = time.make_loop();
  std::vector<std::unique_ptr<io::Loop>> loops;
  std::vector<std::unique_ptr<Replica>> replicas;
  io::Scope late{*server_loop};  // its tasks wait on the loops of replicas, so it goes first
  std::map<Replica*, io::Steady> busy_until;
};

inline io::Task<void> release(Election& election) { co_await election.release(); }

}  // namespace careen::kube
