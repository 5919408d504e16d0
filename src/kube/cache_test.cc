#include "kube/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/index.h"

namespace careen::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Thing {
  std::string name;
  std::string uid;
  uint64_t version = 0;
  std::string colour;

  const std::string& key() const { return name; }
  bool same_facts(const Thing& other) const { return colour == other.colour; }
};

Thing thing(std::string name, uint64_t version, std::string colour = "red", std::string uid = "u") {
  return {name, uid + "-" + name, version, std::move(colour)};
}

class CacheTest : public testing::Test {
 protected:
  CacheTest() {
    changes = store.subscribe([this](const Thing* before, const Thing* after) {
      const auto text = [](const Thing* t) { return t ? t->name + "=" + t->colour : std::string("-"); };
      seen.push_back(text(before) + " -> " + text(after));
    });
  }
  void list(std::vector<Thing> things, uint64_t version) {
    store.begin_list();
    for (Thing& t : things) store.stage(std::move(t));
    store.end_list(version);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    store.for_each([&](const Thing& t) { out.push_back(t.name); });
    return out;
  }
  void event(Thing t) {
    const uint64_t version = t.version;
    store.put(std::move(t));
    store.progress(version);
  }
  void deletion(std::string_view name, uint64_t version) {
    store.remove(name, version);
    store.progress(version);
  }

  Store<Thing> store;
  io::Subscription changes;
  std::vector<std::string> seen;
};

TEST_F(CacheTest, TellsWhatChangedAndOnlyThat) {
  event(thing("a", 1));
  event(thing("a", 2, "blue"));
  event(thing("a", 3, "blue"));  // a heartbeat
  deletion("a", 4);
  EXPECT_THAT(seen, ElementsAre("- -> a=red", "a=red -> a=blue", "a=blue -> -"));
}

TEST_F(CacheTest, AHeartbeatStillMovesTheVersion) {
  event(thing("a", 1));
  event(thing("a", 2));
  EXPECT_EQ(store.find("a")->version, 2u);
}

// The answer to an own write is ahead of the watch; the watch then tells older states first.
TEST_F(CacheTest, AnOlderEventNeverUndoesAnOwnWrite) {
  event(thing("a", 1, "red"));
  EXPECT_TRUE(store.put(thing("a", 5, "own")));
  EXPECT_FALSE(store.put(thing("a", 3, "late")));
  store.progress(3);
  EXPECT_FALSE(store.put(thing("a", 5, "own")));
  store.progress(5);
  EXPECT_THAT(seen, ElementsAre("- -> a=red", "a=red -> a=own"));
}

TEST_F(CacheTest, ALateEventDoesNotReviveTheDead) {
  event(thing("a", 1));
  deletion("a", 5);
  EXPECT_FALSE(store.put(thing("a", 3)));
  EXPECT_EQ(store.find("a"), nullptr);
  EXPECT_TRUE(store.put(thing("a", 6)));  // made again
}

