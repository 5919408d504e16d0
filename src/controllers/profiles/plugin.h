// The table of plugins the configuration can name. A new plugin is one file with its class, its factory and what it
// says about itself, and one line where the table is filled.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "config/plugin_doc.h"

namespace careen::config {
class ConfigReader;
}

namespace careen::profiles {

class Check;
class Notify;
class Trigger;

template <class Kind>
struct Plugin {
  // Reads its keys and returns the instance; what it returns after it recorded an error is thrown away.
  std::unique_ptr<Kind> (*make)(config::ConfigReader&) = nullptr;
  config::PluginDoc doc;
};

template <class Kind>
using PluginTable = std::map<std::string, Plugin<Kind>, std::less<>>;

struct PluginRegistry {
  PluginTable<Check> checks;
  PluginTable<Trigger> triggers;
  PluginTable<Notify> notifies;
  // Types of the file format that this version does not offer: they get a message of their own.
  std::set<std::string, std::less<>> known_but_unavailable;
};

}  // namespace careen::profiles
