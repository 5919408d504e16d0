#include "app/explain_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/terminal_table.h"
#include "app/test_screen.h"

namespace careen::app {
namespace {

std::string page(std::string_view story, const Screen& on) {
  std::string out;
  for (const std::string& line : explain_lines(parsed(story).view(), on)) out += line + "\n";
  return out;
}

constexpr std::string_view kWaiting = R"json({
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
  "pending": [{"instance": "mail", "profile": "os-update", "attempts": 2, "error": "connection refused",
    "since": "2026-03-02T09:59:00Z"}],
  "timeline": [{"time": "2026-03-02T08:00:00Z", "kind": "transition",
    "text": "os-update: operational to maintenance-required"}]
})json";

TEST(ExplainText, At80Columns) {
  EXPECT_EQ(page(kWaiting, screen(80)), R"(node/node-17  ready, cordoned
  labels      topology.kubernetes.io/zone=a
  taints      maintenance:NoSchedule
  held by     profile/os-update since 2026-03-02T09:30:00Z (30m ago): cordon, 1
              taint
! everything is paused by ana@host since 2026-03-02T09:00:00Z (60m ago): broken
  images

profile os-update: maintenance-required since 2026-03-02T08:00:00Z (120m ago)
  waits for a place in few (3 of 3 taken)
  next change 2026-03-02T14:00:00Z (in 4h)
  ✗ → in-maintenance if few && (night || urgent)
    ✗ all of
    ├─ ✗ few: 3 of 3 in zone a: node-4, node-9, node-12, which is a text that is
    │    long enough to need two
    └─ ✓ any of
       ├─ ✗ night: it is day
       └─ ✓ urgent: label urgent=yes
    then        cordon && drain

drain for profile/os-update: draining since 2026-03-02T09:55:00Z (5m ago)
  ██████████░░░░░░░░░░ 50 %, 1 of 2 pods left
  └─ ✗ shop/db-0: blocked for 4m: waiting for budget shop/db, which allows 0 of
       6 disruptions

nodemaintenance/firmware: Running, 16 %, 5 pods left
  reason      new firmware

notifications that are not sent yet
  ! mail of profile os-update, due 2026-03-02T09:59:00Z (60s ago), 2 attempts:
    connection refused

recently
  2026-03-02T08:00:00Z  os-update: operational to maintenance-required
)");
}

TEST(ExplainText, At120ColumnsNothingIsBroken) {
  const std::string text = page(kWaiting, screen(120));
  EXPECT_NE(text.find("(30m ago): cordon, 1 taint\n"), std::string::npos) << text;
  EXPECT_NE(text.find("which is a text that is long enough to need two\n"), std::string::npos) << text;
}

TEST(ExplainText, NoLineIsWiderThanTheScreen) {
  for (const size_t width : {50u, 60u, 80u, 120u, 200u}) {
    for (const std::string& line : explain_lines(parsed(kWaiting).view(), screen(width))) {
      EXPECT_LE(text_width(line), width) << line;
    }
  }
}

TEST(ExplainText, InAscii) {
  const std::string text = page(kWaiting, screen(80, 24, false));
  EXPECT_EQ(std::count_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > 127; }), 0);
  EXPECT_NE(text.find("    `- + any of\n       |- x night: it is day\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  x -> in-maintenance if few"), std::string::npos) << text;
}

TEST(ExplainText, OnlyTheLeafThatDecidesIsHighlighted) {
  const std::string text = page(kWaiting, screen(200, 24, true, true));
  EXPECT_NE(text.find("\x1b[1;31mfew: 3 of 3"), std::string::npos) << text;
  // It fails too, but what it is part of holds.
  EXPECT_EQ(text.find("\x1b[1;31mnight"), std::string::npos) << text;
}

// A negation fails because of what holds below it.
TEST(ExplainText, BelowANegationWhatHoldsIsToBlame) {
  const std::string text =
      page(R"({"time": "2026-03-02T10:00:00Z", "node": "n", "profiles": [{"name": "p", "state": "operational",
    "transitions": [{"target": "maintenance-required", "passed": false, "expression": "!busy", "triggers": "",
    "why": {"verdict": "no", "text": "not", "children": [{"verdict": "yes", "text": "busy: label busy"}]}}]}]})",
           screen(80, 24, true, true));
  EXPECT_NE(text.find("\x1b[1;31mbusy: label busy"), std::string::npos) << text;
}

TEST(ExplainText, WhatIsTrueButForbiddenIsNotShownAsPassed) {
  const std::string text =
      page(R"({"time": "2026-03-02T10:00:00Z", "node": "n", "profiles": [{"name": "p", "state": "operational",
    "transitions": [{"target": "in-maintenance", "passed": true, "blocked": "profile q is in maintenance",
    "expression": "a", "triggers": "", "why": {"verdict": "yes", "text": "a: yes"}}]}]})",
           screen(80));
  EXPECT_NE(text.find("  ✗ → in-maintenance if a\n    ✓ a: yes\n    but         profile q is in maintenance\n"),
            std::string::npos)
      << text;
}

TEST(ExplainText, ANodeWithoutProfiles) {
  EXPECT_EQ(page(R"({"time": "2026-03-02T10:00:00Z", "node": "n", "ready": false, "cordoned": false, "profiles": []})",
                 screen(80)),
            "node/n  not ready\n\nNo profile concerns this node.\n");
}

// Names and reasons come from the cluster; none of them may command the terminal.
TEST(ExplainText, ControlCharactersAreTakenOut) {
  const std::string text = page(R"({"time": "x", "node": "n", "profiles": [],
    "maintenances": [{"name": "m", "phase": "Running", "reason": "a\u001b[2Jb\u009bc\nd"}]})",
                                screen(80));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_NE(text.find("reason      a [2Jb c d\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace careen::app
