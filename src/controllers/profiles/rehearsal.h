// A rehearsal (dry run) tells what it would do to each node, once.
#pragma once

#include <map>
#include <string>

#include "io/log.h"

namespace careen::profiles {

struct Decision;

class Rehearsal {
 public:
  explicit Rehearsal(io::Log log) : log_(std::move(log)) {}

  void tell(const std::string& node, const Decision& decision);

 private:
  io::Log log_;
  std::map<std::string, std::string, std::less<>> told_;  // by node
};

}  // namespace careen::profiles
