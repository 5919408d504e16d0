#include "controllers/nodemaintenance/picture.h"

#include <gtest/gtest.h>

#include "kube/events.h"

namespace careen::nodemaintenance {
namespace {

using controllers::Entry;

TEST(ToldTest, AnEventTellsOfTheNodeAlsoWhenTheObjectIsGone) {
  Told told;
  kube::EventRecord event;
  event.regarding.kind = "NodeMaintenance";
  event.regarding.name = "m";
  event.reason = "BeginMaintenance";
  const auto entry = told.entry_of(event, {}, [](const std::string&) { return std::optional<std::string>("n"); });
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->kind, Entry::Kind::maintenance);
  EXPECT_EQ(entry->text, "NodeMaintenance m of n begins");
  EXPECT_EQ(entry->node, "n");

  const auto gone = [](const std::string&) { return std::optional<std::string>(); };
  event.reason = "RemovedMaintenance";
  EXPECT_EQ(told.entry_of(event, {}, gone)->text, "NodeMaintenance m of n is over");
  EXPECT_EQ(told.entry_of(event, {}, gone)->text, "NodeMaintenance m is over") << "it is remembered for ever";
}

TEST(ToldTest, OtherEventsAreNotItsOwn) {
  Told told;
  const auto known = [](const std::string&) { return std::optional<std::string>("n"); };
  kube::EventRecord event;
  event.regarding.kind = "Node";
  event.regarding.name = "m";
  event.reason = "BeginMaintenance";
  EXPECT_FALSE(told.entry_of(event, {}, known));
  event.regarding.kind = "NodeMaintenance";
  event.reason = "Unheard";
  EXPECT_FALSE(told.entry_of(event, {}, known));
}

}  // namespace
}  // namespace careen::nodemaintenance
