// What the readers of steps and expectations need to know about the file they are in.
#pragma once

#include <string>
#include <vector>

#include "fields.h"
#include "scenario.h"

namespace careen::scenarios {

struct Reading {
  Faults& faults;
  std::string directory;           // that file names are relative to
  std::vector<std::string> nodes;  // every node that the scenario ever has
  std::vector<std::string> replicas;
  std::string config;  // at this point of the scenario

  // Names of nodes ("node-1..3 db", "all"), each of which must be able to match one; a list of them, too.
  std::vector<std::string> node_names(const Value& value);
  std::vector<std::string> node_names(std::string_view words, Position where);
  // careen-0, or "leader"; a list may also be "all".
  std::vector<std::string> replica_names(const Value& value);
  std::optional<std::string> replica_name(const Value& value);
  // The text of a file beside the scenario.
  std::optional<std::string> file(const Value& name);
};

// key: text, or null for "not there".
using KeyValues = std::vector<std::pair<std::string, std::optional<std::string>>>;
KeyValues read_key_values(const Value& value, std::string_view what, Faults& faults);

}  // namespace careen::scenarios
