// What perturbations do to the stage.
#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/names.h"
#include "stage.h"
#include "write_faults.h"

namespace careen::explore {

using io::seconds;
using kube::Json;

namespace {

// After these careen may act later, or on older facts, than it would otherwise.
bool blurs_view(Action action) {
  return action <= Action::isolate || (action > Action::break_config && action < Action::outside_refuses) ||
         action == Action::usurp || (action >= Action::forbid && action < Action::forge_holds);
}

// After these careen's caches may be behind.
bool keeps_news_away(Action action) {
  return action == Action::suspend || action == Action::isolate || action == Action::usurp ||
         (action >= Action::delay_streams && action <= Action::compact);
}

}  // namespace

void Stage::strike(const Perturbation& what, Hit hit) {
  coverage.hit(what.action, hit.place);
  note(fmt::format("PERTURBATION {}", what.text()));
  lasts(io::Duration{0});
  if (blurs_view(what.action)) invariants.disturbed(what.span + what.delay);
  if (what.action >= Action::crash && what.action <= Action::isolate) invariants.repeats_are_fine();
  if (keeps_news_away(what.action)) see_nothing_new(what.span + what.delay);
  if (what.action <= Action::slow_answer) return strike_write(what, *hit.treatment);
  if (what.action <= Action::isolate) return strike_process(what, hit);
  if (what.action <= Action::delete_node) {
    std::string node = case_.campaign.nodes[what.choice % case_.campaign.nodes.size()].name;
    if (hit.sending && hit.sending->request.path.starts_with("/api/v1/nodes/")) {
      const std::string path = hit.sending->request.path.substr(0, hit.sending->request.path.find('?'));
      node = path.substr(path.rfind('/') + 1);
    }
    // Observers of a change must not make another: after a write it has to wait for a moment.
    if (hit.treatment || !hit.sending) return strike_node(what, node);
    agenda_.soon([this, &what, node] { strike_node(what, node); });
    return;
  }
  if (what.action == Action::usurp) return usurp(what, hit);
  if (what.action == Action::pause) {
    if (!hit.sending) return strike_pause(what);
    agenda_.soon([this, &what] { strike_pause(what); });
    return;
  }
  if (what.action == Action::lose_webhook) return lose_webhook(what);
  if (what.action == Action::step_clock) {
    agenda_.soon([this, &what, replica = hit.replica] { step_clock(what, *replica); });
    return;
  }
  if (what.action >= Action::forge_holds) {
    agenda_.soon([this, &what] { forge(what); });
    return;
  }
  if (what.action >= Action::forbid) return strike_sticky(what);
  if (what.action > Action::usurp) return strike_drain(what, hit);
  const auto rest = [this, &what] { what.action <= Action::break_config ? strike_config(what) : strike_server(what); };
  if (hit.treatment || !hit.sending) return rest();
  agenda_.soon(rest);
}

void Stage::strike_write(const Perturbation& what, sim::Treatment& treatment) {
  lasts(what.span + seconds{15});
  // A write that arrives after careen has looked, and found that it had not, shows only by its effect.
  if (what.action == Action::slow || what.action == Action::hold) invariants.events_are_lost();
  harm(treatment, what);
}

void Stage::strike_process(const Perturbation& what, const Hit& hit) {
  Replica& replica = *hit.replica;
  if (!replica.process || replica.dying || replica.suspended) return;
  if (hit.treatment && (what.action == Action::crash || what.action == Action::suspend)) {
    lasts(part_with(*hit.treatment, what));
  }
  switch (what.action) {
    case Action::crash:
      return crash(replica, what.span);
    case Action::suspend: {
      replica.suspended = true;
      replica.process->suspend();
      lasts(what.span);
      later(what.span, [this, &replica, name = replica.name] {
        if (replica.name != name || !replica.process || replica.dying) return;
        note(fmt::format("{} wakes up", name));
        replica.suspended = false;
        replica.process->resume();
      });
      return;
    }
    case Action::stop:
      agenda_.soon([&replica] {
        if (replica.process && !replica.dying) replica.process->stop();
      });
      return lasts(seconds{30});
    default:
      replica.isolated_until = time.now() + what.span;
      return blind(replica, what.span);
  }
}

void Stage::blind(const Replica& replica, io::Duration span) {
  lasts(span);
  for (const char* connection : {"", "/lease"}) {
    cluster->network.set_blind(replica.name + connection, true);
    later(span, [this, client = replica.name + connection] { cluster->network.set_blind(client, false); });
  }
}

// Another replica takes the lock at once while its holder still believes in it.
void Stage::usurp(const Perturbation& what, const Hit& hit) {
  hit.treatment->before = what.delay / 30;
  blind(*hit.replica, what.span);
  Json patch = Json::object();
  patch.set({"spec", "holderIdentity"}, "");
  invariants.lock_tampered();
  lasts(seconds{30});
  cluster->api.merge(kLockPath, patch, "people");
}

void Stage::strike_node(const Perturbation& what, const std::string& node) {
  const auto give_back = [this, node](const std::string& key) {
    const auto& labels = wanted_[node];
    const auto wanted = labels.find(key);
    set(node, "labels", key, wanted == labels.end() ? Json() : Json(wanted->second));
  };
  const std::string number = std::to_string(what.choice % 1000);
  switch (what.action) {
    case Action::edit_foreign_label:
      return set(node, "labels", "foreign.example/label", number);
    case Action::edit_foreign_annotation:
      return set(node, "annotations", "foreign.example/annotation", number);
    case Action::add_taint:
      return append(node, "spec", "taints",
                    Json::object({{"key", "foreign.example/" + number},
                                  {"effect", case_.campaign.drains ? "PreferNoSchedule" : "NoExecute"}}));
    case Action::add_finalizer:
      return append(node, "metadata", "finalizers", "foreign.example/" + number);
    case Action::edit_state_label: {
      const Json values[] = {Json("operational"), Json("in-maintenance"), Json(), Json("broken")};
      return set(node, "labels", profiles::kStateLabel, values[what.choice % 4]);
    }
    case Action::remove_data:
      return set(node, "annotations", profiles::kDataAnnotation, nullptr);
    case Action::damage_data:
      set(node, "annotations", profiles::kDataAnnotation, "{\"profiles\": [");
      lasts(what.span + seconds{40});  // and until what failed because of it is tried again
      return later(what.span, [this, node] {
        const sim::Text text = cluster->api.text(node_path(node));
        if (text && !NodeFacts::read(*text).data) set(node, "annotations", profiles::kDataAnnotation, nullptr);
      });
    case Action::call_off:
      for (const Plan& plan : settings_.plans) set(node, "labels", plan.go(), nullptr);
      lasts(what.span);
      return later(what.span, [this, give_back] {
        for (const Plan& plan : settings_.plans) give_back(plan.go());
      });
    case Action::change_profile:
      set(node, "labels", profiles::kProfileLabel, "other");
      lasts(what.span);
      return later(what.span, [give_back] { give_back(std::string(profiles::kProfileLabel)); });
    case Action::change_zone:
      return set(node, "labels", kZone, fmt::format("z{}", 1 + what.choice % 3));
    case Action::ask_again:
      for (const Plan& plan : settings_.plans) set(node, "labels", plan.done(), nullptr);
      return;
    case Action::break_condition:
      set_condition(node, "False");
      lasts(what.span);
      return later(what.span, [this, node] { set_condition(node, "True"); });
    case Action::freeze:
      set(node, "labels", kFreeze, "yes");
      lasts(what.span);
      return later(what.span, [this, node] { set(node, "labels", kFreeze, nullptr); });
    case Action::drop_version: {
      const std::string shown(cluster->api.object(node_path(node))["metadata"]["labels"][kVersion].text().value_or(""));
      if (shown.empty()) return;
      set(node, "labels", kVersion, nullptr);
      lasts(what.span + kRequeue + seconds{10});
      // Unless it was made again, with its own.
      return later(what.span, [this, node, shown] {
        const Json now = cluster->api.object(node_path(node));
        if (!now["metadata"]["labels"][kVersion].text()) set(node, "labels", kVersion, shown);
      });
    }
    case Action::move_pod:
      return move_pod(node);
    default: {
      cluster->api.erase(node_path(node), "people");
      const io::Duration away = what.choice % 2 ? what.span : io::Duration{0};
      lasts(away);
      return later(away, [this, node] { make(node); });
    }
  }
}

// Whatever it shows from now on, it is off by no more than a bad one.
void Stage::step_clock(const Perturbation& what, Replica& replica) {
  const io::Duration off = clock_after(what.choice), by = off - replica.skew;
  replica.skew = off;
  // Until it has been noticed, and what was late because of it is done.
  lasts(seconds{8});
  invariants.disturbed(seconds{8});
  if (replica.process) replica.process->step_clock(by);
  invariants.clock_stepped(replica.name, off);
}

// What a kubelet may write, or whoever has its credentials.
void Stage::forge(const Perturbation& what) {
  const std::string& node = case_.campaign.nodes[what.choice % case_.campaign.nodes.size()].name;
  const Plan& plan = settings_.plans.front();
  if (!cluster->api.text(node_path(node))) return;
  lasts(io::minutes{1});
  if (what.action == Action::forge_holds) {
    // Where nobody looks after NodeMaintenances, one that never was would be believed for ever.
    const bool ghost = case_.campaign.drains && what.choice % 2;
    const std::string owner = ghost ? "nodemaintenance/ghost" : fmt::format("profile/{}/begun", plan.name);
    // What careen has written there stays: to take that away is only to forget it.
    const Json object = cluster->api.object(node_path(node));
    const auto known = Json::parse(object["metadata"]["annotations"]["careen.dev/holds"].text().value_or("{}"));
    Json record = known ? *known : Json::object();
    if (record["holds"][owner].exists()) return;
    Json hold = *Json::parse(R"({"id": "ghost", "begun": true,
      "taints": ["people.example/pool:NoSchedule", "people.example/pool:PreferNoSchedule"],
      "labels": {"topology.kubernetes.io/zone": "z9"}})");
    hold.set({"since"}, io::format_rfc3339(time.wall_now()));
    record.set({"holds", owner}, std::move(hold)).set({"before", "labels", kZone}, "z9");
    invariants.forged(node);
    return set(node, "annotations", "careen.dev/holds", record.dump());
  }
  const std::string instance = plan.tellings.empty() ? "p_tell1" : plan.tellings.front().name;
  invariants.outbox_forged(node);
  set(node, "annotations", profiles::kOutboxAnnotation,
      fmt::format(R"([{{"instance": "{}", "profile": "{}", "at": "{}", "text": "{}", "title": "{}"}}])", instance,
                  plan.name, io::format_rfc3339(time.wall_now()), kForgedText, kForgedText));
}

