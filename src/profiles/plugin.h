// The table of plugins the configuration can name. A new plugin is one file with its class and factory, and one line
// where the table is filled.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "profiles/check.h"
#include "profiles/config_reader.h"
#include "profiles/notify.h"
#include "profiles/trigger.h"

namespace careen::profiles {

// A factory reads its keys and returns the plugin; what it returns after it recorded an error is thrown away.
using CheckFactory = std::unique_ptr<Check> (*)(ConfigReader&);
using TriggerFactory = std::unique_ptr<Trigger> (*)(ConfigReader&);
using NotifyFactory = std::unique_ptr<Notify> (*)(ConfigReader&);

struct PluginRegistry {
  std::map<std::string, CheckFactory, std::less<>> checks;
  std::map<std::string, TriggerFactory, std::less<>> triggers;
  std::map<std::string, NotifyFactory, std::less<>> notifies;
  // Types of the file format that this version does not offer: they get a message of their own.
  std::set<std::string, std::less<>> known_but_unavailable{
      "anyLabel",    "condition", "nodeCount",       "clusterSemver",     "stagger",         "timeWindow",
      "waitExclude", "affinity",  "kubernikusCount", "prometheusInstant", "checkHypervisor", "hypervisorCondition",
      "mail",        "slack",     "slackThread",     "alterFinalizer",    "alterHypervisor", "eviction"};
};

}  // namespace careen::profiles
