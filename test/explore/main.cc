// explore: whole campaigns in virtual time, disturbed from seeds; says what broke, and how to see it again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "cases.h"
#include "mistake.h"
#include "shrink.h"

namespace careen::explore {
namespace {

struct Arguments {
  std::string seeds;
  std::optional<uint64_t> seed;
  std::vector<int> only;
  std::vector<std::string> nodes;
  bool timeline = false;
  bool systematic = false;
  bool drains = false;
  bool shrink = true;

  Family family() const { return drains ? Family::drains : Family::profiles; }
  std::string mistake;
  std::string program;
};

// Cases so far, and how fast they went.
class Tally {
 public:
  void add(const Outcome& outcome) {
    ++cases_;
    virtual_time_ += outcome.virtual_time;
    transitions_ += outcome.transitions;
    coverage_.add(outcome.coverage);
    if (seconds() - told_ < 10) return;
    told_ = seconds();
    tell();
  }
  void tell() const {
    fmt::print("{} cases in {:.1f} s: {:.1f} cases/s, {:.1f} virtual hours/s, {} transitions\n", cases_, seconds(),
               cases_ / seconds(), io::to_seconds(virtual_time_) / 3600 / seconds(), transitions_);
    std::fflush(stdout);
  }
  const Coverage& coverage() const { return coverage_; }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  double told_ = 0;
  int cases_ = 0;
  int transitions_ = 0;
  io::Duration virtual_time_{};
  Coverage coverage_;
};

void print(const Outcome& outcome) {
  for (const Violation& violation : outcome.violations) {
    fmt::print("  {:.3f}  [{}] {}\n", io::to_seconds(violation.at), violation.rule, violation.what);
  }
}

void print_perturbations(const Case& one) {
  for (const Perturbation& what : one.perturbations) fmt::print("  {}\n", what.text());
}

std::string replay(const Arguments& arguments, const Case& one) {
  std::vector<int> only;
  std::vector<std::string> nodes;
  for (const Perturbation& what : one.perturbations) only.push_back(what.index);
  for (const NodePlan& node : one.campaign.nodes) nodes.push_back(node.name);
  return fmt::format("{}{}{} --seed {} --only {} --nodes {} --timeline", arguments.program,
                     arguments.drains ? " --drains" : "",
                     arguments.mistake.empty() ? "" : " --mistake " + arguments.mistake, one.seed,
                     only.empty() ? "0" : fmt::format("{}", fmt::join(only, ",")), fmt::join(nodes, ","));
}

void report(const Arguments& arguments, const Case& one, const Outcome& outcome) {
  fmt::print("\nseed {} fails:\n", one.seed);
  print(outcome);
  fmt::print("with\n");
  print_perturbations(one);
  std::fflush(stdout);
  if (!arguments.shrink) return;
  const Shrunk shrunk = shrink(one, outcome);
  fmt::print("\nmade smaller in {} runs: {} nodes, {} perturbations\n", shrunk.runs, shrunk.one.campaign.nodes.size(),
             shrunk.one.perturbations.size());
  print_perturbations(shrunk.one);
  fmt::print("\n{}\n{}\n", shrunk.one.campaign.settings.yaml(), shrunk.outcome.timeline);
  print(shrunk.outcome);
  fmt::print("\nsee it again:\n  {}\n", replay(arguments, shrunk.one));
}

int explore_one(const Arguments& arguments, const RunOptions& options) {
  Cases cases(arguments.family());
  auto [one, undisturbed] = cases.make(*arguments.seed, arguments.nodes);
  if (!arguments.only.empty()) {
    std::erase_if(one.perturbations, [&](const Perturbation& what) {
      return std::find(arguments.only.begin(), arguments.only.end(), what.index) == arguments.only.end();
    });
  }
  print_perturbations(one);
  const Outcome outcome =
      undisturbed.failed() ? run_undisturbed(one.campaign, options) : run_case(one, undisturbed.end, options);
  if (arguments.timeline) fmt::print("{}\n{}", one.campaign.settings.yaml(), outcome.timeline);
  if (undisturbed.failed()) fmt::print("without any perturbation:\n");
  print(outcome);
  fmt::print("seed {} {}\n", *arguments.seed, outcome.failed() ? "fails" : "passes");
  return outcome.failed();
}

int explore_systematically(const Arguments& arguments, Tally& tally, const RunOptions& options) {
  const SystematicCases all = systematic_cases(arguments.family());
  for (const Outcome& outcome : all.failed) {
    fmt::print("an undisturbed small campaign fails:\n");
    print(outcome);
    return 1;
  }
  for (const Systematic& one : all.cases) {
    const Outcome outcome = run_case(one.one, one.expected, options);
    tally.add(outcome);
    if (!outcome.failed()) continue;
    fmt::print("\nsystematic case fails: {}\n", one.name);
    RunOptions again = options;
    again.timeline = true;
    fmt::print("{}\n", run_case(one.one, one.expected, again).timeline);
    print(outcome);
    return 1;
  }
  return 0;
}

int explore_seeds(const Arguments& arguments, Tally& tally, const RunOptions& options) {
  uint64_t first = 1, last = 0;
  const size_t dots = arguments.seeds.find("..");
  if (dots == std::string::npos) {
    last = std::stoull(arguments.seeds);
  } else {
    first = std::stoull(arguments.seeds.substr(0, dots));
    last = std::stoull(arguments.seeds.substr(dots + 2));
  }
  Cases cases(arguments.family());
  for (uint64_t seed = first; seed <= last; ++seed) {
    auto [one, undisturbed] = cases.make(seed);
    if (undisturbed.failed()) one.perturbations.clear();
    const Outcome outcome = undisturbed.failed() ? undisturbed : run_case(one, undisturbed.end, options);
    tally.add(outcome);
    if (!outcome.failed()) continue;
    report(arguments, one, outcome);
    return 1;
  }
  return 0;
}

int run(int argc, char** argv) {
  Arguments arguments;
  arguments.program = argv[0];
  CLI::App app(
      "Whole campaigns of careen in virtual time, disturbed from seeds; every invariant checked at every step.");
  app.add_option("--seeds", arguments.seeds, "so many seeds, or a range: 1000, 5000..5999");
  app.add_option("--seed", arguments.seed, "one seed");
  app.add_option("--only", arguments.only, "with --seed: only these perturbations (0: none)")->delimiter(',');
  app.add_option("--nodes", arguments.nodes, "with --seed: only these nodes")->delimiter(',');
  app.add_flag("--timeline", arguments.timeline, "with --seed: print all that happens");
  app.add_flag("--systematic", arguments.systematic, "a crash before and after each write of small campaigns");
  app.add_flag("--drains", arguments.drains,
               "campaigns in which nodes are drained, instead of those of profiles alone");
  app.add_flag("!--no-shrink", arguments.shrink, "do not make a failing case smaller");
  if (!mistakes().empty()) {
    app.add_option("--mistake", arguments.mistake, "which mistake careen shall make")->check(CLI::IsMember(mistakes()));
  }
  CLI11_PARSE(app, argc, argv);
  make_mistake(arguments.mistake);
  RunOptions options;
  options.timeline = arguments.timeline;
  if (arguments.seed) return explore_one(arguments, options);
  if (arguments.seeds.empty() && !arguments.systematic) {
    std::fputs("nothing to do: give --seeds, --seed or --systematic\n", stderr);
    return 2;
  }
  Tally tally;
  int failed = 0;
  options.timeline = false;
  if (arguments.systematic) failed = explore_systematically(arguments, tally, options);
  if (!failed && !arguments.seeds.empty()) failed = explore_seeds(arguments, tally, options);
  if (!failed) fmt::print("\n{}\n", tally.coverage().table());
  tally.tell();
  return failed;
}

}  // namespace
}  // namespace careen::explore

int main(int argc, char** argv) { return careen::explore::run(argc, argv); }