// An own deletion is ahead of the watch: the events up to it must not bring the object back.
TEST_F(CacheTest, AnOwnDeletionLeavesATombstoneUntilTheWatchHasPassedIt) {
  event(thing("a", 1));
  store.remove("a", 5);
  EXPECT_FALSE(store.put(thing("a", 3)));
  store.progress(3);
  EXPECT_FALSE(store.put(thing("a", 4)));
  store.progress(9);
  EXPECT_FALSE(store.put(thing("a", 4)));
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(CacheTest, AnOldDeletionDoesNotHarmTheSuccessor) {
  event(thing("a", 8, "new"));
  store.remove("a", 5);
  ASSERT_NE(store.find("a"), nullptr);
  EXPECT_EQ(store.find("a")->colour, "new");
}

TEST_F(CacheTest, ARelistReportsWhatVanished) {
  list({thing("a", 1), thing("b", 2)}, 10);
  seen.clear();
  list({thing("b", 2), thing("c", 15)}, 20);
  EXPECT_THAT(seen, testing::UnorderedElementsAre("a=red -> -", "- -> c=red"));
  EXPECT_THAT(names(), ElementsAre("b", "c"));
  EXPECT_FALSE(store.put(thing("a", 9)));  // an event from before the list
}

// Nobody sees half a list: not while its pages arrive, and not while the listeners are called.
TEST_F(CacheTest, AListIsTakenInOneStep) {
  list({thing("a", 1)}, 10);
  std::vector<std::vector<std::string>> views;
  const auto views_changes = store.subscribe([&](const Thing*, const Thing*) { views.push_back(names()); });
  store.begin_list();
  store.stage(thing("b", 11));
  EXPECT_THAT(names(), ElementsAre("a"));
  store.stage(thing("c", 12));
  store.end_list(20);
  EXPECT_THAT(views, testing::Each(ElementsAre("b", "c")));
  EXPECT_EQ(views.size(), 3u);
}

TEST_F(CacheTest, OwnWritesDuringAListSurviveIt) {
  list({thing("a", 1), thing("b", 2)}, 10);
  store.begin_list();
  store.stage(thing("a", 1));
  store.stage(thing("b", 2));
  store.put(thing("a", 25, "own"));  // written after the list was taken
  store.put(thing("new", 26));       // created after
  store.remove("b", 27);             // deleted after
  store.end_list(20);
  EXPECT_THAT(names(), ElementsAre("a", "new"));
  EXPECT_EQ(store.find("a")->colour, "own");
}

// The answer to a write comes late, when the object has long been deleted and a relist did not show it.
TEST_F(CacheTest, ALateAnswerDoesNotReviveWhatTheListDidNotHave) {
  list({thing("a", 1)}, 10);
  list({}, 30);
  EXPECT_FALSE(store.put(thing("a", 12, "own")));
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(CacheTest, AnAnswerDuringAListIsGoneIfTheNewerListDoesNotHaveIt) {
  list({}, 10);
  store.begin_list();
  store.put(thing("a", 12));
  EXPECT_NE(store.find("a"), nullptr);
  store.end_list(20);
  EXPECT_EQ(store.find("a"), nullptr);
}

TEST_F(CacheTest, MadeAgainUnderTheSameNameIsGoneAndNew) {
  list({thing("a", 1, "red", "first")}, 10);
  seen.clear();
  list({thing("a", 15, "red", "second")}, 20);
  EXPECT_THAT(seen, ElementsAre("a=red -> -", "- -> a=red"));
  EXPECT_EQ(store.find("a")->uid, "second-a");
}

// A restored backup: the server's versions start from a lower number, and what we hold is from a lost future.
TEST_F(CacheTest, AServerWhoseHistoryWentBackIsBelieved) {
  list({thing("a", 90, "future"), thing("b", 95)}, 100);
  list({thing("a", 40, "past"), thing("c", 41)}, 50);
  EXPECT_THAT(names(), ElementsAre("a", "c"));
  EXPECT_EQ(store.find("a")->colour, "past");
  EXPECT_EQ(store.newest_version(), 50u);
  event(thing("a", 51, "present"));
  EXPECT_EQ(store.find("a")->colour, "present");
}

TEST_F(CacheTest, AnUnfinishedListLeavesNoTrace) {
  list({thing("a", 1)}, 10);
  store.begin_list();
  store.stage(thing("b", 11));
  store.begin_list();
  store.stage(thing("a", 1));
  store.end_list(20);
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(CacheTest, AnIndexFollowsTheStore) {
  event(thing("a", 1, "red"));
  Index<Thing> by_colour(store, [](const Thing& t) { return std::vector<std::string>{t.colour}; });
  const auto of = [&](std::string_view colour) {
    std::vector<std::string> out;
    by_colour.for_each(colour, [&](const Thing& t) { out.push_back(t.name); });
    return out;
  };
  event(thing("b", 2, "red"));
  event(thing("c", 3, "blue"));
  EXPECT_THAT(of("red"), ElementsAre("a", "b"));
  event(thing("a", 4, "blue"));
  EXPECT_THAT(of("red"), ElementsAre("b"));
  EXPECT_THAT(of("blue"), ElementsAre("a", "c"));
  deletion("b", 5);
  EXPECT_THAT(of("red"), IsEmpty());
  EXPECT_EQ(by_colour.count("red"), 0u);
  EXPECT_EQ(by_colour.count("blue"), 2u);
  std::vector<std::string> values;
  by_colour.for_each_value([&](std::string_view value, size_t) { values.emplace_back(value); });
  EXPECT_THAT(values, ElementsAre("blue"));
}

TEST_F(CacheTest, AListenerMustNotChangeTheStore) {
  const auto changing = store.subscribe([this](const Thing*, const Thing*) { store.put(thing("b", 9)); });
  EXPECT_DEATH(store.put(thing("a", 1)), "a listener of a store changes it");
}

}  // namespace
}  // namespace careen::kube
