#include "kube/reflector_fixture.h"

namespace careen::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(ReflectorTest, ListsPageByPageThenWatchesFromThere) {
  transport.answer(200, page(100, {node("a", 10)}, "to/ken="));
  transport.answer(200, page(100, {node("b", 20)}));
  start();
  EXPECT_THAT(lists(), ElementsAre("/api/v1/nodes?limit=500", "/api/v1/nodes?limit=500&continue=to%2Fken%3D"));
  EXPECT_THAT(names(), ElementsAre("a", "b"));
  EXPECT_TRUE(reflector->synced());
  ASSERT_EQ(transport.streams.size(), 1u);
  const std::string watch = stream().request.path;
  EXPECT_THAT(watch, HasSubstr("watch=true"));
  EXPECT_THAT(watch, HasSubstr("allowWatchBookmarks=true"));
  EXPECT_THAT(watch, HasSubstr("resourceVersion=100"));
  const int limit = std::stoi(watch.substr(watch.find("timeoutSeconds=") + 15));
  EXPECT_GE(limit, 300);
  EXPECT_LE(limit, 600);

  push(watch_event("ADDED", node("c", 101)) + watch_event("MODIFIED", node("a", 102, "blue")) +
       watch_event("DELETED", node("b", 103)));
  EXPECT_THAT(names(), ElementsAre("a", "c"));
  EXPECT_EQ(colour("a"), "blue");
  EXPECT_EQ(reflector->position(), 103u);
}

TEST_F(ReflectorTest, AsksForItsNamespaceAndSelection) {
  make({.resource = resources::leases,
        .ns = "kube-system",
        .label_selector = "a in (b,c)",
        .field_selector = "metadata.name=x",
        .page_size = 50});
  transport.answer(200, page(100, {}));
  start();
  const char* selectors = "labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=metadata.name%3Dx";
  EXPECT_EQ(lists().front(),
            fmt::format("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?limit=50&{}", selectors));
  EXPECT_THAT(stream().request.path, HasSubstr(selectors));
}

TEST_F(ReflectorTest, WithoutAPageSizeTheListComesInOnePiece) {
  make({.resource = resources::nodes, .page_size = 0});
  transport.answer(200, page(100, {node("a", 10), node("b", 20)}));
  start();
  EXPECT_THAT(lists(), ElementsAre("/api/v1/nodes"));
  EXPECT_EQ(store.size(), 2u);
}

TEST_F(ReflectorTest, NobodySeesAHalfList) {
  transport.answer(200, page(100, {node("a", 10)}, "token"));
  transport.answer(Response{200, page(100, {node("b", 20)}), std::nullopt}, io::seconds{5});
  start();
  time.run_for(io::seconds{4});
  EXPECT_EQ(store.size(), 0u);
  EXPECT_FALSE(reflector->synced());
  time.run_for(io::seconds{1});
  EXPECT_EQ(store.size(), 2u);
  EXPECT_TRUE(reflector->synced());
}

