// Those who empty nodes without careen, as kubectl drain does: each cordons its node, asks for the eviction of its pods
// again and again until all of them are gone, works for a while, and gives the node back. Some lose their patience.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "guest.h"
#include "requests_plan.h"

namespace careen::explore {

class ForeignDrains {
 public:
  ForeignDrains(std::shared_ptr<const RequestsPlan> plan, Hands hands);
  ForeignDrains(const ForeignDrains&) = delete;
  ForeignDrains& operator=(const ForeignDrains&) = delete;

  bool busy() const { return unfinished_ > 0; }

 private:
  struct Drain {
    const ForeignDrain& what;
    std::set<std::string> pods = {};  // that are left
    int asked = 0;                    // that have not been answered
    io::Duration tried{};             // for so long
  };

  bool is_there(const Drain& drain) const;
  void begin(Drain& drain);
  void try_all(Drain& drain);
  void answered(Drain& drain);
  void end(Drain& drain);

  std::shared_ptr<const RequestsPlan> plan_;
  Hands hands_;
  std::vector<std::unique_ptr<Drain>> drains_;
  size_t unfinished_ = 0;
};

// Of somebody who keeps `number` pods on the node.
void keep_pods(const Hands& hands, const std::string& node, int number);

}  // namespace careen::explore
