// What all documents are made from: one replica, its chronicle, and what is known of the program itself.
#pragma once

#include <functional>
#include <string>

#include "replica/replica.h"
#include "view/chronicle.h"

namespace careen::view {

struct Shown {
  replica::Replica& replica;
  const Chronicle& chronicle;
  std::string version;
  // How much faster than real time the cluster's clock runs; 1 but in a demonstration.
  std::function<double()> speed = [] { return 1.0; };
};

}  // namespace careen::view
