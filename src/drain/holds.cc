#include "drain/holds.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/json.h"
#include "kube/names.h"

namespace careen::drain {

using kube::Json;
using kube::JsonView;

namespace {

bool contains(const std::vector<BareTaint>& taints, const BareTaint& taint) {
  return std::find(taints.begin(), taints.end(), taint) != taints.end();
}

bool is(const kube::Taint& taint, const BareTaint& bare) {
  return taint.key.view() == bare.key && taint.effect.view() == bare.effect;
}

bool is_empty(const Items& items) { return items == Items{}; }

const BareTaint& cordon_taint() {
  static const BareTaint taint{"node.kubernetes.io/unschedulable", "NoSchedule"};
  return taint;
}

// All that a record on a node can make careen undo. It stands here, and not with each controller, so that it can be
// read at a glance and is the same in every program, whichever controllers it has.
struct OwnerKind {
  std::string_view prefix;
  Items items;
};

const std::vector<OwnerKind>& owner_kinds() {
  static const std::vector<OwnerKind> kinds{
      {"nodemaintenance/",
       {true,
        {cordon_taint(), {"medik8s.io/drain", "NoSchedule"}},
        {{"remediation.medik8s.io/exclude-from-remediation", "true"}}}},
      {"profile/", {.cordon = true}},
      {"request/", {.cordon = true}},
      {kTerminalPrefix, {.cordon = true}},
  };
  return kinds;
}

bool is_known(std::string_view owner) { return !is_empty(may_hold(owner)); }

// Of the items, those that the owner may hold.
Items within(Items items, const Items& most) {
  items.cordon &= most.cordon;
  std::vector<BareTaint> taints;
  for (BareTaint& taint : items.taints) {
    if (contains(most.taints, taint) && !contains(taints, taint)) taints.push_back(std::move(taint));
  }
  items.taints = std::move(taints);
  std::erase_if(items.labels, [&](const auto& label) {
    const auto known = most.labels.find(label.first);
    return known == most.labels.end() || known->second != label.second;
  });
  return items;
}

// What was there before anything was held: of a label, any value that the API server accepts. With any other the node
// could no longer be written.
Items before_from(Items items) {
  Items most;
  for (const OwnerKind& kind : owner_kinds()) {
    most.cordon |= kind.items.cordon;
    most.taints.insert(most.taints.end(), kind.items.taints.begin(), kind.items.taints.end());
    for (const auto& [key, value] : kind.items.labels) {
      const auto said = items.labels.find(key);
      if (said != items.labels.end() && kube::label_value_errors(said->second).empty()) most.labels[key] = said->second;
    }
  }
  return within(std::move(items), most);
}

bool is_printable(std::string_view text, size_t longest) {
  return text.size() <= longest && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
         });
}

bool is_owner(std::string_view text) { return is_printable(text, Holds::kLongestOwner); }

using TaintValues = std::map<BareTaint, std::string>;

// key=value:effect or, without a value, key:effect, as kubectl writes a taint.
std::string text_of(const BareTaint& taint, const TaintValues& values) {
  const auto value = values.find(taint);
  return taint.key + (value == values.end() ? "" : "=" + value->second) + ":" + taint.effect;
}

BareTaint taint_from(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {std::string(text), ""};
  const std::string_view key = text.substr(0, colon);
  return {std::string(key.substr(0, key.find('='))), std::string(text.substr(colon + 1))};
}

std::string_view value_from(std::string_view text) {
  const size_t equals = text.find('='), colon = text.rfind(':');
  if (equals == std::string_view::npos || colon == std::string_view::npos || colon < equals) return {};
  return text.substr(equals + 1, colon - equals - 1);
}

void put_items(const Items& items, Json& into, const TaintValues& values = {}) {
  if (items.cordon) into.set({"cordon"}, true);
  for (const BareTaint& taint : items.taints) {
    Json list(into["taints"]);
    into.set({"taints"}, std::move(list.push_back(text_of(taint, values))));
  }
  for (const auto& [key, value] : items.labels) into.set({"labels", key}, value);
}

Items items_from(JsonView view) {
  Items items;
  items.cordon = view["cordon"].boolean().value_or(false);
  view["taints"].for_each_element([&](JsonView taint) {
    if (const auto text = taint.text()) items.taints.push_back(taint_from(*text));
  });
  view["labels"].for_each_member([&](std::string_view key, JsonView value) {
    if (const auto text = value.text()) items.labels.emplace(key, *text);
  });
  return items;
}

// Of taints that were there before: those that careen replaces and no others, with a value that the API server takes.
TaintValues values_from(JsonView view, const std::vector<BareTaint>& taints) {
  TaintValues out;
  view["taints"].for_each_element([&](JsonView one) {
    const std::string_view text = one.text().value_or(""), value = value_from(text);
    BareTaint taint = taint_from(text);
    if (value.empty() || !contains(taints, taint) || !kube::label_value_errors(value).empty()) return;
    out.emplace(std::move(taint), value);
  });
  return out;
}

