// A MaintenanceSelector as careen reads it, and what is missing for it: a request for each node that it matches. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/label_selector.h"

namespace careen::kube {
struct Node;
struct Object;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::requests {

struct Request;
class Roster;

struct Selector {
  std::string ns, name, uid;
  uint64_t version = 0;
  bool deleting = false;
  bool wants = false;  // it has a selector; without one it does nothing, as in the original
  kube::LabelSelector selector;
  std::string client;
  bool paused = false;
  std::string mistake;               // for people; as long as there is one, it does nothing
  int64_t matched = 0, created = 0;  // status
  std::string message;

  std::string key() const { return ns + "/" + name; }
};

Selector parse_selector(const kube::Object& object);

struct SelectorPlan {
  struct Creation {
    std::string name;  // the same whoever leads: a creation without an answer is not made twice
    std::string node;
  };
  std::vector<Creation> create;
  std::vector<std::string> remove;  // requests that wait, of nodes that it does not match
  int64_t matched = 0, created = 0;
};

// `of_it`: all requests that it has made, those that are over too.
SelectorPlan plan_of(const Selector& selector, const kube::Store<kube::Node>& nodes, const Roster& roster,
                     const std::vector<Request>& of_it);

}  // namespace careen::requests
