// explore: whole campaigns in virtual time, disturbed from seeds; says what broke, and how to see it again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cases.h"
#include "io/random.h"
#include "mistake.h"
#include "shrink.h"
#include "workers.h"

namespace careen::explore {
namespace {

struct Arguments {
  std::string seeds;
  uint64_t fresh = 0;
  std::optional<uint64_t> seed;
  std::vector<int> only;
  std::vector<std::string> nodes;
  bool timeline = false;
  bool systematic = false;
  bool drains = false;
  bool requests = false;
  bool machines = false;
  bool shrink = true;
  bool keep_going = false;
  int jobs = 1;

  Family family() const {
    if (machines) return Family::machines;
    return drains ? Family::drains : requests ? Family::requests : Family::profiles;
  }
  const char* family_flag() const {
    if (machines) return " --machines";
    return drains ? " --drains" : requests ? " --requests" : "";
  }
  std::string mistake;
  std::string program;
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
  return fmt::format("{}{}{} --seed {} --only {} --nodes {} --timeline", arguments.program, arguments.family_flag(),
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
  fmt::print("\n{}\n{}\n", shrunk.one.campaign.text(), shrunk.outcome.timeline);
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
  if (arguments.timeline) fmt::print("{}\n{}", one.campaign.text(), outcome.timeline);
  if (undisturbed.failed()) fmt::print("without any perturbation:\n");
  print(outcome);
  fmt::print("seed {} {}\n", *arguments.seed, outcome.failed() ? "fails" : "passes");
  return outcome.failed();
}

int explore_systematically(const Arguments& arguments, Tally& tally) {
  const SystematicCases all = systematic_cases(arguments.family());
  for (const Outcome& outcome : all.failed) {
    fmt::print("an undisturbed small campaign fails:\n");
    print(outcome);
    return 1;
  }
  const auto failing = first_failing(all.cases.size(), arguments.jobs, tally, [&](uint64_t piece, Tally& counted) {
    const Outcome outcome = run(all.cases[piece]);
    counted.add(outcome);
    return !outcome.failed();
  });
  if (!failing) return 0;
  const Systematic& one = all.cases[*failing];
  fmt::print("\nsystematic case fails: {}\n", one.name);
  std::fflush(stdout);
  const Outcome outcome = run(one, {.timeline = true});
  if (!one.one.perturbations.empty()) fmt::print("{}\n", outcome.timeline);
  print(outcome);
  return 1;
}

struct Seeds {
  uint64_t first = 1, last = 0;

