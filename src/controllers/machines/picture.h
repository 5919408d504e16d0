// Machines and their clusters as careen shows them: the list of clusters, the story of a Machine, and the timeline.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controllers/machines/decide.h"
#include "controllers/slot/entry.h"
#include "controllers/slot/picture.h"

namespace careen::kube {
struct EventRecord;
}

namespace careen::machines {

struct ShownCluster {
  std::string name;  // namespace/name
  std::string state;
  std::string server;   // empty: not known
  std::string trouble;  // empty: none
  io::Wall since{};
  size_t nodes = 0;
  std::vector<std::pair<Phase, size_t>> phases;  // of its Machines; those that there are
  // Something is being done about them.
  struct Busy {
    Machine machine;
    Phase phase;
  };
  std::vector<Busy> busy;
  std::string upgrades;                  // whether one may begin; empty: whenever it likes
  std::vector<std::string> held_checks;  // health checks that careen holds back
};

struct ShownMachine {
  const Machine* machine = nullptr;
  const Node* node = nullptr;  // null: it is not seen
  io::Wall now{};
  Decision decision;
  std::string host;     // with its power; empty: none is known
  std::string trouble;  // of the host
};

// In the order of their names.
std::unique_ptr<controllers::Picture> picture_of(std::vector<ShownCluster> clusters);
std::string document_of_machine(const ShownMachine& shown);
std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time);

}  // namespace careen::machines
