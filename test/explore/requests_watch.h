// What must hold of requests, and of whoever has a node out under the same limit: careen never adds beyond the cap, has
// no node out twice, takes back nothing that has begun, gives places in the order in which they were asked for, and
// loses none for ever. Knows what the limit says, not how careen counts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "governor_watch.h"
#include "guest.h"
#include "requests_plan.h"

namespace careen::explore {

class RequestsWatch final : public GuestWatch {
 public:
  RequestsWatch(std::shared_ptr<const RequestsPlan> plan, Report report, std::function<io::Duration()> now)
      : plan_(std::move(plan)), report_(std::move(report)), now_(std::move(now)), governors_(report_) {}

  void changed(const sim::Change& change, const Circumstances& circumstances) override;
  void evicted(const Evicted& what, const Circumstances& circumstances) override;
  void check_end() override;

 private:
  struct Request {
    std::string node, state;
    io::Duration made{};
    bool approved_by_careen = false;
    bool finished() const { return state == "Completed" || state == "Rejected"; }
    bool running() const { return state == "Approved" || state == "InProgress"; }
  };
  struct Node {
    std::string zone;
    bool in_profile = false;              // careen has let it into maintenance
    io::Duration cordoned_since = kFree;  // by others
    io::Duration unready_since = kFree;
    io::Duration required_since = kFree;                // a profile wants it
    io::Duration out_until = io::Duration::min();       // as anybody may have known
    io::Duration declared_until = io::Duration::min();  // out, by others who wrote what careen writes
    // Since others have cordoned it: evictions are refused, or were allowed, or have passed without being asked about.
    enum class Turn { none, waits, allowed, passed } turn = Turn::none;
    io::Duration waits_since = kFree, asked = kFree;
    bool of_person = false;
    std::map<std::string, io::Duration> held_for;  // requests, by careen: since when
    bool waits() const { return turn == Turn::waits; }
  };
  static constexpr io::Duration kFree = io::Duration::max();

  void request_changed(const sim::Change& change, const Circumstances& circumstances);
  void node_changed(const sim::Change& change, const Circumstances& circumstances);
  void pod_changed(const sim::Change& change);
  void follow_holds(const std::string& name, Node& node, const kube::Json& object, const Circumstances& circumstances);
  bool has_just_gone(const std::string& node, const Circumstances& circumstances) const;
  void check_drained(const std::string& request, const std::string& node, bool just_gone);
  // The nodes of its group that are out when it is, too.
  std::vector<std::string> out_with(const std::string& node, io::Duration heard_of) const;
  void check_step(const std::string& name, const std::string& from, const Request& now);
  void check_alone(const std::string& node);
  void check_cap(const std::string& added, const std::string& what, const Circumstances& circumstances);
  void check_turn(const std::string& name, const Request& approved, const Circumstances& circumstances);
  void check_turn_of_drain(const std::string& node, const Circumstances& circumstances);
  void check_allowed(const std::string& node, const Circumstances& circumstances);
  // A drain that has waited since before then, and comes before whoever is of that class.
  std::string waiting_before(const std::string& node, bool person, io::Duration since,
                             const Circumstances& circumstances) const;
  bool has_place_on_record(const std::string& request) const;
  bool is_own(const std::string& node) const;
  bool has_foreign_place(const std::string& node) const;
  std::string zone_of(const std::string& node) const;
  bool in_its_group(const std::string& node, const std::string& other) const;

  std::shared_ptr<const RequestsPlan> plan_;
  Report report_;
  std::function<io::Duration()> now_;
  GovernorWatch governors_;
  std::map<std::string, Request> requests_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, io::Duration> gone_;           // nodes: since when
  std::map<std::string, io::Duration> foreign_until_;  // by node: since when it has no place of others any more
  io::Duration zones_changed_ = io::Duration::min();
  std::optional<io::Duration> queues_;  // since when careen has on record that others have to wait
  std::string ledger_;                  // as it was last written
  std::map<std::string, std::map<std::string, io::Duration>> pods_;  // by node, and when they were made
};

}  // namespace careen::explore
