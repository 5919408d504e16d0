// The requests that live, by name and by the node that they are about. Two of them are never worked on at once: a node
// belongs to the one that has a place, and otherwise to the oldest. Those that are over are not in here, however many
// there are.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "controllers/requests/request.h"
#include "io/time.h"

namespace careen::requests {

class Roster {
 public:
  struct Entry {
    std::string node, client, selector;
    io::Wall created{};
    State state = State::pending;
    bool asks = false;    // it can be approved
    bool placed = false;  // it has a place
  };

  // One that does not live is removed.
  void put(const Request& request);
  void remove(std::string_view name);
  void set_placed(std::string_view name, bool placed);

  const Entry* find(std::string_view name) const;
  // Another one, to which the node belongs; empty: none.
  std::string busy_with(const Request& request) const;
  // Whose turn it is on the node; empty: nobody's.
  std::string next_on(std::string_view node) const;
  // By name.
  void for_each(const std::function<void(const std::string& name, const Entry&)>& visit) const;
  void for_each_on(std::string_view node, const std::function<void(const std::string&, const Entry&)>& visit) const;
  size_t size() const { return by_name_.size(); }

 private:
  struct OnNode {
    std::set<std::pair<io::Wall, std::string>> asking;
    std::set<std::string> placed;
    std::set<std::string> all;
  };
  void enter(const std::string& name, const Entry& entry);
  void leave(const std::string& name, const Entry& entry);

  std::map<std::string, Entry, std::less<>> by_name_;
  std::map<std::string, OnNode, std::less<>> by_node_;
};

}  // namespace careen::requests
