#include "controllers/profiles/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "config/file.h"
#include "config/reader.h"
#include "config/suggest.h"
#include "config/unknown_keys.h"
#include "config/yaml_document.h"
#include "controllers/profiles/file_doc.h"
#include "io/redact.h"

namespace careen::profiles {

namespace {

using Kind = config::Value::Kind;

// How messages and the file call the three kinds of instances.
struct InstanceKind {
  std::string_view word;  // check "can_drain"
  std::string_view key;   // instances.check
};

constexpr InstanceKind kCheck{"check", "check"};
constexpr InstanceKind kNotify{"notification", "notify"};
constexpr InstanceKind kTrigger{"trigger", "trigger"};

bool fits_in_label(std::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return name.size() <= 63 && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

template <class Map>
std::vector<std::string_view> keys_of(const Map& map) {
  std::vector<std::string_view> keys;
  for (const auto& entry : map) keys.push_back(entry.first);
  return keys;
}

// Instances of one kind by name. Names that came out of a variable are never offered as a suggestion.
struct Names {
  InstanceNames all;
  std::vector<std::string_view> shown() const {
    std::vector<std::string_view> names;
    for (const auto& [name, index] : all) {
      if (!hidden.contains(name)) names.push_back(name);
    }
    return names;
  }
  std::set<std::string, std::less<>> hidden;
};

class Loader {
 public:
  Loader(config::ConfigFile& file, const PluginRegistry& registry) : file_(file), registry_(registry) {}

  // Complete when no error was recorded.
  Config load() {
    const config::Value& root = file_.root();
    if (root.kind != Kind::map) {
      file_.error({1, 1},
                  root.kind == Kind::null
                      ? "the file is empty; at least \"intervals.requeue\" is required"
                      : "the file must be a map with keys such as \"intervals\", \"instances\" and \"profiles\"");
      return std::move(config_);
    }
    read_intervals(root);
    read_instances(object_at(root, "instances"));
    read_profiles(root);
    read_dashboard(root);
    allow_variables_and_anchors(root);
    explain_leftover(root, "keys", "it is left over from older versions");
    config::warn_unknown_keys(file_, root, file_keys(), "");
    return std::move(config_);
  }

 private:
  struct Text {
    std::string text;
    bool from_variable = false;
    bool unreadable = false;               // which was reported
    const config::Value* value = nullptr;  // nullptr: absent
  };

  // What every instance has, whatever its kind.
  struct Instance {
    const config::Value* entry = nullptr;
    std::string name;
    std::string owner;  // check "can_drain"
    bool name_from_variable = false;
    Text type;
  };

  void read_intervals(const config::Value& root) {
    config::ConfigReader reader(file_, config::find_entry(&root, "intervals"), {1, 1}, "intervals");
    config_.requeue = reader.duration("requeue", config::Required::yes);
    if (config_.requeue.count() < 0) {
      reader.warn("requeue", "is negative: nodes are looked at on changes only");
    }
    if (const config::Value* intervals = config::find_entry(&root, "intervals")) {
      explain_leftover(*intervals, "notify", "each notification has a \"schedule\" of its own");
    }
  }

  // Keys that many old files still have.
  void explain_leftover(const config::Value& map, std::string_view key, std::string_view reason) {
    const auto found = map.entries.find(key);
    if (found == map.entries.end() || file_.is_explained(found->second.where)) return;
    file_.warn(found->second.where, fmt::format("the key \"{}\" is not known and has no effect: {}", key, reason));
    file_.mark_explained(found->second.where);
  }

  // Keys of the top level are variables to the texts of the file, and a place for anchors.
  void allow_variables_and_anchors(const config::Value& root) {
    std::map<const config::Value*, bool> used;  // by what has a meaning
    for (const config::KeyDoc& key : file_keys()) mark_used(config::find_entry(&root, key.name), used);
    for (const auto& [name, entry] : root.entries) {
      if (config::find_key(file_keys(), name) != nullptr) continue;
      if (file_.is_referenced(name) || shares(entry.value, used)) file_.mark_explained(entry.where);
    }
  }

  static void mark_used(const config::Value* value, std::map<const config::Value*, bool>& used) {
    if (value == nullptr || !used.emplace(value, true).second) return;
    for (const config::Value* item : value->items) mark_used(item, used);
    for (const auto& [key, entry] : value->entries) mark_used(entry.value, used);
  }

  // Whether the value or any in it is used. What was found is noted, so that no value is looked into twice.
  static bool shares(const config::Value* value, std::map<const config::Value*, bool>& used) {
    const auto known = used.find(value);
    if (known != used.end()) return known->second;
    const auto inner = [&](const config::Value* part) { return shares(part, used); };
    const bool found = std::any_of(value->items.begin(), value->items.end(), inner) ||
                       std::any_of(value->entries.begin(), value->entries.end(),
                                   [&](const auto& entry) { return inner(entry.second.value); });
    used.emplace(value, found);
    return found;
  }

  void read_dashboard(const config::Value& root) {
    config::ConfigReader reader(file_, config::find_entry(&root, "dashboard"), {1, 1}, "dashboard");
    config_.dashboard_label_filter = reader.strings("labelFilter", config::Required::no);
  }

  void read_instances(const config::Value* instances) {
    if (instances == nullptr) return;
    for_each_instance(*instances, kCheck, [&](const Instance& instance) {
      CheckInstance made{instance.name, make(instance, kCheck, registry_.checks)};
      keep(config_.checks, checks_, std::move(made), instance);
    });
    for_each_instance(*instances, kNotify, [&](const Instance& instance) {
      NotifyInstance made{instance.name, make(instance, kNotify, registry_.notifies), read_schedule_of(instance)};
      keep(config_.notifies, notifies_, std::move(made), instance);
    });
    for_each_instance(*instances, kTrigger, [&](const Instance& instance) {
      TriggerInstance made{instance.name, make(instance, kTrigger, registry_.triggers)};
      keep(config_.triggers, triggers_, std::move(made), instance);
    });
  }

  template <class Read>
  void for_each_instance(const config::Value& instances, const InstanceKind& kind, Read read) {
    for (const config::Value* entry : list_at(&instances, kind.key, fmt::format("instances.{}", kind.key))) {
      if (file_.is_hopeless()) return;
      if (entry->kind != Kind::map && entry->kind != Kind::null) {
        file_.error(entry->where,
                    fmt::format("a {} instance must be a map with \"name\", \"type\" and \"config\", not {}", kind.word,
                                config::describe(*entry)));
        continue;
      }
      Instance instance;
      instance.entry = entry;
      const Text name = text_at(entry, "name");
      instance.name = name.text;
      instance.name_from_variable = name.from_variable;
      instance.owner =
          name.from_variable ? fmt::format("{} instance", kind.word) : fmt::format("{} \"{}\"", kind.word, name.text);
      instance.type = text_at(entry, "type");
      warn_about_name(name, instance, kind);
      read(instance);
    }
  }

  void warn_about_name(const Text& name, const Instance& instance, const InstanceKind& kind) {
    if (name.value == nullptr) {
      file_.warn(instance.entry->where, fmt::format("this {} instance has no name", kind.word));
    } else if (name.value->kind == Kind::boolean) {
      file_.warn(name.value->where,
                 fmt::format("YAML reads this name as a boolean, so the {} is called \"{}\"; put it in quotes",
                             kind.word, name.text));
    }
  }

  template <class Plugged>
  std::unique_ptr<Plugged> make(const Instance& instance, const InstanceKind& kind, const PluginTable<Plugged>& types) {
    const auto plugin = types.find(instance.type.text);
    if (plugin == types.end()) {
      report_type(instance, kind, keys_of(types));
      return nullptr;
    }
    config::ConfigReader reader(file_, config::find_entry(instance.entry, "config"), instance.entry->where,
                                instance.owner, &plugin->second.doc.keys);
    auto made = plugin->second.make(reader);
    reader.warn_unknown_keys();
    return made;
  }

  void report_type(const Instance& instance, const InstanceKind& kind, std::vector<std::string_view> offered) {
    const Text& type = instance.type;
    const config::Position where = position_of(type, *instance.entry);
    if (type.unreadable) return;
    if (type.text.empty()) {
      file_.error(where, fmt::format("{} has no type{}", instance.owner, old_layout_hint(*instance.entry)));
      return;
    }
    if (type.from_variable) {
      file_.error(where, fmt::format("{}: the type that comes from a variable is not known", instance.owner));
      return;
    }
    if (registry_.known_but_unavailable.contains(type.text)) {
      file_.error(where,
                  fmt::format("{}: type \"{}\" is not available in this version of careen", instance.owner, type.text));
      return;
    }
    for (const auto& [other, known] : {std::pair{kCheck, registry_.checks.contains(type.text)},
                                       std::pair{kNotify, registry_.notifies.contains(type.text)},
                                       std::pair{kTrigger, registry_.triggers.contains(type.text)}}) {
      if (!known) continue;
      file_.error(where, fmt::format("{}: type \"{}\" belongs below \"instances.{}\", not \"instances.{}\"",
                                     instance.owner, type.text, other.key, kind.key));
      return;
    }
    for (const std::string& name : registry_.known_but_unavailable) offered.push_back(name);
    file_.error(where, fmt::format("{}: type \"{}\" is not known{}", instance.owner, type.text,
                                   config::did_you_mean(type.text, offered)));
  }

  // Before 2022 an instance was written `hasLabel: {name: …, config: …}`.
  std::string old_layout_hint(const config::Value& entry) {
    if (entry.entries.size() != 1) return {};
    const auto& [key, inner] = *entry.entries.begin();
    if (inner.value->kind != Kind::map) return {};
    file_.mark_explained(inner.where);
    return fmt::format("; this is the layout used before 2022: write \"type: {}\" beside \"name\" and \"config\"", key);
  }

  Schedule read_schedule_of(const Instance& instance) {
    const config::Value* schedule = config::find_entry(instance.entry, "schedule");
    config::ConfigReader reader(file_, schedule, instance.entry->where, instance.owner + ": \"schedule\"");
    if (schedule == nullptr || schedule->kind != Kind::map) {
      if (reader.ok()) file_.error(instance.entry->where, fmt::format("{}: \"schedule\" is required", instance.owner));
      return {};
    }
    const Text type_text = text_at(schedule, "type");
    const auto type = parse_schedule_type(type_text.text);
    if (!type) report_schedule_type(instance, *schedule, type_text);
    const config::Value* config = config::find_entry(schedule, "config");
    if (config == nullptr || config->kind == Kind::null) {
      file_.error(
          schedule->where,
          fmt::format("{}: \"schedule.config\" is required; write \"config: {{}}\" for the defaults", instance.owner));
      return {};
    }
    if (!type) return {};
    config::ConfigReader keys(file_, config, schedule->where, instance.owner + ": \"schedule.config\"",
                              &schedule_doc(*type).keys);
    const Schedule read = read_schedule(*type, keys);
    keys.warn_unknown_keys();
    return read;
  }

  void report_schedule_type(const Instance& instance, const config::Value& schedule, const Text& type) {
    std::vector<std::string_view> types;
    for (const config::PluginDoc& doc : schedule_docs()) types.push_back(doc.type);
    const config::Position where = position_of(type, schedule);
    if (type.unreadable) return;
    if (type.text.empty() || type.from_variable) {
      file_.error(where, fmt::format("{}: \"schedule.type\" must be periodic, scheduled or oneshot", instance.owner));
    } else {
      file_.error(where, fmt::format("{}: schedule type \"{}\" is not known{}", instance.owner, type.text,
                                     config::did_you_mean(type.text, types)));
    }
  }

  // Of several instances with one name the last one counts; the others are unreachable and go.
  template <class Made>
  void keep(std::vector<Made>& all, Names& names, Made made, const Instance& instance) {
    if (instance.name_from_variable) names.hidden.insert(instance.name);
    const auto [found, is_new] = names.all.try_emplace(instance.name, static_cast<int>(all.size()));
    if (is_new) {
      all.push_back(std::move(made));
      return;
    }
    file_.warn(instance.entry->where,
               fmt::format("{} is defined twice; this one replaces the one above", instance.owner));
    all[static_cast<std::size_t>(found->second)] = std::move(made);
  }

  void read_profiles(const config::Value& root) {
    for (const config::Value* entry : list_at(&root, "profiles", "profiles")) {
      if (file_.is_hopeless()) return;
      if (entry->kind != Kind::map && entry->kind != Kind::null) {
        file_.error(entry->where, fmt::format("a profile must be a map, not {}", config::describe(*entry)));
        continue;
      }
      read_profile(*entry);
    }
    config_.profiles.try_emplace("default", Profile{"default", {}});
  }

  void read_profile(const config::Value& entry) {
    const Text name = text_at(&entry, "name");
    if (name.text.empty() && !name.unreadable) file_.error(position_of(name, entry), "a profile needs a \"name\"");
    const std::string owner = name.from_variable ? "this profile" : fmt::format("profile \"{}\"", name.text);
    if (name.text.find("--") != std::string::npos) {
      file_.warn(
          name.value->where,
          fmt::format("{} has \"--\" in its name, which separates profiles on a node: no node can have it", owner));
    } else if (!name.text.empty() && !fits_in_label(name.text)) {
      file_.warn(name.value->where, fmt::format("the name of {} is no label value: no node can have it", owner));
    }
    Profile profile{name.text, {}};
    for (State state : kStates) {
      const config::Value* chains = object_at(entry, name_of(state));
      if (chains != nullptr) profile.states[index_of(state)] = read_state(*chains);
    }
    if (config_.profiles.contains(name.text)) {
      file_.warn(entry.where, fmt::format("{} is defined twice; this one replaces the one above", owner));
    }
    config_.profiles.insert_or_assign(name.text, std::move(profile));
  }

  StateChains read_state(const config::Value& entry) {
    for (std::string_view key : {"check", "trigger", "next"}) {
      const auto found = entry.entries.find(key);
      if (found == entry.entries.end()) continue;
      file_.warn(found->second.where,
                 fmt::format("\"{}\" directly below a state is the layout used before 2022 and has no effect; "
                             "write it into an entry of \"transitions\"",
                             key));
      file_.mark_explained(found->second.where);
    }
    StateChains chains;
    chains.notify = read_chain(entry, "notify", notifies_, kNotify);
    chains.enter = read_chain(entry, "enter", triggers_, kTrigger);
    for (const config::Value* transition : list_at(&entry, "transitions", "transitions")) {
      if (file_.is_hopeless()) break;
      if (transition->kind != Kind::map && transition->kind != Kind::null) {
        file_.error(transition->where, fmt::format("a transition must be a map with \"check\" and \"next\", not {}",
                                                   config::describe(*transition)));
        continue;
      }
      chains.transitions.push_back(read_transition(*transition));
    }
    return chains;
  }

  Transition read_transition(const config::Value& entry) {
    Transition transition;
    transition.check = read_expression(entry);
    transition.next = read_next(entry);
    transition.trigger = read_chain(entry, "trigger", triggers_, kTrigger);
    return transition;
  }

  State read_next(const config::Value& entry) {
    const Text next = text_at(&entry, "next");
    if (next.unreadable) return State::operational;
    if (next.text.empty()) {
      file_.error(position_of(next, entry),
                  "a transition needs \"next\": operational, maintenance-required or in-maintenance");
      return State::operational;
    }
    if (const auto state = parse_state(next.text)) return *state;
    std::vector<std::string_view> names;
    for (State state : kStates) names.push_back(name_of(state));
    file_.error(
        next.value->where,
        next.from_variable
            ? "\"next\" must be operational, maintenance-required or in-maintenance; its variable says otherwise"
            : fmt::format("\"next\" must be operational, maintenance-required or in-maintenance, not \"{}\"{}",
                          next.text, config::did_you_mean(next.text, names)));
    return State::operational;
  }

  CheckExpression read_expression(const config::Value& entry) {
    const Text text = text_at(&entry, "check");
    if (text.unreadable) return {};
    if (text.text.empty()) {
      file_.error(position_of(text, entry), "a transition needs \"check\": an expression of check instances");
      return {};
    }
    auto expression = parse_check_expression(text.text, checks_.all);
    if (expression) return std::move(*expression);
    report(expression.error(), text, checks_, kCheck);
    return {};
  }

  std::vector<int> read_chain(const config::Value& entry, std::string_view key, const Names& names,
                              const InstanceKind& kind) {
    const Text text = text_at(&entry, key);
    auto chain = parse_chain(text.text, names.all, kind.word);
    if (chain) return std::move(*chain);
    report(chain.error(), text, names, kind);
    return {};
  }

  void report(const std::vector<ExpressionError>& errors, const Text& text, const Names& names,
              const InstanceKind& kind) {
    for (const ExpressionError& error : errors) {
      if (file_.is_hopeless()) return;
      const bool is_unknown = error.kind == ExpressionError::Kind::unknown_name;
      if (text.from_variable) {
        file_.error(text.value->where,
                    is_unknown
                        ? fmt::format("the text that comes from a variable names a {} that is not defined", kind.word)
                        : fmt::format("the text that comes from a variable is no chain of {} names", kind.word));
        continue;
      }
      const std::string hint = is_unknown ? config::did_you_mean(error.name, names.shown()) : std::string{};
      file_.error(file_.position_within(*text.value, error.offset), error.message + hint);
    }
  }

  static config::Position position_of(const Text& text, const config::Value& owner) {
    return text.value != nullptr ? text.value->where : owner.where;
  }

  Text text_at(const config::Value* map, std::string_view key) {
    const config::Value* value = config::find_entry(map, key);
    if (value == nullptr || value->kind == Kind::null) return {};
    Text result;
    result.value = value;
    auto text = value->is_scalar() ? file_.text(*value) : std::nullopt;
    if (!value->is_scalar())
      file_.error(value->where, fmt::format("\"{}\" must be a text, not {}", key, config::describe(*value)));
    result.unreadable = !text;
    if (!text) return result;
    result.text = std::move(text->text);
    result.from_variable = text->from_variable;
    return result;
  }

  // nullptr: absent, or no map, which is reported.
  const config::Value* object_at(const config::Value& map, std::string_view key) {
    const config::Value* value = config::find_entry(&map, key);
    if (value == nullptr || value->kind == Kind::null) return nullptr;
    if (value->kind == Kind::map) return value;
    file_.error(value->where, fmt::format("\"{}\" must be a map, not {}", key, config::describe(*value)));
    return nullptr;
  }

  const std::vector<const config::Value*>& list_at(const config::Value* map, std::string_view key,
                                                   std::string_view path) {
    static const std::vector<const config::Value*> kNone;
    const config::Value* value = config::find_entry(map, key);
    if (value == nullptr || value->kind == Kind::null) return kNone;
    if (value->kind == Kind::list) return value->items;
    if (value->kind == Kind::map) {
      // Files of before 2022 have maps here; they were always read so.
      file_.warn(value->where, fmt::format("\"{}\" must be a list; a map is read as an empty one", path));
    } else {
      file_.error(value->where, fmt::format("\"{}\" must be a list, not {}", path, config::describe(*value)));
    }
    return kNone;
  }

  config::ConfigFile& file_;
  const PluginRegistry& registry_;
  Config config_;
  Names checks_;
  Names notifies_;
  Names triggers_;
};

}  // namespace

const Profile* Config::find_profile(std::string_view name) const {
  const auto found = profiles.find(name);
  return found == profiles.end() ? nullptr : &found->second;
}

std::string Config::redact(std::string text) const { return io::redact(text, secrets); }

ConfigReport examine_config(std::string_view text, std::string_view filename, const PluginRegistry& registry,
                            const config::Environment& environment) {
  const auto document = config::Document::parse(std::string{text});
  if (!document) {
    const config::Remark& problem = document.error();
    return {std::nullopt, {{std::string{filename}, problem.where.line, problem.where.column, problem.message}}, {}};
  }
  config::ConfigFile file(filename, *document, environment);
  Config config = Loader(file, registry).load();
  ConfigReport report{std::nullopt, file.errors(), file.warnings()};
  if (!report.errors.empty()) return report;
  config.warnings = report.warnings;
  config.secrets = file.secrets();
  config.needs = needs_of(config);
  report.config = std::move(config);
  return report;
}

tl::expected<Config, std::vector<config::ConfigError>> load_config(std::string_view text, std::string_view filename,
                                                                   const PluginRegistry& registry,
                                                                   const config::Environment& environment) {
  ConfigReport report = examine_config(text, filename, registry, environment);
  if (!report.config) return tl::make_unexpected(std::move(report.errors));
  return std::move(*report.config);
}

}  // namespace careen::profiles
