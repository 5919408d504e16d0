// A node in one line: its colour, its profiles with what each waits for, its labels, and who keeps it cordoned.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace careen::kube {
struct Node;
}

namespace careen::profiles {
struct Config;
struct Decision;
}  // namespace careen::profiles

namespace careen::replica {
class Replica;
}

namespace careen::view {

class Work;
struct Shown;

// The keys by which nodes can be grouped, the best first: those of limits, topology, and of the configured filter, if
// some node has them. Those that tell no nodes apart come last.
std::vector<std::string> grouping_labels(const replica::Replica& replica);

struct Row {
  std::string json;                                           // NodeRow
  std::vector<std::pair<std::string, std::string>> profiles;  // with their states
};

Row make_row(const Shown& shown, const kube::Node& node, const std::vector<std::string>& labels, const Work& work);

// What is decided for the node now; nothing without profiles.
// Null: profiles do not run here, or there is no configuration of them yet. Then nothing is explained.
const profiles::Config* config_of(const replica::Replica& replica);
std::optional<profiles::Decision> explained(const replica::Replica& replica, const kube::Node& node);
bool is_ready(const kube::Node& node);

}  // namespace careen::view
