// Watches what keeps nodes out of service: cordons, the taints and the label of NodeMaintenance objects, and careen's
// record of who holds them. A reference model knows what everybody else has done to them: when nobody holds a thing any
// more, it must be as the others want it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "guest.h"
#include "io/time.h"
#include "node_facts.h"

namespace careen::explore {

// The record on a node, as it reads.
struct HoldRecord {
  std::map<std::string, std::string, std::less<>> owners;  // and the ids of what they hold for
  std::set<std::string> things;                            // that somebody holds: "cordon", key:effect, label

  static HoldRecord read(const NodeFacts& node);
};

class HoldWatch {
 public:
  explicit HoldWatch(Report report) : report_(std::move(report)) {}

  // Whether the label, annotation or taint is one that this looks after.
  static bool concerns_label(std::string_view key);
  static bool concerns_annotation(std::string_view key);
  static bool concerns_taint(std::string_view key, std::string_view effect);

  // Its record is not careen's any more: what becomes of the things it names cannot be said.
  void forged(const std::string& node, io::Steady at);
  bool is_forged(const std::string& node) const;
  void made(const std::string& node, const NodeFacts& now, io::Steady at);
  void gone(const std::string& node, io::Steady at);
  void changed_by_others(const std::string& node, const NodeFacts& before, const NodeFacts& after);
  // `uncordons`: with it a profile wants the node to be schedulable.
  void changed_by_careen(const std::string& by, const std::string& node, const NodeFacts& before,
                         const NodeFacts& after, bool uncordons, io::Steady at);

  // The transition for which the owner holds the node is no longer wanted; or it is wanted again.
  void withdrawn(const std::string& node, const std::string& owner, bool is, io::Steady at);
  // What was withdrawn is let go at once, unless something keeps careen from it.
  void check_withdrawn(io::Steady now, io::Steady calm_since);

  // Since when somebody, or this owner, holds the node.
  std::optional<io::Steady> held_since(const std::string& node, std::string_view owner_prefix = "") const;
  // All owners that hold the node now, or did until then. None when its record is not careen's own.
  std::set<std::string> holders(const std::string& node, io::Steady until) const;
  // It was held when somebody deleted it, or the record of that, which was then or later: careen may not have heard of
  // it yet.
  bool gone_while_held(const std::string& node, io::Steady since) const;
  bool holds(const std::string& node, const std::string& owner, std::string_view id) const;
  // Nothing when there is no such node.
  std::optional<io::Steady> made_at(const std::string& node) const;
  // The same of a node that careen has never held since then.
  std::optional<io::Steady> made_and_never_held(const std::string& node) const;
  // Of every node and owner.
  void for_each(const std::function<void(const std::string& node, const std::string& owner)>& visit) const;

 private:
  // A thing and its value; none when it is not there.
  using Value = std::optional<std::string>;
  struct Wanted {
    bool known = true;  // not when somebody put there what careen had put there already
    Value value;
  };
  struct Node {
    std::map<std::string, Wanted> wanted;  // by others
    HoldRecord record;
    io::Steady made{};
    bool forged = false;
    bool was_held = false;
    std::map<std::string, io::Steady, std::less<>> since;  // by owner
    std::map<std::string, io::Steady, std::less<>> ended;  // of those who hold it no more
    std::map<std::string, io::Steady, std::less<>> lost;   // the same, of a record that somebody has forged since
    std::map<std::string, io::Steady> withdrawn;           // by owner
  };
  static std::map<std::string, Value> things_of(const NodeFacts& node);
  void check(const std::string& by, const std::string& node, const std::string& thing, const Value& was,
             const Value& is, const HoldRecord& before, const HoldRecord& after);
  void note_record(Node& node, HoldRecord record, io::Steady at);

  Report report_;
  std::map<std::string, Node, std::less<>> nodes_;
  std::map<std::string, io::Steady> gone_;  // nodes that were held, and when they, or the record of that, went
};

}  // namespace careen::explore