  // Those of one campaign, which share its undisturbed run.
  uint64_t campaigns() const { return last < first ? 0 : last / kSeedsPerCampaign - first / kSeedsPerCampaign + 1; }
  Seeds of_campaign(uint64_t number) const {
    const uint64_t begin = (first / kSeedsPerCampaign + number) * kSeedsPerCampaign;
    return {std::max(first, begin), std::min(last, begin + kSeedsPerCampaign - 1)};
  }
};

Seeds seeds_of(const Arguments& arguments) {
  if (arguments.fresh > 0) {
    // Short enough to be passed on by word of mouth.
    const uint64_t first = io::Random().next() % 1'000'000'000'000;
    return {first, first + arguments.fresh - 1};
  }
  const size_t dots = arguments.seeds.find("..");
  if (dots == std::string::npos) return {1, std::stoull(arguments.seeds)};
  return {std::stoull(arguments.seeds.substr(0, dots)), std::stoull(arguments.seeds.substr(dots + 2))};
}

struct Run {
  Case one;
  Outcome outcome;
};

Run run_seed(Cases& cases, uint64_t seed) {
  auto [one, undisturbed] = cases.make(seed);
  if (undisturbed.failed()) one.perturbations.clear();
  Outcome outcome = undisturbed.failed() ? undisturbed : run_case(one, undisturbed.end);
  return {std::move(one), std::move(outcome)};
}

int explore_seeds(const Arguments& arguments, Tally& tally) {
  const Seeds seeds = seeds_of(arguments);
  fmt::print("seeds {}..{}{}\n", seeds.first, seeds.last, arguments.family_flag());
  const auto all_pass = [&](uint64_t campaign, Tally& counted) {
    const Seeds own = seeds.of_campaign(campaign);
    Cases cases(arguments.family());
    for (uint64_t seed = own.first; seed <= own.last; ++seed) {
      const Outcome outcome = run_seed(cases, seed).outcome;
      counted.add(outcome);
      if (!outcome.failed()) continue;
      if (!arguments.keep_going) return false;
      fmt::print("seed {} fails:\n", seed);
      print(outcome);
    }
    return true;
  };
  const auto failing = first_failing(seeds.campaigns(), arguments.jobs, tally, all_pass);
  if (!failing) return 0;
  const Seeds own = seeds.of_campaign(*failing);
  Cases cases(arguments.family());
  for (uint64_t seed = own.first; seed <= own.last; ++seed) {
    const auto [one, outcome] = run_seed(cases, seed);
    if (outcome.failed()) report(arguments, one, outcome);
    if (outcome.failed()) break;
  }
  return 1;
}

int run_program(int argc, char** argv) {
  Arguments arguments;
  arguments.program = argv[0];
  CLI::App app(
      "Whole campaigns of careen in virtual time, disturbed from seeds; every invariant checked at every step.");
  app.add_option("--seeds", arguments.seeds, "so many seeds, or a range: 1000, 5000..5999");
  app.add_option("--fresh", arguments.fresh, "so many seeds that nobody has run before; which ones is printed first");
  app.add_option("--jobs", arguments.jobs, "so many processes")->check(CLI::Range(1, 256));
  app.add_flag("--keep-going", arguments.keep_going, "tell of every seed that fails, and go on");
  app.add_option("--seed", arguments.seed, "one seed");
  app.add_option("--only", arguments.only, "with --seed: only these perturbations (0: none)")->delimiter(',');
  app.add_option("--nodes", arguments.nodes, "with --seed: only these nodes")->delimiter(',');
  app.add_flag("--timeline", arguments.timeline, "with --seed: print all that happens");
  app.add_flag("--systematic", arguments.systematic, "a crash before and after each write of small campaigns");
  app.add_flag("--drains", arguments.drains,
               "campaigns in which nodes are drained, instead of those of profiles alone");
  app.add_flag("--requests", arguments.requests,
               "campaigns under MaintenanceLimits, with MaintenanceRequests and people who cordon")
      ->excludes("--drains");
  app.add_flag("--machines", arguments.machines,
               "campaigns of Machines, between a management cluster and its workload clusters")
      ->excludes("--drains")
      ->excludes("--requests");
  app.add_flag("!--no-shrink", arguments.shrink, "do not make a failing case smaller");
  if (!mistakes().empty()) {
    app.add_option("--mistake", arguments.mistake, "which mistake careen shall make")->check(CLI::IsMember(mistakes()));
  }
  CLI11_PARSE(app, argc, argv);
  make_mistake(arguments.mistake);
  RunOptions options;
  options.timeline = arguments.timeline;
  if (arguments.seed) return explore_one(arguments, options);
  const bool seeds = !arguments.seeds.empty() || arguments.fresh > 0;
  if (!seeds && !arguments.systematic) {
    std::fputs("nothing to do: give --seeds, --fresh, --seed or --systematic\n", stderr);
    return 2;
  }
  Tally tally;
  int failed = 0;
  if (arguments.systematic) failed = explore_systematically(arguments, tally);
  if (!failed && seeds) failed = explore_seeds(arguments, tally);
  if (!failed) fmt::print("\n{}\n", tally.coverage().table());
  tally.tell();
  return failed;
}

}  // namespace
}  // namespace careen::explore

int main(int argc, char** argv) { return careen::explore::run_program(argc, argv); }
