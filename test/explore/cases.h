// Cases from seeds, and the systematic ones. Several seeds share a campaign, so that its undisturbed run is needed only
// once for all of them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run.h"

namespace careen::explore {

inline constexpr uint64_t kSeedsPerCampaign = 8;

// Families of campaigns: nodes go through profiles, or are drained, or everybody asks for places under limits; or it is
// about the Machines of several clusters.
enum class Family { profiles, drains, requests, machines };

Campaign draw_campaign_of(Family family, uint64_t seed);

class Cases {
 public:
  using Drawing = std::function<Campaign(uint64_t seed)>;
  explicit Cases(Family family = Family::profiles)
      : Cases([family](uint64_t seed) { return draw_campaign_of(family, seed); }) {}
  explicit Cases(Drawing draw) : draw_(std::move(draw)) {}
  // The case of a seed, of those nodes only unless the list is empty; with the undisturbed run of its campaign.
  struct Prepared {
    Case one;
    Outcome undisturbed;
  };
  Prepared make(uint64_t seed, const std::vector<std::string>& nodes = {});

 private:
  Drawing draw_;
  std::optional<uint64_t> known_;  // of which campaign
  Outcome undisturbed_;
};

// Small campaigns with a crash before and after each write, that write being lost, passing, or arriving late; and with
// each write passing under an answer that says that it has failed.
struct Systematic {
  std::string name;
  Case one;
  Expectation expected;
};
Outcome run(const Systematic& one, const RunOptions& options = {});
// The undisturbed run of a small campaign may fail too; then that is all there is.
struct SystematicCases {
  std::vector<Systematic> cases;
  std::vector<Outcome> failed;
};
SystematicCases systematic_cases(Family family = Family::profiles);

}  // namespace careen::explore