TEST_F(ReflectorTest, ADroppedConnectionIsResumedWithoutAList) {
  start_watching();
  push(watch_event("MODIFIED", node("a", 105, "blue")));
  stream().fail({io::ErrorKind::closed, "reset"});
  time.run_for(io::seconds{2});
  ASSERT_EQ(transport.streams.size(), 2u);
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=105"));
  EXPECT_EQ(lists().size(), 1u);
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(ReflectorTest, TheRegularEndOfAWatchIsResumedAtOnce) {
  start_watching();
  push(bookmark(150));
  time.run_for(io::seconds{60});
  stream().close();
  time.settle();
  ASSERT_EQ(transport.streams.size(), 2u);
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=150"));
}

// The connection breaks within an event: it counts as not told, and the next watch tells it again.
TEST_F(ReflectorTest, HalfALineAtTheEndIsNoEvent) {
  start_watching();
  const std::string second = watch_event("MODIFIED", node("b", 106, "blue"));
  push(watch_event("MODIFIED", node("a", 105, "blue")) + second.substr(0, second.size() / 2));
  stream().close();
  time.run_for(io::seconds{2});
  EXPECT_EQ(colour("b"), "red");
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=105"));
  push(second);
  EXPECT_EQ(colour("b"), "blue");
}

TEST_F(ReflectorTest, GoneInTheWatchMeansListAgainAndReportsWhatVanished) {
  start_watching();
  push(watch_event("MODIFIED", node("a", 120, "blue")));
  seen.clear();
  transport.answer(200, page(300, {node("b", 20), node("c", 250)}));
  push(watch_event("ERROR", status_text(410, "Expired", "too old resource version: 120 (200)")));
  EXPECT_EQ(lists().back(), "/api/v1/nodes?limit=500&resourceVersion=120&resourceVersionMatch=NotOlderThan");
  EXPECT_THAT(seen, testing::UnorderedElementsAre("a=blue -> -", "- -> c=red"));
  ASSERT_EQ(transport.streams.size(), 2u);
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=300"));
  EXPECT_EQ(count("careen_cache_relists_total", {{"cause", "gone"}}), 1);
  EXPECT_EQ(count("careen_cache_relists_total", {{"cause", "start"}}), 1);
}

TEST_F(ReflectorTest, GoneAsAnAnswerMeansTheSame) {
  start_watching();
  push(bookmark(101));
  transport.refuse_open(Response{410, status_text(410, "Gone", "too old"), std::nullopt});
  transport.answer(200, page(300, {node("c", 250)}));
  stream().close();
  time.run_for(io::seconds{1});
  EXPECT_THAT(names(), ElementsAre("c"));
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=300"));
}

// A server that forgets each list before the watch comes is not asked for lists without end.
TEST_F(ReflectorTest, GoneAgainAndAgainBacksOff) {
  transport.on_send([](Request) -> io::Task<io::Result<Response>> { co_return Response{200, page(100, {}), {}}; });
  transport.on_open([](Request) -> io::Task<io::Result<Response>> {
    co_return Response{410, status_text(410, "Expired", "too old"), {}};
  });
  start();
  time.run_for(io::minutes{5});
  EXPECT_LT(lists().size(), 40u);
  EXPECT_EQ(problems.open().size(), 1u);
}

// A relist asks for nothing older than own writes either.
TEST_F(ReflectorTest, ARelistIsNotOlderThanOwnWrites) {
  start_watching();
  store.put(*decode_node(node("a", 180, "own"), atoms));
  transport.answer(200, page(300, {node("a", 180, "own")}));
  push(watch_event("ERROR", status_text(410, "Expired", "too old")));
  EXPECT_THAT(lists().back(), HasSubstr("resourceVersion=180"));
}

TEST_F(ReflectorTest, AnotherErrorEventResumesOrListsAgain) {
  start_watching();
  push(watch_event("MODIFIED", node("a", 105, "blue")));
  push(watch_event("ERROR", status_text(500, "InternalError", "etcd event received with PrevKv=nil")));
  time.run_for(io::seconds{2});
  ASSERT_EQ(transport.streams.size(), 2u);
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=105"));

  transport.answer(200, page(300, {node("a", 105, "blue")}));
  push(watch_event("ERROR", status_text(400, "BadRequest", "odd")));
  time.run_for(io::seconds{4});
  EXPECT_EQ(lists().size(), 2u);
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_EQ(count("careen_cache_events_total", {{"type", "error"}}), 2);
}

TEST_F(ReflectorTest, AnExpiredContinueTokenStartsTheListAnew) {
  transport.answer(200, page(100, {node("gone", 10)}, "token"));
  transport.answer(410, status_text(410, "Expired", "The provided continue parameter is too old"));
  transport.answer(200, page(200, {node("a", 150)}));
  start();
  EXPECT_THAT(lists(), ElementsAre(HasSubstr("limit=500"), HasSubstr("continue=token"), Not(HasSubstr("continue"))));
  EXPECT_THAT(names(), ElementsAre("a"));
}

// Paging that is too slow for the server's memory does not go on for ever.
TEST_F(ReflectorTest, ATokenThatExpiresAgainMakesItAListInOnePiece) {
  transport.answer(200, page(100, {node("a", 10)}, "token"));
  transport.answer(410, status_text(410, "Expired", "too old"));
  transport.answer(200, page(200, {node("a", 10)}, "token"));
  transport.answer(410, status_text(410, "Expired", "too old"));
  transport.answer(200, page(300, {node("a", 10), node("b", 20)}));
  start();
  EXPECT_EQ(lists().back(), "/api/v1/nodes");
  EXPECT_THAT(names(), ElementsAre("a", "b"));
}

TEST_F(ReflectorTest, ListsThatExpireForEverAreNotRepeatedWithoutPause) {
  transport.on_send([](Request) -> io::Task<io::Result<Response>> {
    co_return Response{410, status_text(410, "Expired", "too old"), {}};
  });
  start();
  time.run_for(io::minutes{5});
  EXPECT_LT(lists().size(), 40u);
  EXPECT_THAT(problems.open().at("watch nodes"), HasSubstr("forgets its lists"));
}

TEST_F(ReflectorTest, ASilentWatchIsOpenedAgain) {
  start_watching();
  time.run_for(io::seconds{60});
  push(bookmark(150));
  time.run_for(io::seconds{119});
  EXPECT_EQ(transport.streams.size(), 1u);
  EXPECT_EQ(reflector->silent_for(), io::seconds{119});
  time.run_for(io::seconds{1});
  ASSERT_EQ(transport.streams.size(), 2u);
  EXPECT_FALSE(transport.streams[0]->open());
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=150"));
  EXPECT_EQ(lists().size(), 1u);
}

// As from a server that was restored from a backup and waits for our version: only a list finds out.
TEST_F(ReflectorTest, AWatchThatIsSilentTwiceIsReplacedByAList) {
  start_watching();
  transport.answer(200, page(300, {node("z", 299)}));
  time.run_for(io::seconds{239});
  EXPECT_EQ(lists().size(), 1u);
  time.run_for(io::seconds{2});
  EXPECT_THAT(names(), ElementsAre("z"));
  EXPECT_EQ(count("careen_cache_relists_total", {{"cause", "silent"}}), 1);
  EXPECT_THAT(problems.open().at("watch nodes"), HasSubstr("neither events nor bookmarks"));
  push(bookmark(301));
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(ReflectorTest, ALateEventDoesNotUndoAnOwnWrite) {
  start_watching();
  store.put(*decode_node(node("a", 110, "own"), atoms));
  push(watch_event("MODIFIED", node("a", 105, "other")) + watch_event("MODIFIED", node("a", 110, "own")));
  EXPECT_EQ(colour("a"), "own");
  EXPECT_THAT(seen, ElementsAre("a=red -> a=own"));
  push(watch_event("MODIFIED", node("a", 111, "newer")));
  EXPECT_EQ(colour("a"), "newer");
}

TEST_F(ReflectorTest, ALateModificationDoesNotReviveTheDead) {
  start_watching();
  push(watch_event("DELETED", node("a", 110)));
  push(watch_event("MODIFIED", node("a", 105, "late")));
  store.put(*decode_node(node("a", 104, "late answer"), atoms));
  EXPECT_THAT(names(), ElementsAre("b"));
  EXPECT_THAT(seen, ElementsAre("a=red -> -"));
  EXPECT_EQ(reflector->position(), 110u);
}

TEST_F(ReflectorTest, EventsToldTwiceChangeNothing) {
  start_watching();
  const std::string events = watch_event("MODIFIED", node("a", 105, "blue")) + watch_event("DELETED", node("b", 106)) +
                             watch_event("ADDED", node("b", 107, "blue", "second"));
  push(events);
  const auto once = seen;
  push(events);
  EXPECT_EQ(seen, once);
}

TEST_F(ReflectorTest, DeletedAndMadeAgainWhileDisconnectedIsGoneAndNew) {
  start_watching();
  push(bookmark(101));
  stream().fail({io::ErrorKind::closed, "reset"});
  time.run_for(io::seconds{2});
  push(watch_event("DELETED", node("a", 110)) + watch_event("ADDED", node("a", 112, "red", "second")));
  EXPECT_THAT(seen, ElementsAre("a=red -> -", "- -> a=red"));
  seen.clear();
  // The same when only a list tells.
  transport.answer(200, page(300, {node("a", 250, "red", "third"), node("b", 20)}));
  push(watch_event("ERROR", status_text(410, "Expired", "too old")));
  EXPECT_THAT(seen, ElementsAre("a=red -> -", "- -> a=red"));
  EXPECT_EQ(store.find("a")->uid, "third");
}

TEST_F(ReflectorTest, AServerThatIsBehindIsAskedAgain) {
  start_watching();
  const std::string behind = status_text(504, "Timeout", "Too large resource version: 100, current: 90");
  transport.answer(504, behind);
  transport.answer(200, page(120, {node("a", 10)}));
  push(watch_event("ERROR", status_text(410, "Expired", "too old")));
  EXPECT_EQ(reflector->state(), Reflector::State::waiting);
  time.run_for(io::seconds{3});
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_THAT(lists().back(), HasSubstr("resourceVersion=100"));
}

// A restored backup: our newest version does not exist any more.
TEST_F(ReflectorTest, AServerThatStaysBehindIsBelievedInTheEnd) {
  start_watching();
  const std::string behind = status_text(504, "Timeout", "Too large resource version: 100, current: 50");
  for (int i = 0; i < 3; ++i) transport.answer(504, behind);
  transport.answer(200, page(50, {node("a", 5, "old")}));
  push(watch_event("ERROR", status_text(410, "Expired", "too old")));
  time.run_for(io::seconds{10});
  EXPECT_EQ(lists().back(), "/api/v1/nodes?limit=500");
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_EQ(colour("a"), "old");
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=50"));
  push(watch_event("MODIFIED", node("a", 51, "on")));
  EXPECT_EQ(colour("a"), "on");
}

TEST_F(ReflectorTest, ARefreshIsAListOfTheLatestState) {
  start_watching();
  push(bookmark(150));
  transport.answer(200, page(200, {node("c", 199)}));
  std::optional<uint64_t> done;
  scope.spawn(wait_for_refresh(*reflector, done));
  time.settle();
  EXPECT_EQ(done, 200u);
  EXPECT_EQ(lists().back(), "/api/v1/nodes?limit=500");
  EXPECT_THAT(names(), ElementsAre("c"));
  EXPECT_FALSE(transport.streams[0]->open());
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=200"));
  EXPECT_EQ(count("careen_cache_relists_total", {{"cause", "requested"}}), 1);
}

// A list that began before the call may be older than what the caller did; it does not count.
TEST_F(ReflectorTest, ARefreshDoesNotTakeAListThatHadBegun) {
  transport.answer(Response{200, page(100, {node("a", 10)}), std::nullopt}, io::seconds{5});
  transport.answer(Response{200, page(200, {node("b", 150)}), std::nullopt}, io::seconds{5});
  start();
  time.run_for(io::seconds{1});
  std::optional<uint64_t> first, second;
  scope.spawn(wait_for_refresh(*reflector, first));
  scope.spawn(wait_for_refresh(*reflector, second));
  time.run_for(io::seconds{5});
  EXPECT_TRUE(reflector->synced());
  EXPECT_EQ(first, std::nullopt);
  time.run_for(io::seconds{5});
  EXPECT_EQ(first, 200u);
  EXPECT_EQ(second, 200u);
  EXPECT_EQ(lists().size(), 2u);
}

TEST_F(ReflectorTest, ARefreshWaitsThroughFailuresWithoutHurry) {
  bool up = true;
  transport.on_send([&](Request) -> io::Task<io::Result<Response>> {
    if (!up) co_return io::fail(io::ErrorKind::connect, "refused");
    co_return Response{200, page(100, {node("a", 10)}), {}};
  });
  start();
  up = false;
  std::optional<uint64_t> done;
  scope.spawn(wait_for_refresh(*reflector, done));
  time.run_for(io::minutes{1});
  EXPECT_EQ(done, std::nullopt);
  EXPECT_LE(lists().size(), 20u);
  up = true;
  time.run_for(io::seconds{11});
  EXPECT_EQ(done, 100u);
}

TEST_F(ReflectorTest, ARefreshCutsASlowPauseShort) {
  bool allowed = false;
  transport.on_send([&](Request) -> io::Task<io::Result<Response>> {
    if (!allowed) co_return Response{403, status_text(403, "Forbidden", "no"), {}};
    co_return Response{200, page(100, {}), {}};
  });
  start();
  allowed = true;
  std::optional<uint64_t> done;
  scope.spawn(wait_for_refresh(*reflector, done));
  time.settle();
  EXPECT_EQ(done, 100u);
}

TEST_F(ReflectorTest, AnEventThatStaysUnreadableIsReplacedByAList) {
  start_watching();
  const std::string bad = watch_event("MODIFIED", R"({"metadata":{"name":"a","resourceVersion":"odd"}})");
  push(watch_event("MODIFIED", node("b", 105, "blue")) + bad);
  time.run_for(io::seconds{2});
  EXPECT_EQ(lists().size(), 1u);
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=105"));
  transport.answer(200, page(300, {node("a", 250, "blue")}));
  push(bad);
  time.run_for(io::seconds{3});
  EXPECT_EQ(lists().size(), 2u);
  EXPECT_EQ(colour("a"), "blue");
  EXPECT_EQ(reflector->state(), Reflector::State::watching);
}

TEST_F(ReflectorTest, AWatchThatIsClosedAtOnceIsNotOpenedWithoutEnd) {
  start_watching();
  for (int i = 0; i < 300; ++i) {
    stream().close();
    time.run_for(io::seconds{1});
  }
  EXPECT_LT(transport.streams.size(), 40u);
  EXPECT_THAT(problems.open().at("watch nodes"), HasSubstr("closes each watch at once"));
  EXPECT_EQ(lines->errors.size(), 1u);
}

TEST_F(ReflectorTest, MetricsTellTheStateOfTheCache) {
  start_watching();
  push(watch_event("ADDED", node("c", 101)) + bookmark(102));
  time.run_for(io::seconds{30});
  const std::string text = metrics.expose();
  EXPECT_THAT(text, HasSubstr("careen_cache_objects{resource=\"nodes\"} 3"));
  EXPECT_THAT(text, HasSubstr("careen_cache_silent_seconds{resource=\"nodes\"} 30"));
  EXPECT_THAT(text, HasSubstr("careen_cache_synced{resource=\"nodes\"} 1"));
  EXPECT_THAT(text, HasSubstr("careen_cache_events_total{resource=\"nodes\",type=\"added\"} 1"));
  EXPECT_THAT(text, HasSubstr("careen_cache_events_total{resource=\"nodes\",type=\"bookmark\"} 1"));
  scope.cancel();
  reflector.reset();
  metrics.expose();  // the hook outlives the reflector
}

// Killed at any moment, it leaves nothing behind that runs.
TEST_F(ReflectorTest, CanBeCancelledAnywhere) {
  for (int milliseconds = 0; milliseconds < 3000; milliseconds += 250) {
    transport.answer(Response{200, page(100, {node("a", 10)}, "token"), std::nullopt}, io::milliseconds{400});
    transport.answer(Response{503, "busy", std::nullopt}, io::milliseconds{400});
    transport.answer(Response{200, page(100, {node("b", 10)}), std::nullopt}, io::milliseconds{400});
    {
      io::Scope own(*loop);
      Reflector killed(*loop, client, metrics, problems, random, *sink, {.resource = resources::nodes});
      own.spawn(killed.run());
      own.spawn([](Reflector& r) -> io::Task<void> { co_await r.refresh(); }(killed));
      time.run_for(io::milliseconds{milliseconds});
    }
    EXPECT_EQ(transport.in_flight, 0);
    time.run_for(io::seconds{5});
  }
}

}  // namespace
}  // namespace careen::kube