// The owners have changed: what has to be done to the node so that it fits.
class Settlement {
 public:
  Settlement(const kube::Node& node, kube::AtomPool& atoms) : node_(node), atoms_(atoms), old_(holds_of(node)) {
    holds_ = old_;
  }

  Holds& holds() { return holds_; }
  const Holds& old() const { return old_; }

  // Puts there what the owner holds, and remembers what is there in its stead.
  void put(const Items& wanted, Found found) {
    if (wanted.cordon) put_cordon(found);
    put_taints(wanted.taints, found);
    for (const auto& [key, value] : wanted.labels) put_label(key, value, found);
  }

  // Undoes what nobody holds any more.
  void undo() {
    if (was_cordon_held() && !is_cordon_held()) undo_cordon();
    undo_taints();
    std::map<std::string, std::string> labels;
    for (const auto& [owner, hold] : old_.by_owner) labels.insert(hold.items.labels.begin(), hold.items.labels.end());
    for (const auto& [key, value] : labels) undo_label(key, value);
  }

  void set_schedulable() {
    holds_.before.cordon = false;
    if (!is_cordon_held() && node_.unschedulable) change_.unschedulable = false;
  }

  // A cordon from before the first hold ends with the holds, and so does its taint.
  void forget_earlier_cordon() {
    holds_.before.cordon = false;
    forget_taint(cordon_taint());
  }

  NodeChange finish() {
    if (holds_.empty()) {
      holds_.before = {};
      holds_.values.clear();
    }
    const std::string key(kHoldsAnnotation);
    if (holds_ == old_) return std::move(change_);
    if (holds_.owners() == 0) {
      change_.annotations[key] = std::nullopt;
    } else {
      change_.annotations[key] = holds_.text();
    }
    return std::move(change_);
  }

 private:
  template <class Holding>
  static bool any(const Holds& holds, Holding holding) {
    return std::any_of(holds.by_owner.begin(), holds.by_owner.end(),
                       [&](const auto& entry) { return holding(entry.second.items); });
  }
  static bool holds_cordon(const Items& items) { return items.cordon; }
  bool was_cordon_held() const { return any(old_, holds_cordon); }
  bool is_cordon_held() const { return any(holds_, holds_cordon); }
  static bool held(const Holds& holds, const BareTaint& taint) {
    return any(holds, [&](const Items& items) { return contains(items.taints, taint); });
  }
  static bool held(const Holds& holds, const std::string& key) {
    return any(holds, [&](const Items& items) { return items.labels.contains(key); });
  }

  void put_cordon(Found found) {
    if (!was_cordon_held()) holds_.before.cordon = node_.unschedulable && found == Found::foreign;
    if (node_.unschedulable) return;
    // Somebody took it away and does not want it back in the end.
    holds_.before.cordon = false;
    change_.unschedulable = true;
  }

  void undo_cordon() {
    if (!holds_.before.cordon && node_.unschedulable) change_.unschedulable = false;
    holds_.before.cordon = false;
  }

