// Holds on a node with any annotation. Lines: "a" and the annotation, "t" with key, effect and value of a taint of the
// node, "u" for a cordoned one, "l" with key and value of a label of it; "o" the owner, "C", "T" and "L" what the owner
// wants to hold. What is read is the same after it was written; holding and releasing loses nothing that others put
// there, is done once, and leaves a node that nobody held as it was. Whatever the annotation claims, no taint and no
// label is changed but the few that are careen's.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "drain/holds.h"
#include "kube/json.h"
#include "kube/names.h"

namespace {

using namespace careen;
using drain::BareTaint;
using drain::Holds;
using drain::NodeChange;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "holds fuzz: %s\n", what);
  std::abort();
}

std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

template <class Value>
const Value* find(const std::vector<std::pair<kube::Atom, Value>>& pairs, std::string_view key) {
  for (const auto& [k, value] : pairs) {
    if (k == key) return &value;
  }
  return nullptr;
}

template <class Value>
void set(std::vector<std::pair<kube::Atom, Value>>& pairs, kube::Atom key, std::optional<Value> value) {
  std::erase_if(pairs, [&](const auto& one) { return one.first == key; });
  if (value) pairs.emplace_back(std::move(key), std::move(*value));
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first.view() < b.first.view(); });
}

struct Story {
  kube::AtomPool& atoms;
  kube::Node node = {};
  std::string owner = "terminal/me";
  drain::Hold wanted = {};

  // The API server keeps no two taints of one key and effect, and no value that a label could not have.
  void add_taint(std::string_view line) {
    const auto key = atoms.intern(cut(line, ' ')), effect = atoms.intern(cut(line, ' ')), value = atoms.intern(line);
    if (!kube::label_value_errors(line).empty()) return;
    std::erase_if(node.taints, [&](const kube::Taint& one) { return one.key == key && one.effect == effect; });
    node.taints.push_back({key, value, effect, {}});
  }

  void read(std::string_view line) {
    const std::string_view kind = cut(line, ' ');
    // Neither names nor effects have one.
    if (kind != "a" && line.find(':') != std::string_view::npos) return;
    if (kind == "a") set<std::string>(node.annotations, atoms.intern(drain::kHoldsAnnotation), std::string(line));
    if (kind == "u") node.unschedulable = true;
    if (kind == "t") add_taint(line);
    if (kind == "l") {
      const auto key = atoms.intern(cut(line, ' '));
      // The API server has no other.
      if (kube::label_value_errors(line).empty()) set<kube::Atom>(node.labels, key, atoms.intern(line));
    }
    if (kind == "o") owner = line;
    if (kind == "C") wanted.items.cordon = true;
    if (kind == "T") {
      const std::string_view key = cut(line, ' ');
      wanted.items.taints.push_back({std::string(key), std::string(line)});
    }
    if (kind == "L") {
      const std::string_view key = cut(line, ' ');
      wanted.items.labels[std::string(key)] = line;
    }
  }

  kube::Node after(const NodeChange& change) const {
    kube::Node out = node;
    if (change.unschedulable) out.unschedulable = *change.unschedulable;
    if (change.taints) out.taints = *change.taints;
    for (const auto& [key, value] : change.labels) {
      set<kube::Atom>(out.labels, atoms.intern(key), value ? std::optional(atoms.intern(*value)) : std::nullopt);
    }
    for (const auto& [key, value] : change.annotations) set<std::string>(out.annotations, atoms.intern(key), value);
    return out;
  }
};

bool concerns(const std::vector<BareTaint>& taints, const kube::Taint& taint) {
  return std::any_of(taints.begin(), taints.end(), [&](const BareTaint& bare) {
    return taint.key == std::string_view(bare.key) && taint.effect == std::string_view(bare.effect);
  });
}

// Written down once more, so that a careless entry in the code's own table is found.
bool is_careens(const kube::Taint& taint) {
  return taint.effect == std::string_view("NoSchedule") &&
         (taint.key == std::string_view("node.kubernetes.io/unschedulable") ||
          taint.key == std::string_view("medik8s.io/drain"));
}
bool is_careens(const kube::Atom& label) {
  return label == std::string_view("remediation.medik8s.io/exclude-from-remediation");
}

// It has no holder, or it has a value, which no hold has.
bool is_foreign(const Holds& holds, const kube::Taint& taint) {
  if (!taint.value.empty()) return true;
  return std::none_of(holds.by_owner.begin(), holds.by_owner.end(),
                      [&](const auto& entry) { return concerns(entry.second.items.taints, taint); });
}

void expect_foreign_kept(const kube::Node& before, const kube::Node& after) {
  const Holds holds = drain::holds_of(before);
  for (const kube::Taint& taint : before.taints) {
    if (!is_foreign(holds, taint)) continue;
    // The bare one may stand for it, or it has got its value back.
    const auto stands_for_it = [&](const kube::Taint& one) {
      return one == taint || (is_careens(taint) && one.key == taint.key && one.effect == taint.effect);
    };
    expect(std::count_if(after.taints.begin(), after.taints.end(), stands_for_it) == 1,
           "a taint of somebody else is lost");
  }
  for (const auto& [key, value] : before.labels) {
    const bool held = std::any_of(
        holds.by_owner.begin(), holds.by_owner.end(),
        [&, k = std::string(key.view())](const auto& entry) { return entry.second.items.labels.contains(k); });
    if (!held) expect(find(after.labels, key.view()) != nullptr, "a label of somebody else is lost");
  }
}

