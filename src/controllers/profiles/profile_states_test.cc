#include "controllers/profiles/profile_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "budget/occupancy.h"
#include "controllers/profiles/test_support.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ProfileStatesTest : public WorldTest {
 protected:
  ProfileStatesTest() { configure("{intervals: {requeue: 1m}, profiles: [{name: p}, {name: q}]}"); }
  std::vector<std::string> who(const budget::Scope& scope, int64_t max = 10, io::Duration skip_after = {}) {
    return holders(occupancy, {scope, max, skip_after}, now, {}, 100);
  }
  budget::Use use(const budget::Scope& scope, int64_t max = 10, io::Duration skip_after = {},
                  std::string_view asking = {}) {
    return measure(occupancy, {scope, max, skip_after}, now, asking);
  }
  budget::Scope zone(std::string value) { return {"", {{"zone", std::move(value)}}}; }
};

TEST_F(ProfileStatesTest, ProfilesOfALabel) {
  EXPECT_THAT(profiles_of(std::nullopt), ElementsAre("default"));
  EXPECT_THAT(profiles_of(""), ElementsAre("default"));
  EXPECT_THAT(profiles_of("a--b--c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(profiles_of("a---b"), ElementsAre("a", "-b"));
  EXPECT_THAT(profiles_of("a--b--a"), ElementsAre("a", "b"));
}

TEST_F(ProfileStatesTest, CountsWhatTheDataOrTheLabelSays) {
  put_in("a", "p", kIn);
  put_in("b", "p", State::maintenance_required);
  put("label", {{std::string(kStateLabel), "in-maintenance"}});
  put("data", {{std::string(kProfileLabel), "p"}}, {{std::string(kDataAnnotation), data_of("p", kIn, now)}});
  put("plain");
  EXPECT_THAT(who({}), ElementsAre("a", "data", "label"));
}

TEST_F(ProfileStatesTest, DataOfAProfileThatIsNotConfiguredOrNotNamedDoesNotCount) {
  put("a", {{std::string(kProfileLabel), "unknown"}}, {{std::string(kDataAnnotation), data_of("unknown", kIn, now)}});
  put("b", {{std::string(kProfileLabel), "q"}}, {{std::string(kDataAnnotation), data_of("p", kIn, now)}});
  EXPECT_THAT(who({}), IsEmpty());
}

TEST_F(ProfileStatesTest, ScopesByProfileAndLabels) {
  put_in("a", "p", kIn, {{"zone", "x"}});
  put_in("b", "p--q", kIn, {{"zone", "y"}});
  put_in("c", "q", kIn, {{"zone", "x"}});
  EXPECT_THAT(who({"p", {}}), ElementsAre("a", "b"));
  EXPECT_THAT(who({"q", {}}), ElementsAre("b", "c"));
  EXPECT_THAT(who(zone("x")), ElementsAre("a", "c"));
  EXPECT_THAT(who({"p", {{"zone", "x"}}}), ElementsAre("a"));
  EXPECT_THAT(who(zone("z")), IsEmpty());
}

TEST_F(ProfileStatesTest, ANodeWithoutProfileLabelIsInNoProfilesScope) {
  put("plain", {{std::string(kStateLabel), "in-maintenance"}});
  put("unnamed", {{std::string(kStateLabel), "in-maintenance"}, {std::string(kProfileLabel), ""}});
  EXPECT_THAT(who({"default", {}}), IsEmpty());
  EXPECT_THAT(who({}), ElementsAre("plain", "unnamed"));
}

// Somebody has edited its label before: its data are old, and its maintenance is not.
TEST_F(ProfileStatesTest, AnAdmissionOfANodeThatSaidItWasThereBeforeNeverGrowsOld) {
  NodeData data;
  data.profiles["p"] = {now - io::hours{5}, State::maintenance_required, State::maintenance_required};
  put("a", {{std::string(kStateLabel), "in-maintenance"}}, {{std::string(kDataAnnotation), format_node_data(data)}});
  EXPECT_EQ(use({}, 1, io::hours{2}).used, 0);
  reserve("a");
  EXPECT_EQ(use({}, 1, io::hours{2}).used, 1);
}

TEST_F(ProfileStatesTest, TheAgeIsThatOfTheProfileAskedFor) {
  NodeData data;
  data.profiles["p"] = {now - io::hours{5}, kIn, kIn};
  data.profiles["q"] = {now - io::minutes{5}, State::operational, State::operational};
  put("a", {{std::string(kProfileLabel), "p--q"}}, {{std::string(kDataAnnotation), format_node_data(data)}});
  EXPECT_EQ(use({}, 1, io::hours{1}).used, 1);
  EXPECT_EQ(use({"p", {}}, 1, io::hours{1}).used, 0);
}

// Nothing that one node says of itself keeps the others from going.
TEST_F(ProfileStatesTest, ANodeWhoseDataCannotBeReadHasItsPlaceAndNeverGrowsOld) {
  put("a", {{std::string(kStateLabel), "in-maintenance"}}, {{std::string(kDataAnnotation), "{broken"}});
  EXPECT_EQ(use({}).used, 1);
  const budget::Use used = use({}, 1, io::hours{1});
  EXPECT_EQ(used.used, 1);
  EXPECT_EQ(used.free_at, std::nullopt);
  EXPECT_THAT(who({}, 1, io::hours{1}), testing::ElementsAre("a"));
  now += io::hours{24 * 365};
  EXPECT_EQ(use({}, 1, io::hours{1}).used, 1);
}

}  // namespace
}  // namespace careen::profiles
