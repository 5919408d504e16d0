// A scenario as the runner plays it: the cluster at the start, careen, what happens, and what must be seen.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/error.h"
#include "crew.h"
#include "io/time.h"
#include "kube/json.h"

namespace careen::scenarios {

struct Stage;

inline constexpr std::string_view kMaintenances = "/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances";

// Something that is done to the cluster, to careen, or to the network between them.
struct Action {
  config::Position where;
  std::string who;   // in the timeline: person, fault
  std::string text;  // as the file says it
  // What is wrong, or nothing: starting a replica that runs.
  std::function<std::string(Stage&)> perform;
};

struct Verdict {
  bool holds = true;
  std::string seen;             // instead; when it does not hold
  std::set<std::string> nodes;  // concerned
};

// How much had been seen at some moment. Times do not serve: much happens in one instant.
struct Mark {
  size_t events = 0;
  size_t writes = 0;
  size_t logs = 0;
  size_t messages = 0;
  size_t queries = 0;
  size_t evictions = 0;
};

// Something that must be so. What counts things that happen, such as events and messages, counts from the mark on.
struct Expectation {
  config::Position where;
  std::string text;
  std::function<Verdict(const Stage&, const Mark& since)> check;
};

struct Step {
  enum class Window { moment, within, throughout };

  config::Position where;
  std::optional<io::Duration> at;  // since the start; otherwise `after` the step before
  io::Duration after{};
  std::vector<Action> actions;
  Window window = Window::moment;
  io::Duration span{};  // of the window
  std::vector<Expectation> expect;
};

struct PlannedObject {
  std::string path;
  kube::Json object;
  bool posted = false;  // the path is that of its collection, and the API server fills in what it lacks
};

struct Scenario {
  std::string file;
  std::string about;
  std::optional<io::Wall> start;
  std::vector<PlannedObject> objects;
  std::map<std::string, double> measures;  // what queries to Prometheus yield at the start
  std::string summary;                     // of the objects, for the timeline
  CrewPlan careen;
  std::vector<Step> steps;
  std::vector<Expectation> never;
  std::vector<Expectation> always;
  std::vector<Expectation> finally;
  std::optional<io::Duration> end;
};

}  // namespace careen::scenarios