void Stage::append(const std::string& node, const char* parent, const char* list, Json element) {
  const Json object = cluster->api.object(node_path(node));
  if (!object.view().is_object()) return;
  Json extended(object[parent][list]);
  extended.push_back(std::move(element));
  Json patch = Json::object();
  patch.set({parent, list}, std::move(extended));
  cluster->api.merge(node_path(node), patch, "people");
}

void Stage::strike_config(const Perturbation& what) {
  const auto change = [&](int by) {
    for (Plan& plan : settings_.plans) plan.limit.max = std::max(1, plan.limit.max + by);
  };
  lasts(seconds{5});
  switch (what.action) {
    case Action::lower_limit:
      change(-1 - static_cast<int>(what.choice % 2));
      break;
    case Action::raise_limit:
      change(1 + static_cast<int>(what.choice % 2));
      break;
    case Action::shift_hours:
      for (Plan& plan : settings_.plans) {
        if (plan.hours.period > 0)
          plan.hours.shift = (plan.hours.shift + 1 + static_cast<int>(what.choice % 3)) % plan.hours.period;
      }
      break;
    case Action::change_stagger:
      for (Plan& plan : settings_.plans) {
        if (!plan.stagger) continue;
        plan.stagger->parallel = 1 + static_cast<int>(what.choice % 3);
        plan.stagger->duration = seconds{5 * (1 + static_cast<int>(what.choice / 3 % 6))};
        invariants.stagger_changed(plan.stagger->group);
      }
      break;
    default: {
      int& flag = what.action == Action::close_limit ? closed_ : what.action == Action::mute ? muted_ : broken_;
      ++flag;
      lasts(what.span + seconds{5});
      later(what.span, [this, &flag, &what] {
        --flag;
        reload(what.choice + 1);
      });
    }
  }
  reload(what.choice);
}