  const std::vector<kube::Taint>& taints() const { return change_.taints ? *change_.taints : node_.taints; }
  // Null when it is not there.
  static const kube::Taint* find(const std::vector<kube::Taint>& all, const BareTaint& taint) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const kube::Taint& other) { return is(other, taint); });
    return found == all.end() ? nullptr : &*found;
  }

  void forget_taint(const BareTaint& taint) {
    std::erase(holds_.before.taints, taint);
    holds_.values.erase(taint);
  }

  void remember_taint(const BareTaint& taint, std::string_view value) {
    if (!contains(holds_.before.taints, taint)) holds_.before.taints.push_back(taint);
    if (!value.empty()) holds_.values[taint] = value;
  }

  void put_taints(const std::vector<BareTaint>& wanted, Found found) {
    bool complete = true;
    for (const BareTaint& taint : wanted) {
      const kube::Taint* const there = find(taints(), taint);
      // Neither careen nor its predecessor puts a value there: it belongs to somebody else, whenever it came.
      const bool valued = there && !there->value.empty();
      if (valued || (there && !held(old_, taint) && found == Found::foreign)) {
        remember_taint(taint, there->value.view());
      }
      if (there && !valued) continue;
      if (!there) forget_taint(taint);
      complete = false;
    }
    if (complete) return;
    std::vector<kube::Taint> list;
    for (const BareTaint& taint : wanted) list.push_back(without_value(taint));
    for (const kube::Taint& other : node_.taints) {
      const bool in_front =
          std::any_of(wanted.begin(), wanted.end(), [&](const BareTaint& taint) { return is(other, taint); });
      if (!in_front) list.push_back(other);
    }
    change_.taints = std::move(list);
  }

  // As it is, with its time, unless it has a value.
  kube::Taint without_value(const BareTaint& taint) const {
    const kube::Taint* const there = find(node_.taints, taint);
    if (there && there->value.empty()) return *there;
    return {atoms_.intern(taint.key), {}, atoms_.intern(taint.effect), {}};
  }

  void undo_taints() {
    std::vector<kube::Taint> list = taints();
    for (const auto& [owner, hold] : old_.by_owner) {
      for (const BareTaint& taint : hold.items.taints) {
        if (held(holds_, taint)) continue;
        // One with a value is not the one that was put there.
        if (!contains(holds_.before.taints, taint)) {
          std::erase_if(list, [&](const kube::Taint& other) { return is(other, taint) && other.value.empty(); });
        }
        give_value_back(list, taint);
        ended_.push_back(taint);
      }
    }
    for (const BareTaint& taint : ended_) forget_taint(taint);
    if (list != taints()) change_.taints = std::move(list);
  }

  // With another value it is somebody else's by now.
  void give_value_back(std::vector<kube::Taint>& list, const BareTaint& taint) {
    const auto value = holds_.values.find(taint);
    if (value == holds_.values.end()) return;
    for (kube::Taint& other : list) {
      if (is(other, taint) && other.value.empty()) other.value = atoms_.intern(value->second);
    }
  }

  // The label's text; nullopt when absent.
  std::optional<std::string_view> label(const std::string& key) const {
    const kube::Atom* const value = node_.label(key);
    return value ? std::optional(value->view()) : std::nullopt;
  }

  // All holders of a label hold it with the same value.
  void put_label(const std::string& key, const std::string& value, Found found) {
    const auto there = label(key);
    const bool known = held(old_, key);
    if (there == value && known) return;
    if (!there) {
      holds_.before.labels.erase(key);
    } else if (known || found == Found::foreign) {
      holds_.before.labels[key] = *there;
    }
    if (there != value) change_.labels[key] = value;
  }

  void undo_label(const std::string& key, const std::string& value) {
    if (held(holds_, key)) return;
    const auto before = holds_.before.labels.find(key);
    const bool restored = before != holds_.before.labels.end();
    // With another value it is somebody else's by now.
    if (label(key) == value && !restored) change_.labels[key] = std::nullopt;
    if (label(key) == value && restored && before->second != value) change_.labels[key] = before->second;
    if (restored) holds_.before.labels.erase(before);
  }

  const kube::Node& node_;
  kube::AtomPool& atoms_;
  Holds old_;
  Holds holds_;
  std::vector<BareTaint> ended_;
  NodeChange change_;
};

}  // namespace

const Items& may_hold(std::string_view owner) {
  static const Items nothing;
  for (const OwnerKind& kind : owner_kinds()) {
    if (owner.starts_with(kind.prefix)) return kind.items;
  }
  return nothing;
}

io::Result<Holds> Holds::parse(std::string_view text) {
  if (text.size() > kMostBytes) {
    return io::fail(io::ErrorKind::invalid, fmt::format("it is longer than {} bytes", kMostBytes));
  }
  const auto json = Json::parse(text);
  if (!json) return tl::make_unexpected(json.error());
  if (!json->view().is_object()) return io::fail(io::ErrorKind::invalid, "it is no JSON object");
  const JsonView owners = (*json)["holds"];
  if (!owners.is_object()) return io::fail(io::ErrorKind::invalid, "\"holds\" is missing, or no JSON object");
  Holds holds;
  if (owners.size() > kMostOwners) {
    return io::fail(io::ErrorKind::invalid, fmt::format("\"holds\" has more than {} owners", kMostOwners));
  }
  owners.for_each_member([&](std::string_view owner, JsonView view) {
    if (!view.is_object() || !is_owner(owner)) return;
    if (!is_known(owner)) {
      std::string said = view.dump();
      if (said.size() <= kLongestUnknown) holds.unknown.emplace(owner, std::move(said));
      return;
    }
    Hold hold;
    const std::string_view id = view["id"].text().value_or("");
    if (is_printable(id, kLongestId)) hold.id = id;
    hold.since = io::parse_rfc3339(view["since"].text().value_or("")).value_or(io::Wall{});
    hold.items = within(items_from(view), may_hold(owner));
    hold.begun = view["begun"].boolean().value_or(false);
    holds.by_owner.emplace(owner, std::move(hold));
  });
  holds.before = before_from(items_from((*json)["before"]));
  holds.values = values_from((*json)["before"], holds.before.taints);
  return holds;
}

