#include "kube/object_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "io/metrics.h"
#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "sim/test_api.h"

namespace careen::kube {
namespace {

using io::milliseconds;
using io::seconds;
using sim::Treatment;

const std::string kObject = "/api/v1/namespaces/t/configmaps/a";

class ObjectWriterTest : public testing::Test {
 protected:
  ObjectWriterTest() {
    api.put("/api/v1/namespaces/t", Json::object());
    api.put(kObject, Json::object({{"data", Json::object({{"k", "old"}})}}));
    learn();
  }
  void learn() { writer.enter(api.object(kObject).dump()); }
  const Object* known() const { return store.find("t/a"); }
  std::string value() const { return known() ? std::string(known()->document["data"]["k"].text().value_or("")) : ""; }
  std::string stored() { return std::string(api.object(kObject)["data"]["k"].text().value_or("")); }
  // Under the version that the store has.
  WriteRequest change(const std::string& to) const {
    const uint64_t version = known() ? known()->version : 1;
    const Json body = Json::object({{"metadata", Json::object({{"resourceVersion", std::to_string(version)}})},
                                    {"data", Json::object({{"k", to}})}});
    return {.ns = "t", .name = "a", .body = body.dump(), .version = version};
  }
  static ObjectWriter<Object>::Test makes(const std::string& value) {
    return [value](const Object& object) { return object.document["data"]["k"].text() == value; };
  }
  static io::Task<void> run(ObjectWriter<Object>& writer, WriteRequest what, ObjectWriter<Object>::Test test,
                            std::optional<WriteResult>* out) {
    *out = co_await writer.write(std::move(what), std::move(test));
  }
  WriteResult write(WriteRequest what, ObjectWriter<Object>::Test test = {}) {
    std::optional<WriteResult> out;
    io::Scope scope(*loop);
    scope.spawn(run(writer, std::move(what), std::move(test), &out));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, seconds{60}));
    return out.value_or(WriteResult{});
  }
  // What becomes of the next write.
  void treat_writes(Treatment treatment) {
    api.treat = [treatment](const Request& request) { return request.method == "GET" ? Treatment{} : treatment; };
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server_loop = time.make_loop();
  sim::TestApi api{*server_loop};
  std::unique_ptr<io::Loop> loop = time.make_loop();
  std::unique_ptr<Transport> transport = api.connect(*loop);
  io::Metrics metrics;
  io::Random random{7};
  Client client{*loop, *transport, metrics, random};
  Store<Object> store;
  ObjectWriter<Object> writer{client, resources::config_maps, store,
                              [](std::string_view json) { return decode_object(json); }};
};

TEST_F(ObjectWriterTest, TheAnswerEntersTheStore) {
  const WriteResult result = write(change("new"));
  EXPECT_EQ(result.fate, WriteFate::written);
  EXPECT_TRUE(result.done());
  EXPECT_FALSE(result.error);
  EXPECT_EQ(value(), "new");
  EXPECT_EQ(api.count("GET configmaps"), 0);
}

TEST_F(ObjectWriterTest, AnUpdateReplacesTheObject) {
  WriteRequest what = change("");
  Json whole = *Json::parse(known()->text());
  whole.set({"data", "k"}, "new");
  what.patch = std::nullopt;
  what.body = whole.dump();
  EXPECT_EQ(write(what).fate, WriteFate::written);
  EXPECT_EQ(stored(), "new");
  EXPECT_EQ(api.count("PUT configmaps"), 1);
}

TEST_F(ObjectWriterTest, AConflictBringsWhatIsThereInstead) {
  api.merge(kObject, Json::object({{"data", Json::object({{"k", "theirs"}})}}));
  const WriteResult result = write(change("new"), makes("new"));
  EXPECT_EQ(result.fate, WriteFate::conflict);
  EXPECT_FALSE(result.done());
  EXPECT_TRUE(result.error->conflict());
  EXPECT_EQ(value(), "theirs");
}

// Somebody on the way has sent it twice: the second one conflicts with the first.
TEST_F(ObjectWriterTest, AConflictWithItselfIsDone) {
  api.merge(kObject, Json::object({{"data", Json::object({{"k", "new"}})}}));
  const WriteResult result = write(change("new"), makes("new"));
  EXPECT_EQ(result.fate, WriteFate::already);
  EXPECT_TRUE(result.done());
  EXPECT_EQ(value(), "new");
}

TEST_F(ObjectWriterTest, AnAnswerThatGotLostIsLookedUp) {
  treat_writes({.unanswered = true});
  EXPECT_EQ(write(change("new"), makes("new")).fate, WriteFate::already);
  EXPECT_EQ(value(), "new");
  EXPECT_EQ(api.count("PATCH configmaps"), 1) << "never simply sent again";
}

// A proxy has lost its server after passing the write on.
TEST_F(ObjectWriterTest, A503AfterItTookEffectIsLookedUp) {
  treat_writes({.mask = Response{503, "no server", std::nullopt}});
  EXPECT_EQ(write(change("new"), makes("new")).fate, WriteFate::already);
  EXPECT_EQ(value(), "new");
}

// It has not arrived, but it may: the object still has the version that the write names.
TEST_F(ObjectWriterTest, WhatMayStillArriveIsUnknown) {
  treat_writes({.held = true});
  const WriteResult result = write(change("new"), makes("new"));
  EXPECT_EQ(result.fate, WriteFate::unknown);
  EXPECT_TRUE(result.error->ambiguous());
  api.release_held();
  time.run_for(seconds{1});
  EXPECT_EQ(stored(), "new");
}

TEST_F(ObjectWriterTest, WhatWasOvertakenNeverTakesEffect) {
  treat_writes({.held = true});
  WriteRequest what = change("new");
  api.merge(kObject, Json::object({{"data", Json::object({{"k", "theirs"}})}}));
  EXPECT_EQ(write(what, makes("new")).fate, WriteFate::conflict);
  api.release_held();
  time.run_for(seconds{1});
  EXPECT_EQ(stored(), "theirs");
}

TEST_F(ObjectWriterTest, WhatCannotBeLookedUpIsUnknown) {
  api.treat = [](const Request&) { return Treatment{.lost = true}; };
  const WriteResult result = write(change("new"), makes("new"));
  EXPECT_EQ(result.fate, WriteFate::unknown);
  EXPECT_TRUE(result.blind);
  EXPECT_EQ(value(), "old");
}

TEST_F(ObjectWriterTest, ARefusalIsNotLookedUp) {
  treat_writes({.refuse = sim::ApiServer::refusal(403, "Forbidden")});
  EXPECT_EQ(write(change("new"), makes("old")).fate, WriteFate::refused);
  EXPECT_EQ(api.count("GET configmaps"), 0);
}

TEST_F(ObjectWriterTest, WhatTheGuardHoldsBackWasNeverSent) {
  client.set_write_guard([] { return std::nullopt; });
  EXPECT_EQ(write(change("new")).fate, WriteFate::unsent);
  EXPECT_EQ(api.count("PATCH configmaps"), 0);
}

TEST_F(ObjectWriterTest, AnObjectThatIsGoneLeavesTheStore) {
  WriteRequest what = change("new");
  api.erase(kObject);
  EXPECT_EQ(write(what).fate, WriteFate::missing);
  EXPECT_FALSE(known());
}

// Another version of the kind may have taken its place.
TEST_F(ObjectWriterTest, AKindThatIsNotServedSaysNothingOfTheObject) {
  const Treatment nowhere{.refuse = kube::Response{404, "404 page not found\n", {}}};
  api.treat = [nowhere](const Request&) { return nowhere; };
  EXPECT_EQ(write(change("new")).fate, WriteFate::refused);
  EXPECT_TRUE(known());
  api.treat = [nowhere](const Request& request) {
    return request.method == "GET" ? nowhere : Treatment{.refuse = sim::ApiServer::refusal(409, "Conflict")};
  };
  EXPECT_EQ(write(change("new")).fate, WriteFate::conflict);
  EXPECT_TRUE(known());
}

TEST_F(ObjectWriterTest, TheLastWriteOfAnObjectTakesItOutOfTheStore) {
  WriteRequest what = change("new");
  what.ends = true;
  EXPECT_EQ(write(what).fate, WriteFate::written);
  EXPECT_FALSE(known());
}

// The first is slow; the second, of the same object, waits for it, and one of another object does not.
TEST_F(ObjectWriterTest, WritesOfOneObjectGoOneAfterTheOther) {
  const std::string other = "/api/v1/namespaces/t/configmaps/b";
  api.put(other, Json::object());
  std::vector<std::string> sent;
  api.treat = [&](const Request& request) {
    sent.push_back(request.path.substr(0, request.path.find('?')));
    return Treatment{.after = seconds{1}};
  };
  std::optional<WriteResult> first, second, third;
  ObjectWriter<Object>::Test none;
  io::Scope scope(*loop);
  scope.spawn(run(writer, change("one"), none, &first));
  scope.spawn(run(writer, change("two"), none, &second));
  scope.spawn(run(writer, {.ns = "t", .name = "b", .body = "{}"}, none, &third));
  time.run_for(milliseconds{500});
  EXPECT_EQ(sent, (std::vector<std::string>{kObject, other}));
  time.run_for(seconds{4});
  EXPECT_EQ(first->fate, WriteFate::written);
  EXPECT_EQ(second->fate, WriteFate::conflict) << "decided before the first was written";
  EXPECT_EQ(third->fate, WriteFate::written);
  EXPECT_EQ(value(), "one");
}

// Of two writers that share their lanes, too; and a lane that is given up is free.
TEST_F(ObjectWriterTest, LanesAreSharedAndFreedByWhoLeaves) {
  const auto lanes = std::make_shared<WriteLanes>(*loop);
  const auto decode = [](std::string_view json) { return decode_object(json); };
  ObjectWriter<Object> one(client, resources::config_maps, store, decode, {}, lanes);
  ObjectWriter<Object> another(client, resources::config_maps, store, decode, {}, lanes);
  api.treat = [](const Request& request) { return Treatment{.lost = request.method == "PATCH"}; };
  std::optional<WriteResult> first, second;
  ObjectWriter<Object>::Test none;
  io::Scope leaving(*loop), scope(*loop);
  leaving.spawn(run(one, change("one"), none, &first));
  time.settle();
  api.treat = nullptr;
  scope.spawn(run(another, change("two"), none, &second));
  time.run_for(seconds{1});
  EXPECT_FALSE(second);
  leaving.cancel();
  time.run_for(seconds{1});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->fate, WriteFate::written);
  EXPECT_FALSE(first);
}

TEST_F(ObjectWriterTest, WhoWritesInAnotherWayHasATurnToo) {
  std::optional<WriteResult> result;
  ObjectWriter<Object>::Test none;
  io::Gate over(*loop);
  io::Scope scope(*loop);
  const auto hold = [](ObjectWriter<Object>& of, io::Gate& until) -> io::Task<void> {
    const WriteLanes::Turn turn = co_await of.turn("t", "a");
    co_await until.wait();
  };
  scope.spawn(hold(writer, over));
  time.settle();
  scope.spawn(run(writer, change("one"), none, &result));
  time.run_for(minutes{1});
  EXPECT_FALSE(result);
  over.open();
  time.run_for(seconds{1});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->fate, WriteFate::written);
}

}  // namespace
}  // namespace careen::kube
