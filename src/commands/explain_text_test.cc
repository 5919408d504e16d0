#include "commands/explain_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/test_screen.h"
#include "commands/test_documents.h"

namespace careen::app {
namespace {

std::string page(std::string_view story, const Screen& on) {
  std::string out;
  for (const Line& line : explain_lines(parsed(story).view(), on)) out += line.text() + "\n";
  return out;
}

TEST(ExplainText, At80Columns) {
  EXPECT_EQ(page(kStory, screen(80)), R"(node/node-17  ready, cordoned
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

limits over all actors
  ✗ profile os-update waits for place 2 in limit workers (1 of 1: 1 kubectl on
    node-8 since 3 h)
  · limit workers: 1 of 40 nodes may be out, 1 is
  └─ · 1 kubectl on node-8 for 3h

notifications that are not sent yet
  ! mail of profile os-update, due 2026-03-02T09:59:00Z (60s ago), 2 attempts:
    connection refused

recently
  2026-03-02T08:00:00Z  os-update: operational to maintenance-required
)");
}

TEST(ExplainText, At120ColumnsNothingIsBroken) {
  const std::string text = page(kStory, screen(120));
  EXPECT_NE(text.find("(30m ago): cordon, 1 taint\n"), std::string::npos) << text;
  EXPECT_NE(text.find("which is a text that is long enough to need two\n"), std::string::npos) << text;
}

TEST(ExplainText, NoLineIsWiderThanTheScreen) {
  for (const size_t width : {50u, 60u, 80u, 120u, 200u}) {
    for (const Line& line : explain_lines(parsed(kStory).view(), screen(width))) {
      EXPECT_LE(line.width(), width) << line.text();
    }
  }
}

TEST(ExplainText, InAscii) {
  const std::string text = page(kStory, screen(80, 24, false));
  EXPECT_EQ(std::count_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > 127; }), 0);
  EXPECT_NE(text.find("    `- + any of\n       |- x night: it is day\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  x -> in-maintenance if few"), std::string::npos) << text;
}

TEST(ExplainText, OnlyTheLeafThatDecidesIsHighlighted) {
  const std::string text = page(kStory, screen(200, 24, true, true));
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
  EXPECT_NE(text.find("reason      a\uFFFD[2Jb\uFFFDc d\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace careen::app