// Each replica sees the file change at its own time.
void Stage::reload(uint64_t choice) {
  for (size_t i = 0; i < replicas_.size(); ++i) {
    Replica& replica = *replicas_[i];
    if (i == choice % replicas_.size()) {
      write_config(replica);
    } else {
      later(seconds{3}, [this, &replica] { write_config(replica); });
    }
  }
}

void Stage::strike_server(const Perturbation& what) {
  constexpr const char* kCollections[] = {"/api/v1/nodes", "/apis/coordination.k8s.io/v1/leases", "/api/v1/pods",
                                          "/apis/policy/v1/poddisruptionbudgets", kMaintenances};
  const std::string collection = kCollections[what.choice % (case_.campaign.drains ? 5 : 2)];
  sim::Network& network = cluster->network;
  switch (what.action) {
    case Action::delay_streams:
    case Action::freeze_streams:
      network.set_weather(collection, {what.action == Action::delay_streams ? what.delay : io::Duration{0},
                                       what.action == Action::freeze_streams});
      // Then all that was kept back comes, and a watch may have to be opened again.
      lasts(what.span + what.delay);
      return later(what.span, [&network, collection] { network.set_weather(collection, {}); });
    case Action::end_streams:
    case Action::break_streams:
      return network.end_streams(what.choice % 3 ? collection : "", what.action == Action::break_streams);
    case Action::stale_reads:
      ++stale_windows_;
      stale_ = what.delay;
      lasts(what.span + what.delay);
      return later(what.span, [this] {
        if (--stale_windows_ == 0) stale_ = io::Duration{0};
      });
    case Action::outage:
    case Action::event_trouble: {
      auto& trouble = what.action == Action::outage ? outage_ : event_trouble_;
      invariants.events_are_lost();
      trouble = what.code;
      lasts(what.span + seconds{15});
      return later(what.span, [&trouble] { trouble.reset(); });
    }
    case Action::compact:
      cluster->api.compact();
      return network.end_streams();
    case Action::delete_ledger:
      invariants.ledger_deleted();
      return cluster->api.erase(kLedgerPath, "people");
    case Action::take_lock:
    case Action::empty_lock: {
      Json patch = Json::object();
      patch.set({"spec", "holderIdentity"}, what.action == Action::take_lock ? "somebody" : "");
      patch.set({"spec", "renewTime"}, io::format_micro_time(time.wall_now()));
      invariants.lock_tampered();
      lasts(seconds{30});
      return cluster->api.merge(kLockPath, patch, "people");
    }
    case Action::delete_lock:
      invariants.lock_tampered();
      lasts(seconds{30});
      return cluster->api.erase(kLockPath, "people");
    case Action::delete_lease:
    case Action::take_lease:
    case Action::end_lease:
      return strike_lease(what);
    default:
      return strike_outside(what);
  }
}

