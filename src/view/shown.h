// What all documents are made from: one replica, its chronicle, and what is known of the program itself.
#pragma once

#include <functional>
#include <string>

namespace careen::replica {
class Replica;
}

namespace careen::view {

class Chronicle;

struct Shown {
  replica::Replica& replica;
  const Chronicle& chronicle;
  std::string version;
  // How much faster than real time the cluster's clock runs; 1 but in a demonstration.
  std::function<double()> speed = [] { return 1.0; };
};

}  // namespace careen::view