void expect_only_careens_changed(const kube::Node& before, const kube::Node& after) {
  const auto foreign = [](const kube::Node& node) {
    std::pair out{node.taints, node.labels};
    std::erase_if(out.first, [](const kube::Taint& taint) { return is_careens(taint); });
    std::erase_if(out.second, [](const auto& label) { return is_careens(label.first); });
    return out;
  };
  expect(foreign(before) == foreign(after), "a taint or label that is not careen's has changed");
}

void expect_others_kept(const Holds& before, const Holds& after, const std::string& owner) {
  if (before.owners() >= Holds::kMostOwners && after.owners() <= 1) return;  // it had no room
  expect(before.unknown == after.unknown, "an owner of another version has changed");
  for (const auto& [name, hold] : before.by_owner) {
    if (name == owner) continue;
    const auto found = after.by_owner.find(name);
    expect(found != after.by_owner.end() && found->second == hold, "another owner's hold has changed");
  }
}

void expect_patch(const NodeChange& change) {
  expect(kube::Json::parse(change.merge_patch(7)).has_value(), "the patch is no JSON");
}

void expect_held(const kube::Node& node, const drain::Items& items) {
  if (items.cordon) expect(node.unschedulable, "it is not cordoned");
  for (const BareTaint& taint : items.taints) {
    const auto is = [&](const kube::Taint& one) { return concerns({taint}, one); };
    expect(std::count_if(node.taints.begin(), node.taints.end(), is) == 1, "a taint is not there once");
    const auto is_valued = [&](const kube::Taint& one) { return concerns({taint}, one) && !one.value.empty(); };
    expect(std::none_of(node.taints.begin(), node.taints.end(), is_valued), "a taint that is held has a value");
  }
  for (const auto& [key, value] : items.labels) expect(find(node.labels, key) != nullptr, "a label is not there");
}

bool same(std::vector<kube::Taint> a, const std::vector<kube::Taint>& b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

void expect_as_it_was(const kube::Node& before, const kube::Node& after) {
  expect(before.unschedulable == after.unschedulable, "the cordon is another than before");
  expect(same(before.taints, after.taints), "the taints are others than before");
  expect(before.labels == after.labels, "the labels are others than before");
}

// Whether hold() heeds the owner at all.
bool can_hold(const std::string& owner) {
  Holds holds;
  holds.by_owner[owner] = {};
  return Holds::parse(holds.text())->by_owner.contains(owner);
}

// Of what is wanted, as far as this kind of owner holds it.
drain::Items allowed(drain::Items items, const drain::Items& most) {
  items.cordon &= most.cordon;
  std::erase_if(items.taints, [&](const BareTaint& taint) {
    return std::find(most.taints.begin(), most.taints.end(), taint) == most.taints.end();
  });
  std::erase_if(items.labels, [&](const auto& label) {
    const auto found = most.labels.find(label.first);
    return found == most.labels.end() || found->second != label.second;
  });
  return items;
}

void expect_text_round_trip(std::string_view text) {
  const auto holds = Holds::parse(text);
  if (!holds) return expect(!holds.error().message.empty(), "refused without a message");
  const auto again = Holds::parse(holds->text());
  expect(again.has_value(), "what was written cannot be read");
  expect(*again == *holds, "writing changed the holds");
  expect(again->text() == holds->text(), "writing is not stable");
  expect(holds->text().size() <= Holds::kMostBytes, "what was written is too long to be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  // Names of the API are UTF-8; the annotation is what anybody may write.
  if (!kube::Json::parse(kube::Json(text).dump())) return 0;
  kube::AtomPool atoms;
  Story story{atoms};
  while (!text.empty()) story.read(cut(text, '\n'));
  const kube::Node original = story.node;
  const std::string* const annotation = original.annotation(drain::kHoldsAnnotation);
  if (annotation) expect_text_round_trip(*annotation);
  const Holds old = drain::holds_of(original);

  const NodeChange uncordoned = drain::uncordon(original, story.owner, atoms);
  expect_patch(uncordoned);
  expect_only_careens_changed(original, story.after(uncordoned));
  expect_foreign_kept(original, story.after(uncordoned));

  const NodeChange let_go = drain::release(original, story.owner, atoms);
  expect_patch(let_go);
  expect_only_careens_changed(original, story.after(let_go));
  expect_foreign_kept(original, story.after(let_go));
  expect_others_kept(old, drain::holds_of(story.after(let_go)), story.owner);

  const NodeChange held = drain::hold(original, story.owner, story.wanted, atoms);
  if (!can_hold(story.owner)) return expect(held.empty(), "one who cannot hold it holds the node"), 0;
  expect_patch(held);
  story.node = story.after(held);
  expect_only_careens_changed(original, story.node);
  expect_foreign_kept(original, story.node);
  expect_held(story.node, allowed(story.wanted.items, drain::may_hold(story.owner)));
  expect_others_kept(old, drain::holds_of(story.node), story.owner);
  expect(drain::hold(story.node, story.owner, story.wanted, atoms).empty(), "what is held is held once more");

  story.node = story.after(drain::release(story.node, story.owner, atoms));
  expect_only_careens_changed(original, story.node);
  expect_foreign_kept(original, story.node);
  expect(!drain::holds_of(story.node).by_owner.contains(story.owner), "the owner holds on");
  expect_others_kept(old, drain::holds_of(story.node), story.owner);
  expect(drain::release(story.node, story.owner, atoms).empty(), "what was released is released once more");
  if (old.owners() == 0) expect_as_it_was(original, story.node);
  return 0;
}
