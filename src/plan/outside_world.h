// The world outside of careen, acted out on the model as a plan assumes it: somebody approves what waits for approval,
// works on a node for as long as maintenance takes, leaves it in the state that the configuration waits for, and
// deletes the objects of controllers that asked for a node. It changes the same objects that people and
// other programs change, and nothing of careen's own.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "controllers/profiles/config.h"
#include "io/loop.h"
#include "plan/assumptions.h"
#include "plan/node_story.h"
#include "plan/outside_facts.h"
#include "sim/cluster.h"

namespace careen::controllers {
struct Job;
struct Kind;
}  // namespace careen::controllers

namespace careen::plan {

class OutsideWorld {
 public:
  // `facts` is a configuration from examine_facts(); all must outlive it.
  OutsideWorld(io::Loop& loop, sim::Cluster& cluster, const profiles::Config& facts, const Assumptions& assumptions);

  void note(const std::string& node, const NodeStory& story);
  void note(const controllers::Kind& kind, const controllers::Job& job);
  // What it is going to do still.
  size_t pending() const { return due_.size(); }

 private:
  // A node and one of its profiles; or the path of an object that asked for a node, with an empty profile.
  using Key = std::pair<std::string, std::string>;
  struct Task {
    profiles::State state{};
    io::Wall since{};  // of the state
    io::Steady at{};
  };
  void plan(const Key& key, Task task);
  void drop(const Key& key);
  void run();
  void act(const Key& key, const Task& task);
  void approve(const std::string& node, const profiles::Profile& profile);
  void finish(const std::string& node, const profiles::Profile& profile);
  void end_job(const std::string& path);
  void apply(const std::string& node, const Edit& edit);
  void apply_to_hypervisor(const std::string& node, const Edit& edit);
  const std::string& newest(const std::string& label);
  io::Steady steady(io::Wall when) const;

  io::Loop& loop_;
  sim::Cluster& cluster_;
  const profiles::Config& facts_;
  const Assumptions& assumptions_;
  std::map<Key, Task> due_;
  std::set<std::pair<io::Steady, Key>> by_time_;
  std::set<std::string> ended_;                // paths of objects
  std::map<std::string, std::string> newest_;  // versions, by label
  io::Alarm next_;
};

}  // namespace careen::plan
