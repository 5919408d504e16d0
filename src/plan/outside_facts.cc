#include "plan/outside_facts.h"

#include <algorithm>
#include <memory>

#include "controllers/profiles/check_context.h"
#include "controllers/profiles/expression_fold.h"
#include "controllers/profiles/hypervisor_fields.h"
#include "controllers/profiles/plugins/check_has_key.h"
#include "controllers/profiles/plugins/plugins.h"
#include "sim/value.h"

namespace careen::plan {

namespace json = boost::json;
using config::ConfigReader;
using config::Required;
using profiles::CheckExpression;

namespace {

template <class Map>
bool add_all(Map& into, const Map& from) {
  return std::all_of(from.begin(), from.end(), [&](const auto& entry) {
    return into.emplace(entry.first, entry.second).first->second == entry.second;
  });
}

// A fact on one node that others change.
class FactCheck : public profiles::Check {
 public:
  // Never asked: this configuration decides nothing.
  profiles::CheckResult run(const profiles::CheckContext&) const override { return {}; }

  virtual bool holds(const NodeState& state) const = 0;
  // The same after such a change.
  virtual bool holds_after(const Edit&, const NodeState& state) const { return holds(state); }
  // What makes it hold, or not; nothing when it is nobody's to change.
  virtual std::optional<Edit> make(bool value, const NodeState& state) const = 0;
  virtual bool is_approval() const { return true; }
  // How far-fetched a change of it is.
  virtual int cost() const { return 1; }
};

// Labels by which a cluster is built rather than maintained: roles, zones.
bool is_structural(std::string_view key) {
  return key.find("kubernetes.io/") != std::string_view::npos || key == "cloud.sap/maintenance-profile";
}

class KeyFact final : public FactCheck {
 public:
  KeyFact(ConfigReader& config, bool label) : wanted_(config), label_(label) {}
  std::string_view type() const override { return label_ ? "hasLabel" : "hasAnnotation"; }

  bool holds(const NodeState& state) const override {
    const json::value* map = sim::find(state.node, {"metadata", label_ ? "labels" : "annotations"});
    const json::value* value = map ? sim::member(*map, wanted_.key) : nullptr;
    if (!value || !value->is_string()) return false;
    return wanted_.value.empty() || value->get_string() == wanted_.value;
  }
  std::optional<Edit> make(bool value, const NodeState&) const override {
    Edit edit;
    auto& map = label_ ? edit.labels : edit.annotations;
    map[wanted_.key] = value ? std::optional(wanted_.value.empty() ? "true" : wanted_.value) : std::nullopt;
    return edit;
  }
  bool holds_after(const Edit& edit, const NodeState& state) const override {
    const auto& map = label_ ? edit.labels : edit.annotations;
    const auto changed = map.find(wanted_.key);
    if (changed == map.end()) return holds(state);
    return changed->second && (wanted_.value.empty() || *changed->second == wanted_.value);
  }
  int cost() const override { return is_structural(wanted_.key) ? 5 : 1; }

 private:
  profiles::WantedKey wanted_;
  bool label_;
};

// The status of a condition in a list of them; empty when it is not there.
std::string_view status_of(const json::value* conditions, std::string_view type) {
  if (!conditions || !conditions->is_array()) return {};
  for (const json::value& one : conditions->get_array()) {
    if (sim::text_at(one, "type") == type) return sim::text_at(one, "status");
  }
  return {};
}

class ConditionFact final : public FactCheck {
 public:
  ConditionFact(ConfigReader& config, bool of_hypervisor)
      : type_(config.string("type", Required::yes)),
        status_(config.string("status", Required::yes)),
        of_hypervisor_(of_hypervisor) {}
  std::string_view type() const override { return of_hypervisor_ ? "hypervisorCondition" : "condition"; }

