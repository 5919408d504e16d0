// scenarios: plays scenario files on the model cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "play.h"
#include "scenario_file.h"
#include "words.h"

namespace {

using careen::scenarios::Scenario;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr const char* kFooter = R"(Exit code: 0 all passed, 1 one failed, 2 a file is wrong (then nothing runs).

Example, first.yaml:

  about: A node that asks for it goes into maintenance for ten minutes.
  nodes:
    node-1..3: {profile: reboot}
  config: |
    intervals: {requeue: 60s}
    instances:
      check:
      - {name: needed, type: hasLabel, config: {key: reboot}}
      - {name: over, type: wait, config: {duration: 10m}}
      trigger:
      - {name: done, type: alterLabel, config: {key: reboot, remove: true}}
    profiles:
    - name: reboot
      operational: {transitions: [{check: needed, next: in-maintenance}]}
      in-maintenance: {transitions: [{check: over, next: operational, trigger: done}]}
  steps:
  - at: 1h
    label: {node-2: {reboot: "yes"}}
    within: 1s
    expect: {node-2: in-maintenance}
  - within: 11m
    expect: {node-2: {state: operational, labels: {reboot: null}}}
  never: more than 1 in-maintenance
  finally: {all: operational}

  scenarios first.yaml --timeline

docs/scenarios.md describes the language.)";

// Tests and people read the two streams as one.
void print(std::FILE* to, const std::string& text) {
  std::fputs(text.c_str(), to);
  std::fflush(to);
}

bool read_file(const std::string& path, std::vector<Scenario>& into) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    print(stderr, fmt::format("{}: cannot be read\n", path));
    return false;
  }
  std::ostringstream text;
  text << in.rdbuf();
  auto scenario = careen::scenarios::read_scenario(text.str(), path);
  if (!scenario) {
    print(stderr, scenario.error());
    return false;
  }
  into.push_back(std::move(*scenario));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Plays scenarios: a model cluster, careen, what happens, and what must be seen.", "scenarios");
  app.footer(kFooter);
  std::vector<std::string> files;
  bool timeline = false;
  uint64_t seed = 1;
  app.add_option("FILE", files, "scenario files")->required();
  app.add_flag("--timeline", timeline, "print what happened, also of those that pass");
  app.add_option("--seed", seed, "another order of things that happen at once (1)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }

  std::vector<Scenario> scenarios;
  bool readable = true;
  for (const std::string& file : files) readable = read_file(file, scenarios) && readable;
  if (!readable) return kUsage;

  int failed = 0;
  for (const Scenario& scenario : scenarios) {
    const auto outcome = careen::scenarios::play(scenario, seed);
    print(stdout, fmt::format("{}  {}  ({} of virtual time)\n", outcome.passed ? "ok  " : "FAIL", scenario.file,
                              careen::scenarios::format_span(outcome.length)));
    if (timeline || !outcome.passed) print(stdout, fmt::format("      {}\n", scenario.about));
    if (timeline) print(stdout, "\n" + outcome.timeline + "\n");
    if (outcome.passed) continue;
    ++failed;
    print(stdout, fmt::format("\n{}\n", outcome.failure));
  }
  if (scenarios.size() > 1)
    print(stdout, fmt::format("{} of {} passed\n", scenarios.size() - static_cast<size_t>(failed), scenarios.size()));
  return failed == 0 ? 0 : kFailed;
}