void Stage::strike_lease(const Perturbation& what) {
  std::vector<std::string> names;
  cluster->api.for_each("/apis/coordination.k8s.io/v1/leases", [&](const std::string& path, const sim::Text&) {
    if (path != kLockPath && path != kLedgerPath) names.push_back(path);
  });
  const std::string path = names.empty() ? lease_path("pace-0") : names[what.choice % names.size()];
  if (what.action == Action::delete_lease) {
    if (!names.empty()) cluster->api.erase(path, "people");
    // With its record a pause is gone too.
    if (path == lease_path("careen-pause")) paused_since_.clear();
    return;
  }
  const bool take = what.action == Action::take_lease;
  // A Slack thread has no other holder than its first message.
  if (path == lease_path(kThreadLease) && take) return;
  const std::string renewed = io::format_micro_time(time.wall_now() - (take ? seconds{0} : seconds{3600}));
  Json lease = Json::object({{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}});
  if (take) lease.set({"spec", "holderIdentity"}, "stranger");
  lease.set({"spec", "acquireTime"}, renewed).set({"spec", "renewTime"}, renewed);
  lease.set({"spec", "leaseDurationSeconds"}, std::chrono::duration_cast<seconds>(what.span).count());
  lasts(what.span + seconds{10});
  if (names.empty()) {
    cluster->api.put(path, std::move(lease), "people");
  } else {
    cluster->api.merge(path, lease, "people");
  }
}

void Stage::strike_outside(const Perturbation& what) {
  sim::Outside& outside = cluster->outside;
  // A courier that has failed pauses for up to five minutes.
  lasts(what.span + io::minutes{6});
  if (what.action == Action::raise_load) {
    outside.values[kQuery] = 9;
    return later(what.span, [&outside] { outside.values[kQuery] = 1; });
  }
  if (what.action == Action::outside_is_slow) {
    outside.latency = what.delay / 12;
    invariants.outside_slowed();
    return later(what.span, [this] { cluster->outside.latency = io::milliseconds{20}; });
  }
  if (what.action == Action::outside_loses_answers) invariants.repeats_are_fine();
  const auto mood = what.action == Action::outside_refuses ? sim::Outside::Mood::refuses
                    : what.action == Action::outside_hangs ? sim::Outside::Mood::hangs
                                                           : sim::Outside::Mood::loses_answer;
  sim::Outside::Mood* const moods[] = {&outside.slack, &outside.mail, &outside.prometheus};
  sim::Outside::Mood& struck = *moods[what.choice % 3];
  struck = mood;
  later(what.span, [&struck] { struck = sim::Outside::Mood::fine; });
}

void Stage::set_condition(const std::string& node, const char* status) {
  Json patch = Json::object();
  patch.set({"status", "conditions"}, conditions_with(status));
  cluster->api.merge(node_path(node), patch, "people");
}

void Stage::move_pod(const std::string& node) {
  if (cluster->api.text(pod_path(node))) {
    cluster->api.erase(pod_path(node), "people");
  } else {
    make_pod(node);
  }
}

void Stage::make_pod(const std::string& node) {
  Json pod = *Json::parse(R"({"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [{"name": "c", "image": "i"}],
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference":
    {"matchExpressions": [{"key": "cloud.sap/maintenance-state", "operator": "In",
    "values": ["operational"]}]}}]}}}})");
  pod.set({"spec", "nodeName"}, node);
  cluster->api.put(pod_path(node), std::move(pod), "people");
}

}  // namespace careen::explore
