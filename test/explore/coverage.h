// Which fault has hit which kind of write, over all cases: what the exploration has really explored.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <utility>

#include "perturbation.h"

namespace careen::explore {

class Coverage {
 public:
  // `where`: "before PATCH nodes", "after PUT lock", "at a time".
  void hit(Action action, const std::string& where) { ++hits_[{action, where}]; }
  void add(const Coverage& other);
  int count(Action action) const;
  // A row an action, a column a place.
  std::string table() const;

  // A line a hit, and what such lines say.
  std::string text() const;
  void read(std::istream& lines);

 private:
  std::map<std::pair<Action, std::string>, int> hits_;
};

}  // namespace careen::explore