std::string Holds::text() const {
  Json json = Json::object({{"holds", Json::object()}});
  for (const auto& [owner, hold] : by_owner) {
    Json one = Json::object();
    if (!hold.id.empty()) one.set({"id"}, hold.id);
    one.set({"since"}, io::format_rfc3339(hold.since));
    put_items(hold.items, one);
    if (hold.begun) one.set({"begun"}, true);
    json.set({"holds", owner}, std::move(one));
  }
  for (const auto& [owner, said] : unknown) json.set({"holds", owner}, Json::parse(said).value_or(Json::object()));
  if (!is_empty(before)) {
    Json items = Json::object();
    put_items(before, items, values);
    json.set({"before"}, std::move(items));
  }
  return json.dump();
}

Holds holds_of(const kube::Node& node, std::string* unreadable) {
  if (unreadable) unreadable->clear();
  const std::string* const text = node.annotation(kHoldsAnnotation);
  if (!text) return {};
  auto holds = Holds::parse(*text);
  if (holds) return std::move(*holds);
  if (unreadable) *unreadable = holds.error().message;
  return {};
}

std::string NodeChange::merge_patch(uint64_t version) const {
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(version));
  const auto text_or_null = [](const std::optional<std::string>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  for (const auto& [key, value] : labels) patch.set({"metadata", "labels", key}, text_or_null(value));
  for (const auto& [key, value] : annotations) patch.set({"metadata", "annotations", key}, text_or_null(value));
  if (unschedulable) patch.set({"spec", "unschedulable"}, *unschedulable ? Json(true) : Json(nullptr));
  if (taints) {
    Json list;  // null when there are none left
    for (const kube::Taint& taint : *taints) {
      Json one = Json::object({{"key", taint.key.view()}, {"effect", taint.effect.view()}});
      if (!taint.value.empty()) one.set({"value"}, taint.value.view());
      if (!taint.time_added.empty()) one.set({"timeAdded"}, taint.time_added.view());
      list.push_back(std::move(one));
    }
    patch.set({"spec", "taints"}, std::move(list));
  }
  return patch.dump();
}

NodeChange hold(const kube::Node& node, const std::string& owner, Hold wanted, kube::AtomPool& atoms, Found found) {
  if (!is_known(owner) || !is_owner(owner)) return {};
  wanted.items = within(std::move(wanted.items), may_hold(owner));
  Settlement settlement(node, atoms);
  const auto known = settlement.old().by_owner.find(owner);
  // A record that has no room left was not written by careen: it starts from scratch.
  if (known == settlement.old().by_owner.end() && settlement.old().owners() >= Holds::kMostOwners) {
    settlement.holds().by_owner.clear();
    settlement.holds().unknown.clear();
  }
  // Of the same maintenance, it has been held all along.
  if (known != settlement.old().by_owner.end() && known->second.id == wanted.id) wanted.since = known->second.since;
  settlement.holds().by_owner[owner] = wanted;
  settlement.put(wanted.items, found);
  settlement.undo();
  return settlement.finish();
}

NodeChange release(const kube::Node& node, const std::string& owner, kube::AtomPool& atoms, EarlierCordon cordon) {
  Settlement settlement(node, atoms);
  const auto known = settlement.holds().by_owner.find(owner);
  if (known == settlement.holds().by_owner.end()) return {};
  settlement.holds().by_owner.erase(known);
  if (cordon == EarlierCordon::ends) settlement.forget_earlier_cordon();
  settlement.undo();
  return settlement.finish();
}

NodeChange abandon(const kube::Node& node, const std::string& owner, kube::AtomPool& atoms) {
  Settlement settlement(node, atoms);
  Holds& holds = settlement.holds();
  const auto known = holds.by_owner.find(owner);
  if (known == holds.by_owner.end()) return {};
  if (known->second.items.cordon && node.unschedulable) holds.before.cordon = true;
  for (const BareTaint& taint : known->second.items.taints) {
    if (!contains(holds.before.taints, taint)) holds.before.taints.push_back(taint);
  }
  for (const auto& [key, value] : known->second.items.labels) holds.before.labels[key] = value;
  holds.by_owner.erase(known);
  settlement.undo();
  return settlement.finish();
}

NodeChange uncordon(const kube::Node& node, std::string_view owner_prefix, kube::AtomPool& atoms) {
  Settlement settlement(node, atoms);
  auto& owners = settlement.holds().by_owner;
  for (auto it = owners.begin(); it != owners.end();) {
    if (it->first.starts_with(owner_prefix)) it->second.items.cordon = false;
    it = it->first.starts_with(owner_prefix) && is_empty(it->second.items) ? owners.erase(it) : std::next(it);
  }
  settlement.set_schedulable();
  return settlement.finish();
}

}  // namespace careen::drain