  bool holds(const NodeState& state) const override {
    const json::value* object = of_hypervisor_ ? state.hypervisor : &state.node;
    return object && status_of(sim::find(*object, {"status", "conditions"}), type_) == status_;
  }
  std::optional<Edit> make(bool value, const NodeState& state) const override {
    if (of_hypervisor_ && !state.hypervisor) return std::nullopt;
    Edit edit;
    auto& map = of_hypervisor_ ? edit.hypervisor_conditions : edit.conditions;
    map[type_] = value ? status_ : status_ == "True" ? "False" : "True";
    return edit;
  }
  bool holds_after(const Edit& edit, const NodeState& state) const override {
    const auto& map = of_hypervisor_ ? edit.hypervisor_conditions : edit.conditions;
    const auto changed = map.find(type_);
    return changed == map.end() ? holds(state) : changed->second == status_;
  }

 private:
  std::string type_, status_;
  bool of_hypervisor_;
};

class HypervisorFact final : public FactCheck {
 public:
  explicit HypervisorFact(ConfigReader& config)
      : wanted_(profiles::read_fields(config, profiles::hypervisor_status_fields(), "status of a hypervisor")) {}
  std::string_view type() const override { return "checkHypervisor"; }

  bool holds(const NodeState& state) const override {
    if (!state.hypervisor) return false;
    return std::all_of(wanted_.begin(), wanted_.end(),
                       [&](const profiles::FieldValue& one) { return current(state, one) == one.value; });
  }
  std::optional<Edit> make(bool value, const NodeState& state) const override {
    if (!state.hypervisor || wanted_.empty()) return std::nullopt;
    Edit edit;
    if (value) {
      for (const auto& one : wanted_) edit.hypervisor_status[std::string(one.field->name)] = one.value;
      return edit;
    }
    const auto& first = wanted_.front();
    edit.hypervisor_status[std::string(first.field->name)] = other_than(first);
    return edit;
  }

 private:
  static kube::Json current(const NodeState& state, const profiles::FieldValue& one) {
    kube::Object object;
    object.document = kube::Json(kube::JsonView(state.hypervisor));
    return profiles::value_of(object, "status", *one.field);
  }
  static kube::Json other_than(const profiles::FieldValue& one) {
    switch (one.field->type) {
      case profiles::FieldType::boolean:
        return !one.value.view().boolean().value_or(false);
      case profiles::FieldType::integer:
        return one.value.view().integer().value_or(0) + 1;
      case profiles::FieldType::text:
        break;
    }
    return one.value == kube::Json("") ? "other" : "";
  }

  std::vector<profiles::FieldValue> wanted_;
};

// True while another node has a newer version. Only an update ends it.
class VersionFact final : public FactCheck {
 public:
  explicit VersionFact(ConfigReader& config) : key_(config.string("key", Required::yes)) {
    config.boolean("profileScoped");
  }
  std::string_view type() const override { return "clusterSemver"; }

  bool holds(const NodeState& state) const override {
    const json::value* labels = sim::find(state.node, {"metadata", "labels"});
    return labels && sim::text_at(*labels, key_) != state.newest(key_);
  }
  std::optional<Edit> make(bool value, const NodeState& state) const override {
    const std::string newest = state.newest(key_);
    if (value || newest.empty()) return std::nullopt;
    Edit edit;
    edit.labels[key_] = newest;
    return edit;
  }
  bool is_approval() const override { return false; }

 private:
  std::string key_;
};

profiles::PluginRegistry fact_registry() {
  profiles::PluginRegistry registry = profiles::all_plugins();
  const auto replace = [&](const char* type, std::unique_ptr<profiles::Check> (*make)(ConfigReader&)) {
    registry.checks.find(type)->second.make = make;
  };
  using Made = std::unique_ptr<profiles::Check>;
  replace("hasLabel", [](ConfigReader& c) -> Made { return std::make_unique<KeyFact>(c, true); });
  replace("hasAnnotation", [](ConfigReader& c) -> Made { return std::make_unique<KeyFact>(c, false); });
  replace("condition", [](ConfigReader& c) -> Made { return std::make_unique<ConditionFact>(c, false); });
  replace("hypervisorCondition", [](ConfigReader& c) -> Made { return std::make_unique<ConditionFact>(c, true); });
  replace("checkHypervisor", [](ConfigReader& c) -> Made { return std::make_unique<HypervisorFact>(c); });
  replace("clusterSemver", [](ConfigReader& c) -> Made { return std::make_unique<VersionFact>(c); });
  return registry;
}

// A way to give an expression a value, and how far-fetched it is.
struct Way {
  int cost = 0;
  Edit edit = {};
  std::vector<std::pair<const FactCheck*, bool>> relies_on = {};  // facts, and whether they hold
};

// What careen and the clock decide comes out as wanted by itself, sooner or later: an outside change is the nearer
// way where there is a choice.
constexpr int kByItself = 10;

class Search {
 public:
  Search(const profiles::Config& facts, const CheckExpression& expression, const NodeState& state, Editor editor)
      : facts_(facts), expression_(expression), state_(state), editor_(editor) {}

