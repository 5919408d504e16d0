// The timeline: what has happened lately, for people. It remembers the latest entries in memory and nothing else; the
// past of a replica that has just begun to lead comes from the cluster's events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/slot/entry.h"
#include "io/time.h"

namespace careen::view {

using controllers::Entry;

std::string_view name_of(Entry::Kind kind);
void append_json(std::string& out, const Entry& entry);

class Timeline {
 public:
  static constexpr size_t kMost = 5000;

  // What was said of the same node in the same words is said again only after this long.
  static constexpr io::Duration kRepeat = io::minutes{6};
  void add(Entry entry);
  // What happened before anything that is known; of what is known already nothing is added twice.
  void add_past(std::vector<Entry> entries);

  // The number of the next entry. Numbers grow by one; those of the past are below all others.
  int64_t next() const { return first_ + static_cast<int64_t>(entries_.size()); }
  // Entries from that number on, oldest first: at most `most` of the latest.
  std::vector<const Entry*> since(int64_t number, size_t most) const;
  std::vector<const Entry*> latest(size_t most) const { return since(first_, most); }
  std::vector<const Entry*> of_node(std::string_view node) const;

 private:
  void shrink();
  std::deque<Entry> entries_;  // by time
  int64_t first_ = 0;
  std::map<std::string, io::Wall, std::less<>> said_;  // when, by node and text
};

}  // namespace careen::view
