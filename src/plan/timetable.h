// The timetable in the making: follows the nodes' stories and the jobs of the model's controllers and writes down which
// node began when, for how long, and which nodes wait.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controllers/profiles/config.h"
#include "plan/node_story.h"
#include "plan/plan.h"

namespace careen::controllers {
struct Job;
struct Kind;
}  // namespace careen::controllers

namespace careen::plan {

class Timetable {
 public:
  // The configuration must outlive it; profiles that it does not know do not count.
  explicit Timetable(const profiles::Config& config) : config_(config) {}

  void note(const std::string& node, const NodeStory& story, io::Wall now);
  void note(const controllers::Kind& kind, const controllers::Job& job, io::Wall now);
  void forget(const controllers::Kind& kind, const std::string& job, io::Wall now);

  // By begin, node as people count, and profile.
  std::vector<PlanRow> rows() const;
  // Whose maintenance has not begun, longest waiting first: since when, and the node.
  using Waiting = std::set<std::pair<io::Wall, std::string>>;
  const std::map<std::string, Waiting, std::less<>>& waiting() const { return waiting_; }
  // Rows without an end: node and profile.
  std::vector<std::pair<std::string, std::string>> open() const;
  // The most that were under way at once, of a campaign, and of all: nodes then.
  size_t most_at_once(const std::string& campaign) const;
  size_t most_nodes_at_once() const { return most_nodes_; }

 private:
  using Key = std::pair<std::string, std::string>;  // node, profile
  void wait(const Key& key, io::Wall since);
  void end_waiting(const Key& key);
  PlanRow& begin(const Key& key, io::Wall at);
  void end(const Key& key, io::Wall at);
  void withdraw(const Key& key);
  void count(const Key& key, int change);
  bool drains_on_entering(const std::string& profile) const;
  void note_profile(const Key& key, const profiles::ProfileData& data, const io::Wall* begun, io::Wall now);

  const profiles::Config& config_;
  std::vector<PlanRow> done_;
  std::map<Key, PlanRow> open_;
  std::map<Key, io::Wall> since_;  // of those that wait
  std::map<std::string, Waiting, std::less<>> waiting_;
  std::map<std::string, std::string> node_of_;  // jobs, as KIND/NAME
  struct Count {
    size_t now = 0, most = 0;
  };
  std::map<std::string, Count> campaigns_;
  std::map<std::string, size_t> on_node_;
  size_t most_nodes_ = 0;
};

}  // namespace careen::plan