  std::optional<Way> find(bool wanted) const {
    return profiles::fold(
        expression_, wanted, [this](size_t place, bool value) { return leaf(place, value); },
        [this](std::optional<Way> left, std::optional<Way> right) { return together(std::move(left), right); },
        [](std::optional<Way> left, std::optional<Way> right) { return either(std::move(left), std::move(right)); });
  }

 private:
  std::optional<Way> leaf(size_t place, bool wanted) const {
    const int instance = expression_.leaves[place];
    const auto* fact = dynamic_cast<const FactCheck*>(facts_.checks[static_cast<size_t>(instance)].check.get());
    if (!fact || (editor_ == Editor::approver && !fact->is_approval())) return Way{kByItself};
    if (fact->holds(state_) == wanted) return Way{0, {}, {{fact, wanted}}};
    auto edit = fact->make(wanted, state_);
    if (!edit) return std::nullopt;
    Way way{fact->cost(), std::move(*edit)};
    if (fact->holds_after(way.edit, state_) == wanted) way.relies_on.emplace_back(fact, wanted);
    return way;
  }

  std::optional<Way> together(std::optional<Way> left, const std::optional<Way>& right) const {
    if (!left || !right || !left->edit.add(right->edit)) return std::nullopt;
    left->cost += right->cost;
    left->relies_on.insert(left->relies_on.end(), right->relies_on.begin(), right->relies_on.end());
    const bool spoilt = std::any_of(left->relies_on.begin(), left->relies_on.end(), [&](const auto& fact) {
      return fact.first->holds_after(left->edit, state_) != fact.second;
    });
    if (spoilt) return std::nullopt;
    return left;
  }

  static std::optional<Way> either(std::optional<Way> left, std::optional<Way> right) {
    if (!left) return right;
    if (!right) return left;
    return right->cost < left->cost ? right : left;
  }

  const profiles::Config& facts_;
  const CheckExpression& expression_;
  const NodeState& state_;
  Editor editor_;
};

}  // namespace

bool Edit::empty() const {
  return labels.empty() && annotations.empty() && conditions.empty() && hypervisor_conditions.empty() &&
         hypervisor_status.empty();
}

bool Edit::add(const Edit& other) {
  return add_all(labels, other.labels) && add_all(annotations, other.annotations) &&
         add_all(conditions, other.conditions) && add_all(hypervisor_conditions, other.hypervisor_conditions) &&
         add_all(hypervisor_status, other.hypervisor_status);
}

profiles::ConfigReport examine_facts(std::string_view text, std::string_view filename,
                                     const config::Environment& environment) {
  return profiles::examine_config(text, filename, fact_registry(), environment);
}

std::optional<Edit> edit_for(const profiles::Config& facts, const CheckExpression& expression, bool wanted,
                             const NodeState& state, Editor editor) {
  if (expression.nodes.empty()) return std::nullopt;
  auto way = Search(facts, expression, state, editor).find(wanted);
  if (!way) return std::nullopt;
  return std::move(way->edit);
}

bool is_outside(const profiles::CheckInstance& check) {
  return dynamic_cast<const FactCheck*>(check.check.get()) != nullptr;
}

}  // namespace careen::plan
