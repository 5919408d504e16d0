// The Fleet document: everything at a glance. Its sections are made one by one, for a document in pieces that holds up
// nothing else for long, and for the changes that are sent afterwards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/slot/entry.h"
#include "view/shown.h"
#include "view/work.h"

namespace careen::view {

struct Row;

// How many nodes of each profile are in which state.
class StateCounts {
 public:
  void add(const std::string& profile, std::string_view state, int by = 1);
  // Fleet.profiles: those that are configured, and what else nodes have.
  std::string json(const replica::Replica& replica) const;

 private:
  std::map<std::string, std::array<int, 3>> counts_;
};

// Members of Fleet by name, as JSON: careen, pauses, budgets, limits, claims, drains, the objects of each controller,
// problems.
using Sections = std::vector<std::pair<std::string_view, std::string>>;
Sections make_sections(const Shown& shown, const Work& work);

std::string labels_json(const std::vector<std::string>& labels);
void append_entries(std::string& out, const std::vector<const controllers::Entry*>& entries);

inline constexpr size_t kFleetTimeline = 500;

// What has been written, for the changes that follow.
struct FleetListener {
  std::function<void(const std::string& node, const Row& row)> row;
  std::function<void(const std::vector<std::string>& labels)> labels;
  std::function<void(const Sections& sections)> sections;  // with profiles
};

// The document in pieces. Nodes are looked up one at a time by their name: they may change and go in between. One that
// comes meanwhile is not in it.
class FleetPieces {
 public:
  // Timeline entries from `timeline_until` on are left out.
  FleetPieces(Shown shown, int64_t timeline_until, FleetListener listener = {});
  explicit FleetPieces(Shown shown);

  // Appends some of it; false when the document was complete before.
  bool read(std::string& into);

 private:
  enum class State { nothing, nodes, complete };
  void begin(std::string& into);
  void add_nodes(std::string& into);
  void end(std::string& into);

  Shown shown_;
  int64_t timeline_until_;
  FleetListener listener_;
  State state_ = State::nothing;
  Work work_;
  std::vector<std::string> labels_;
  StateCounts counts_;
  std::vector<std::string> names_;  // of all nodes, as people count
  size_t next_ = 0;                 // of these
  bool first_ = true;
};

}  // namespace careen::view
