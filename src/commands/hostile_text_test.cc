// Whatever names, reasons and messages contain, what reaches the terminal is careen's: texts, line ends and colours.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "cli/completion.h"
#include "cli/test_screen.h"
#include "cli/yaml_text.h"
#include "commands/budget_text.h"
#include "commands/explain_text.h"
#include "commands/fleet_text.h"
#include "commands/plan_report.h"
#include "commands/status_rows.h"
#include "commands/test_documents.h"
#include "commands/view_words.h"
#include "demo/hints.h"
#include "demo/log.h"
#include "io/printable.h"
#include "kube/json_text.h"
#include "plan/plan_forms.h"
#include "session/drain_report.h"
#include "session/progress_view.h"
#include "source_dir.h"

namespace careen::app {
namespace {

using testing::HasSubstr;

// Every kind of what must not come through, between letters. It begins with a colour that careen has, too.
const std::string kEvil =
    "A\x1b[31mB\x1b]0;title\x07"
    "C\u009b2JD\bE\rF\nnode/forged drained\tG\x7fH\u202EI\u2066J\u2028K\u061CL";
// Cannot come out of JSON, but out of a file or a header.
const std::string kWorse = kEvil + "\x9b" + "1A\xff\xc0\x9b\xe2\x80";

const io::Wall kHostileTime = *io::parse_rfc3339("2026-03-02T10:00:00Z");

// What has come out, and lines that are too wide.
struct Terminal {
  explicit Terminal(bool colours, size_t width = 100)
      : screen({.out = [this](std::string_view text) { shown += text; },
                .err = [this](std::string_view text) { shown += text; },
                .size = [=] { return ScreenSize{width, 60}; },
                .live = false,
                .colours = colours,
                .err_colours = colours,
                .unicode = true}),
        has_colours(colours) {}

  // Line ends, careen's colours, and characters that are harmless.
  void expect_harmless(std::string_view of) const {
    EXPECT_THAT(shown, HasSubstr("A")) << of << " shows nothing";
    std::string text = shown;
    if (has_colours) {
      static const std::regex kColour("\x1b\\[(1|2|31|1;31|32|1;32|33|1;33|34)m([^\x1b]*)\x1b\\[0m");
      text = std::regex_replace(text, kColour, "$2");
    }
    for (std::string_view rest = text; !rest.empty();) {
      const io::Character next = io::first_character(rest);
      EXPECT_TRUE(next.harmless || next.code == '\n') << of << " shows " << io::escaped_document(rest.substr(0, 40));
      if (!next.harmless && next.code != '\n') return;
      rest.remove_prefix(next.length);
    }
    EXPECT_EQ(text.find("\nnode/forged"), std::string::npos) << of << " lets a line be forged";
  }

