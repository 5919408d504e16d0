#include "kube/lock_object.h"

#include <gtest/gtest.h>

#include <string>

namespace careen::kube {
namespace {

constexpr const char* kAnnotation = "control-plane.alpha.kubernetes.io/leader";

Json config_map(std::string_view record) {
  return Json::object({{"metadata", Json::object({{"annotations", Json::object({{kAnnotation, record}})}})}});
}

// As client-go writes it, with whole seconds and its own names.
TEST(LockObjectTest, ReadsTheRecordThatClientGoKeepsInAConfigMap) {
  const auto record = lock_object(LockKind::config_map)
                          .read(config_map(R"({"holderIdentity":"a_1","leaseDurationSeconds":15,)"
                                           R"("acquireTime":"2026-03-01T10:00:00Z","renewTime":"2026-03-01T10:05:00Z",)"
                                           R"("leaderTransitions":7})"));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->holder, "a_1");
  EXPECT_EQ(record->duration, io::seconds{15});
  EXPECT_EQ(record->renew_time, "2026-03-01T10:05:00Z");
  EXPECT_EQ(record->transitions, 7);
}

TEST(LockObjectTest, WritesTheRecordAsClientGoDoes) {
  Json object = Json::object({{"data", Json::object({{"k", "v"}})}});
  lock_object(LockKind::config_map)
      .write(object, {"a_1", io::seconds{15}, "2026-03-01T10:05:00.000001Z", "2026-03-01T10:00:00.000000Z", 3});
  EXPECT_EQ(object["data"]["k"].text(), "v");
  EXPECT_EQ(object["metadata"]["annotations"][kAnnotation].text(),
            R"({"holderIdentity":"a_1","leaseDurationSeconds":15,"acquireTime":"2026-03-01T10:00:00.000000Z",)"
            R"("renewTime":"2026-03-01T10:05:00.000001Z","leaderTransitions":3})");
}

// The next holder may be another program, which leaves what it does not know.
TEST(LockObjectTest, TellsALockOfCareenFromThoseOfOthersOfThatName) {
  const LockObject& place = lock_object(LockKind::config_map);
  Json object = Json::object();
  place.write(object, {"a_1", io::seconds{15}, "2026-03-01T10:05:00.000001Z"});
  EXPECT_TRUE(is_lock_of_careen(object, place.read(object).value()));
  object.set({"metadata", "annotations", kAnnotation}, R"({"holderIdentity":"old_2"})");
  EXPECT_FALSE(is_lock_of_careen(object, place.read(object).value()));
  place.write(object, {"", io::seconds{1}, "2026-03-01T10:06:00.000001Z"});
  EXPECT_FALSE(is_lock_of_careen(object, place.read(object).value())) << "nobody holds it";
  const Json foreign = config_map(R"({"holderIdentity":"a_1"})");
  EXPECT_FALSE(is_lock_of_careen(foreign, place.read(foreign).value()));
}

// Anybody may hold what stands in words that nobody understands.
TEST(LockObjectTest, ARecordThatCannotBeReadIsAnErrorAndNoFreeLock) {
  for (const char* record : {"", "{", "[]", "null", "a_1"}) {
    EXPECT_FALSE(lock_object(LockKind::config_map).read(config_map(record))) << record;
  }
  const auto none = lock_object(LockKind::config_map).read(Json::object());
  ASSERT_TRUE(none);
  EXPECT_EQ(none->holder, "");
}

}  // namespace
}  // namespace careen::kube
