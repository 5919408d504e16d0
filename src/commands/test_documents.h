// A Fleet and a Story (docs/api.md) that have something of everything, for tests of what is printed of them.
#pragma once

#include <string_view>

namespace careen::app {

inline constexpr std::string_view kFleet = R"({
  "time": "2026-03-02T10:00:00Z",
  "careen": {"version": "0.1.0", "identity": "careen-0_x", "leading": true, "holder": "careen-0_x", "speed": 1},
  "pauses": [{"profile": "repair", "by": "ana@host", "since": "2026-03-02T09:00:00Z"}],
  "profiles": [{"name": "os-update", "states": {"operational": 1, "maintenance-required": 1, "in-maintenance": 1}},
               {"name": "repair", "states": {"operational": 3, "maintenance-required": 0, "in-maintenance": 0}}],
  "labels": [],
  "nodes": [
    {"name": "node-1", "ready": true, "cordoned": false, "profiles": [{"name": "os-update", "state": "operational"}]},
    {"name": "node-2", "ready": true, "cordoned": true, "profiles": [{"name": "os-update", "state": "in-maintenance"}]},
    {"name": "node-3", "ready": false, "cordoned": false,
     "profiles": [{"name": "os-update", "state": "maintenance-required",
      "waits": "waits for window night", "wake": "2026-03-02T22:00:00Z"}]}],
  "budgets": [{"kind": "maxMaintenance", "name": "few", "scope": "all nodes in the cluster", "max": 1, "used": 1,
    "reserved": 0, "holders": ["node-2"], "waiting": 1}],
  "limits": {"count": 2, "groups": [
    {"limit": "workers", "values": ["eu-de-1a"], "name": "workers/eu-de-1a", "mode": "Queue", "total": 40,
     "expected": 40, "cap": 4, "used": 4, "free": 0, "missing": 0, "parallel": 4, "working": 3, "waiting": 2, "usedBy": [
       {"actor": "profile/os-update", "count": 2, "nodes": [
         {"node": "node-2", "what": "out", "since": "2026-03-02T09:30:00Z"},
         {"node": "node-3", "what": "admitted", "since": "2026-03-02T09:50:00Z"}]},
       {"actor": "karpenter", "count": 1, "nodes": [
         {"node": "node-7", "what": "taint karpenter.sh/disrupted", "since": "2026-03-02T09:48:00Z"}]},
       {"actor": "kubectl", "count": 1, "nodes": [
         {"node": "node-8", "what": "cordoned", "since": "2026-03-02T07:00:00Z"}]}], "overshoot": []},
    {"limit": "workers", "values": ["eu-de-1b"], "name": "workers/eu-de-1b", "mode": "Queue", "total": 20,
     "expected": 21, "cap": 2, "used": 3, "free": -1, "missing": 1, "parallel": 2, "working": 2, "waiting": 0, "usedBy": [
       {"actor": "kured", "count": 2, "nodes": [{"node": "node-9", "what": "rebooted"}, {"node": "node-10", "what": "rebooted"}]},
       {"actor": "missing", "count": 1, "nodes": [{"node": "node-6", "what": "deleted while it was out"}]}],
     "overshoot": [{"node": "node-9", "actor": "kured"}]}],
   "waiting": 2, "queue": [
    {"place": 1, "node": "node-4", "who": "cloud/aws", "actor": "cloud/aws", "rank": "deadline",
     "since": "2026-03-02T09:55:00Z", "limits": ["workers/eu-de-1a"], "expected": "2026-03-02T10:20:00Z"},
    {"place": 2, "node": "node-5", "who": "foreign/kubectl", "actor": "foreign/kubectl", "rank": "person",
     "since": "2026-03-02T09:15:00Z", "limits": ["workers/eu-de-1a"]}]},
  "drains": [{"node": "node-2", "owner": "profile/os-update", "phase": "draining", "percent": 50,
    "begun": "2026-03-02T09:55:00Z", "total": 4, "left": 2, "pods": [
      {"namespace": "shop", "name": "db-0", "stage": "blocked", "since": "2026-03-02T09:56:00Z",
       "reason": "waiting for budget shop/db"},
      {"namespace": "shop", "name": "db-1", "stage": "blocked", "since": "2026-03-02T09:56:00Z",
       "reason": "waiting for budget shop/db"}]}],
  "maintenances": [],
  "problems": [{"name": "watch pods", "message": "the list of pods is refused", "since": "2026-03-02T09:58:00Z"}],
  "timeline": [{"time": "2026-03-02T09:54:00Z", "kind": "transition", "text": "node-2: to in-maintenance"},
               {"time": "2026-03-02T09:59:00Z", "kind": "error", "text": "something failed"}]
})";

inline constexpr std::string_view kStory = R"json({
  "time": "2026-03-02T10:00:00Z", "node": "node-17", "uid": "u", "ready": true, "cordoned": true,
  "labels": {"topology.kubernetes.io/zone": "a"}, "taints": ["maintenance:NoSchedule"],
  "pauses": [{"by": "ana@host", "since": "2026-03-02T09:00:00Z", "reason": "broken images"}],
  "profiles": [{
    "name": "os-update", "state": "maintenance-required", "since": "2026-03-02T08:00:00Z",
    "next": "maintenance-required",
    "summary": "waits for a place in few (3 of 3 taken)", "wake": "2026-03-02T14:00:00Z",
    "transitions": [{
      "target": "in-maintenance", "passed": false, "expression": "few && (night || urgent)",
      "triggers": "cordon && drain",
      "why": {"verdict": "no", "text": "all of", "children": [
        {"verdict": "no",
         "text": "few: 3 of 3 in zone a: node-4, node-9, node-12, which is a text that is long enough to need two"},
        {"verdict": "yes", "text": "any of", "children": [
          {"verdict": "no", "text": "night: it is day"},
          {"verdict": "yes", "text": "urgent: label urgent=yes"}]}]}}]}],
  "holds": [{"owner": "profile/os-update", "since": "2026-03-02T09:30:00Z", "items": ["cordon", "1 taint"]}],
  "drains": [{"node": "node-17", "owner": "profile/os-update", "phase": "draining", "percent": 50,
    "begun": "2026-03-02T09:55:00Z", "total": 2, "left": 1,
    "pods": [{"namespace": "shop", "name": "db-0", "stage": "blocked", "since": "2026-03-02T09:56:00Z",
      "reason": "waiting for budget shop/db, which allows 0 of 6 disruptions", "budget": "shop/db"}]}],
  "maintenances": [{"name": "firmware", "node": "node-17", "reason": "new firmware", "phase": "Running",
    "percent": 16, "pending": 5}],
  "limits": [
    {"verdict": "no", "text": "profile os-update waits for place 2 in limit workers (1 of 1: 1 kubectl on node-8 since 3 h)"},
    {"verdict": "note", "text": "limit workers: 1 of 40 nodes may be out, 1 is", "children": [
      {"verdict": "note", "text": "1 kubectl on node-8 for 3h"}]}],
  "pending": [{"instance": "mail", "profile": "os-update", "attempts": 2, "error": "connection refused",
    "since": "2026-03-02T09:59:00Z"}],
  "timeline": [{"time": "2026-03-02T08:00:00Z", "kind": "transition",
    "text": "os-update: operational to maintenance-required"}]
})json";

}  // namespace careen::app
