// Lanterns join the campaigns of profiles, with all that goes wrong there: never more are lit than the limit, none that
// nobody asked for, and all of them in the end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "../explore/cases.h"
#include "../explore/draw.h"
#include "test_lanterns.h"

namespace careen::lantern {
namespace {

using explore::Campaign;
using explore::Edit;

constexpr int kLimit = 2;

class LanternWatch final : public explore::GuestWatch {
 public:
  explicit LanternWatch(explore::Report report) : report_(std::move(report)) {}

  void changed(const sim::Change& change, const explore::Circumstances& circumstances) override {
    const bool gone = change.type == sim::Change::Type::deleted;
    const auto object = kube::Json::parse(*change.object);
    if (change.collection == kResource.path()) {
      const auto spec = (*object)["spec"];
      const std::string node(spec["nodeName"].text().value_or("")), color(spec["color"].text().value_or(""));
      asked_.insert({node, color});
      if (gone) hung_.erase(change.name);
      if (!gone) hung_[change.name] = {node, color};
    }
    if (change.collection == "/api/v1/nodes")
      node_changed(change, gone, *object, circumstances.by_careen, circumstances.exact);
  }

  void check_end() override {
    std::map<std::string, std::string> wanted;
    for (const auto& [name, light] : hung_) {
      if (nodes_.contains(light.first)) wanted.insert(light);
    }
    if (wanted == lit_) return;
    std::string all;
    for (const auto& [node, color] : lit_) all += fmt::format(" {}={}", node, color);
    report_("lantern", fmt::format("{} should be lit in the end; lit are{}", wanted.size(), all));
  }

 private:
  void node_changed(const sim::Change& change, bool gone, const kube::Json& node, bool by_careen, bool exact) {
    const auto color = gone ? std::nullopt : node["metadata"]["labels"][kLit].text();
    if (gone) nodes_.erase(change.name);
    if (!gone) nodes_.insert(change.name);
    if (!color) {
      lit_.erase(change.name);
      return;
    }
    const auto [light, fresh] = lit_.insert_or_assign(change.name, std::string(*color));
    if (by_careen && !asked_.contains(*light)) report_("lantern", fmt::format("nobody asked for {}", change.name));
    if (fresh && exact && lit_.size() > kLimit) report_("lantern", fmt::format("{} are lit", lit_.size()));
  }

  explore::Report report_;
  std::map<std::string, std::pair<std::string, std::string>> hung_;  // by Lantern: node and color
  std::set<std::pair<const std::string, std::string>> asked_;        // ever
  std::map<std::string, std::string> lit_;
  std::set<std::string> nodes_;
};

class LanternGuest final : public explore::Guest {
 public:
  explicit LanternGuest(Options options) : options_(options) {}
  std::shared_ptr<const controllers::Choice> choice() const override { return with_options(options_); }
  bool owns(std::string_view key) const override { return key == kLit || key == kDimmed; }
  bool claims(std::string_view by) const override { return by == kind().name; }
  std::unique_ptr<explore::GuestWatch> watch(explore::Report report, std::function<io::Duration()>) const override {
    return std::make_unique<LanternWatch>(std::move(report));
  }

 private:
  Options options_;
};

// Half of the nodes get a Lantern, and as many as there are places keep it.
Campaign draw_lanterns(uint64_t seed, bool hasty) {
  Campaign campaign = explore::draw_campaign(seed);
  campaign.guests = {std::make_shared<LanternGuest>(Options{.limit = kLimit, .hasty = hasty})};
  explore::Draw draw(seed * 7 + 5);
  int stay = 0;
  for (const explore::NodePlan& node : campaign.nodes) {
    if (draw.one_in(2)) continue;
    auto object = kube::Json::object({{"apiVersion", kResource.api_version()}, {"kind", kResource.kind}});
    object.set({"metadata", "name"}, "on-" + node.name);
    object.set({"spec", "nodeName"}, node.name).set({"spec", "color"}, draw.one_in(2) ? "red" : "blue");
    const io::Duration at = draw.between(io::seconds{1}, io::minutes{2});
    campaign.edits.push_back({at, node.name, Edit::Kind::create, kResource.path(), object});
    if (++stay <= kLimit) continue;
    campaign.edits.push_back({at + draw.between(io::seconds{5}, io::minutes{2}), node.name, Edit::Kind::erase,
                              kResource.path("", "on-" + node.name)});
  }
  campaign.edits = in_order(std::move(campaign.edits));
  return campaign;
}

// The first violation of that many seeds; empty: there is none.
std::string explored(uint64_t seeds, bool hasty) {
  explore::Cases cases([hasty](uint64_t seed) { return draw_lanterns(seed, hasty); });
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto [one, undisturbed] = cases.make(seed);
    const explore::Outcome outcome = undisturbed.failed() ? undisturbed : run_case(one, undisturbed.end);
    if (!outcome.failed()) continue;
    const explore::Violation& first = outcome.violations.front();
    return fmt::format("{}: seed {}, at {}: {}", first.rule, seed, io::format_duration(first.at), first.what);
  }
  return {};
}

TEST(LanternExplore, LimitsAndWishesHoldWhateverGoesWrong) { EXPECT_EQ(explored(8, false), ""); }

TEST(LanternExplore, AClaimThatDoesNotCountIsFound) {
  EXPECT_THAT(explored(200, true), testing::StartsWith("lantern: "));
}

}  // namespace
}  // namespace careen::lantern
