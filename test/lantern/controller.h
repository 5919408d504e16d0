// The controller of Lanterns, as a replica hosts it: one lane a node, in which decision and write alternate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "budget/key.h"
#include "budget/node_reader.h"
#include "budget/occupancy.h"
#include "budget/pause_guard.h"
#include "budget/waiters.h"
#include "controllers/slot/controller.h"
#include "controllers/slot/host.h"
#include "decide.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "kube/index.h"
#include "kube/node.h"
#include "kube/object_writer.h"
#include "kube/queue.h"
#include "kube/watched.h"

namespace careen::lantern {

struct Options {
  int limit = 1;
  // The mistake that the explorer has to find: what may still be on its way to light a node does not count.
  bool hasty = false;
};

// Which nodes have a place: those with the label, and those with a claim.
class LitNodes final : public budget::NodeReader {
 public:
  explicit LitNodes(bool claims_count) : claims_count_(claims_count) {}
  std::optional<InState> state_of(const kube::Node& node) const override;
  bool belongs(const kube::Node&, std::string_view) const override { return false; }
  std::string key_of(std::string_view uid) const override;
  bool counts(const budget::Admission& admission) const override;

 private:
  bool claims_count_;
};

class Controller final : public controllers::Controller {
 public:
  Controller(controllers::Host host, Options options);

  void watch() override { watched_->start(); }
  io::Task<void> synced() override;
  io::Task<void> lead() override;
  io::Task<void> stop() override;
  bool running() const override { return running_; }
  // It waits for no time.
  void clock_stepped(io::Duration) override {}
  std::unique_ptr<controllers::Picture> picture() const override;
  std::optional<std::string> node_of(std::string_view object) const override;
  std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time) override;
  void on_change(std::function<void()> tell) override;

 private:
  Decision decide_on(std::string_view node) const;
  std::vector<Lantern> lanterns_on(std::string_view node) const;
  void wake_all();
  void place_changed(std::string_view node);
  void offer();
  void decide_one(const std::string& node);
  void take_place(const kube::Node& node);
  void free_places_of_nodes_gone();
  void free_place(const std::string& uid, std::string_view node);

  // `pauses`: how often they had changed when it was decided.
  io::Task<void> act(std::string node, uint64_t version, Effect effect, uint64_t pauses);
  io::Task<kube::WriteResult> write_node(std::string node, uint64_t version, std::string color,
                                         std::optional<uint64_t> pauses);
  io::Task<kube::WriteResult> write_status(Tell tell);
  void record(const std::string& node, const char* reason, const char* note);

  controllers::Host host_;
  const Options options_;
  std::unique_ptr<kube::Watched<kube::Object>> watched_;
  kube::Index<kube::Object> by_node_;
  kube::ObjectWriter<kube::Object> lanterns_;
  kube::ObjectWriter<kube::Node> nodes_;
  const budget::NodePlaces places_;
  const LitNodes reader_;
  budget::Occupancy lit_;
  budget::Waiters waiters_;
  kube::WorkQueue queue_;
  budget::PauseGuard pause_guard_;
  std::vector<io::Subscription> told_;
  bool running_ = false, stopping_ = false;
  io::Scope acting_;  // last: its tasks use everything above
};

}  // namespace careen::lantern
