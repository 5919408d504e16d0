// The nodes that a command is about: by their names or by a label selector, read with few requests.
#pragma once

#include <string>
#include <vector>

#include "kube/node.h"
#include "session/kube_session.h"

namespace careen::app {

struct NodeChoice {
  std::vector<std::string> names;
  std::string selector;  // used when there are no names
};

struct ChosenNodes {
  std::vector<kube::Node> nodes;    // in the order of the names
  std::vector<std::string> errors;  // a name that no node has, with one that is like it
  bool forbidden = false;           // an error says that nodes may not be read
};

io::Task<ChosenNodes> choose_nodes(KubeSession& session, NodeChoice choice);

// Every node, or those that the selector matches.
io::Task<kube::Result<std::vector<kube::Node>>> list_nodes(KubeSession& session, std::string selector = {});

}  // namespace careen::app