  std::string shown;
  Screen screen;
  bool has_colours;
};

// The document with the evil in every text: also in times, which are then none, or in all others.
kube::Json with_evil(std::string_view document, bool in_times) {
  std::string quoted;
  kube::append_json_text(quoted, kEvil);
  const std::string evil = quoted.substr(1, quoted.size() - 2);
  static const std::regex kValue("\"([^\"]*)\"(\\s*[,}\\]])");
  static const std::regex kTime("[0-9-]+T[0-9:]+Z");
  std::string out;
  const std::string text(document);
  std::sregex_iterator found(text.begin(), text.end(), kValue), end;
  size_t at = 0;
  for (; found != end; ++found) {
    const std::string value = (*found)[1];
    out += text.substr(at, static_cast<size_t>(found->position()) - at);
    out += "\"" + value + (in_times || !std::regex_match(value, kTime) ? evil : "") + "\"" + (*found)[2].str();
    at = static_cast<size_t>(found->position() + found->length());
  }
  return parsed(out + text.substr(at));
}

FleetModel evil_fleet(bool in_times) {
  FleetModel model;
  model.set(with_evil(kFleet, in_times).view());
  return model;
}

drain::Progress evil_progress(drain::Stage stage) {
  drain::Progress progress;
  progress.begun = kHostileTime - io::seconds{60};
  progress.pods_to_evict = progress.total_pods = 3;
  progress.pods = {{kEvil, kEvil, "uid", stage, progress.begun, kEvil, kEvil, kEvil}};
  return progress;
}

plan::Plan evil_plan() {
  plan::Plan plan;
  plan.from = kHostileTime;
  plan.until = kHostileTime + io::hours{24};
  plan.assumptions = plan.notes = {kEvil};
  plan.rows = {{kEvil, kEvil, kHostileTime, kHostileTime, kHostileTime + io::minutes{20}, io::seconds{90}}};
  plan.stuck = plan.left = {{kEvil, kEvil, kEvil}};
  plan.limits = {{kEvil, 0.9}};
  plan.campaigns = {{kEvil, 1, 0, 1, 1, kHostileTime, kHostileTime}};
  return plan;
}

class HostileText : public testing::TestWithParam<bool> {
 protected:
  // Runs a printer on a terminal with or without colours, and looks at what comes out.
  template <class Print>
  void check(std::string_view of, Print print) {
    Terminal terminal(GetParam());
    print(terminal.screen);
    terminal.expect_harmless(of);
  }
  template <class Lines>
  static void print(Screen& screen, const Lines& lines) {
    for (const auto& line : lines) screen.line(line);
  }
};

INSTANTIATE_TEST_SUITE_P(WithAndWithoutColours, HostileText, testing::Bool());

TEST_P(HostileText, InWhatAScreenPrints) {
  check("line", [](Screen& screen) { screen.line(kWorse); });
  check("note", [](Screen& screen) { screen.note(kWorse); });
  check("remark", [](Screen& screen) { screen.remark(kWorse); });
  check("warning", [](Screen& screen) { screen.warning(kWorse); });
  check("error", [](Screen& screen) { screen.error(kWorse); });
  check("paint", [](Screen& screen) { screen.line(screen.paint(Colour::bold_red, kWorse) + kWorse); });
  check("paint_err", [](Screen& screen) { screen.note(kWorse + screen.paint_err(Colour::bold, kWorse)); });
}

TEST_P(HostileText, InTables) {
  check("a table", [](Screen& screen) { print(screen, table_lines({"A", "B"}, {{kWorse, "x"}, {"y", kWorse}})); });
  StatusRow row{.node = kEvil, .by = kEvil, .state = kEvil, .blocked_by = kEvil, .reason = kEvil};
  row.held.taints = {{kEvil, kEvil}};
  row.held.labels = {{kEvil, kEvil}};
  for (const bool wide : {false, true}) {
    check("status", [&](Screen& screen) {
      print(screen, table_lines(status_header(wide), {status_cells(row, kHostileTime, wide)}));
    });
  }
}

TEST_P(HostileText, InTheStoryOfANode) {
  for (const bool in_times : {false, true}) {
    const kube::Json story = with_evil(kStory, in_times);
    check("explain", [&](Screen& screen) { print(screen, explain_lines(story.view(), screen)); });
  }
}

TEST_P(HostileText, InTheFleet) {
  for (const bool in_times : {false, true}) {
    const FleetModel fleet = evil_fleet(in_times);
    check("overview", [&](Screen& screen) { print(screen, overview_lines(fleet, screen, kHostileTime)); });
    check("budget", [&](Screen& screen) {
      print(screen, budget_lines(fleet["limits"], screen, kHostileTime, {}, 0));
      print(screen, budget_lines(fleet["limits"], screen, kHostileTime, {}, 60));
    });
    check("top", [&](Screen& screen) { print(screen, top_lines(fleet, screen, kHostileTime, kWorse)); });
  }
}

TEST_P(HostileText, InDrains) {
  using drain::Stage;
  for (const Stage stage : {Stage::blocked, Stage::failed, Stage::completing, Stage::terminating, Stage::evicting}) {
    const drain::Progress progress = evil_progress(stage);
    check("frame", [&](Screen& screen) { print(screen, frame({view_of(kEvil, progress, kHostileTime)}, screen)); });
    check("news", [&](Screen& screen) {
      ProgressLog log(false);
      print(screen, log.news(kEvil, progress));
      print(screen, log.news(kEvil, {}));
    });
    const DrainedNode node{kEvil, DrainEnd::failed, true, {kEvil}, progress, {}};
    check("report", [&](Screen& screen) {
      screen.note(state_text(node));
      print(screen, pods_left(node));
      print(screen, advice({node}));
    });
    check("report as JSON", [&](Screen& screen) { screen.document(drain_document({node}).dump()); });
  }
}

TEST_P(HostileText, InPlans) {
  const plan::Plan plan = evil_plan();
  check("plan", [&](Screen& screen) { print(screen, plan_lines(plan, {})); });
  check("comparison",
        [&](Screen& screen) { print(screen, comparison_lines({kWorse, plan}, {kEvil, plan::Plan{}}, {})); });
  check("plan as JSON", [&](Screen& screen) { screen.document(plan::plan_document(plan)); });
  for (const std::string& document : {plan::plan_page(plan), plan::plan_calendar(plan)}) {
    Terminal terminal(GetParam());
    terminal.screen.document(document);
    EXPECT_THAT(terminal.shown, HasSubstr("forged"));
    EXPECT_EQ(terminal.shown, io::escaped_document(terminal.shown)) << "something is left to escape";
  }
}

TEST_P(HostileText, InTheLogOfADemonstration) {
  check("demo", [](Screen& screen) {
    DemoLog log(screen, false);
    log.tell(kHostileTime, kEvil, kWorse);
    view::Timeline timeline;
    using Kind = view::Entry::Kind;
    for (const Kind kind : {Kind::transition, Kind::error, Kind::pause, Kind::drain}) {
      timeline.add({.time = kHostileTime,
                    .kind = kind,
                    .text = kEvil + std::string(view::name_of(kind)),
                    .node = kEvil,
                    .profile = kEvil,
                    .from = "operational",
                    .to = "in-maintenance"});
    }
    for (int index = 0; index < 9; ++index) {
      timeline.add({.time = kHostileTime,
                    .kind = Kind::transition,
                    .text = kEvil,
                    .node = fmt::format("{}{}", kEvil, index),
                    .from = "operational",
                    .to = "maintenance-required"});
    }
    log.show("", timeline);
    DemoPlace place;
    place.dashboard = place.kubeconfig = place.config = place.folder = place.blocked = kEvil;
    print_demo_start(screen, place);
  });
}

TEST_P(HostileText, InDocuments) {
  const kube::Json story = with_evil(kStory, false);
  check("JSON", [&](Screen& screen) { screen.document(story.dump()); });
  check("YAML", [&](Screen& screen) { screen.document(yaml_text(story.view())); });
}

// Encoded, not replaced: a program that reads it gets what was there.
TEST(HostileDocuments, MeanTheSameAsBefore) {
  const kube::Json document = kube::Json::object({{kEvil, kEvil}, {"list", kube::Json::array()}});
  Terminal json(false), yaml(false);
  json.screen.document(document.dump());
  yaml.screen.document(yaml_text(document.view()));
  EXPECT_EQ(parsed(json.shown)[kEvil].text(), kEvil);
  EXPECT_EQ(YAML::Load(yaml.shown)[kEvil].as<std::string>(), kEvil);
}

// A shell shows what can follow, and types it.
TEST(HostileNames, AreNotOfferedToAShell) {
  Completion completion;
  const std::string answer = completion_answer(completion, {"node-1", kEvil, "node\u202E", "node-2"});
  EXPECT_EQ(answer, "node-1\nnode-2\n:4\n");
}

// Every column begins where the header says, whatever the cells before it hold.
TEST(HostileCells, DoNotShiftTheTable) {
  const auto lines = table_lines({"NAME", "NEXT"}, {{"a\x1b[31m\xff\u202E"
                                                     "b",
                                                     "here"},
                                                    {"plain", "here"}});
  ASSERT_EQ(lines.size(), 3u);
  for (size_t index : {1u, 2u}) {
    const std::string shown = Line(lines[index]).text();
    EXPECT_EQ(text_width(shown.substr(0, shown.find("here"))), text_width(lines[0].substr(0, lines[0].find("NEXT"))));
  }
  const Line line("a\x1b\xff\u202E");
  EXPECT_EQ(line.width(), 4u);
  EXPECT_EQ(line.text(), "a\uFFFD\uFFFD\uFFFD");
}

// A message of several lines cannot pass for a line of careen's own.
TEST(HostileErrors, FurtherLinesAreIndented) {
  Terminal terminal(false);
  terminal.screen.error("one\ntwo\x1b\n\nthree");
  terminal.screen.warning("one\ntwo");
  EXPECT_EQ(terminal.shown, "error: one\n  two\uFFFD\n  \n  three\nWarning: one\n  two\n");
}

// What does not go through the Screen is not clean; those that are named here print no text but careen's own, or files.
TEST(OneScreen, PrintsEverything) {
  const std::regex prints(R"(fmt::print|\bprintf|fprintf|fputs|\bputs\(|fwrite|std::cout|std::cerr|std::clog)");
  const std::vector<std::string> others = {"screen.cc", "plan_files.cc", "plan_progress.h", "plugins.cc"};
  size_t seen = 0;
  for (const char* folder : {"src/cli", "src/commands", "src/demo"}) {
    for (const auto& file : std::filesystem::directory_iterator(test::source_path(folder))) {
      const std::string name = file.path().filename().string();
      if (name.ends_with("_test.cc") || std::find(others.begin(), others.end(), name) != others.end()) continue;
      std::ostringstream text;
      text << std::ifstream(file.path()).rdbuf();
      EXPECT_FALSE(std::regex_search(text.str(), prints)) << name << " prints past the Screen";
      ++seen;
    }
  }
  EXPECT_GT(seen, 50u);
}

}  // namespace
}  // namespace careen::app
