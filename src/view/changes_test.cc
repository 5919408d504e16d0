#include "view/changes.h"

#include "io/http_server.h"
#include "io/sync.h"
#include "view/test_cluster.h"

namespace careen::view {
namespace {

using kube::Json;
using kube::JsonView;
using testing::HasSubstr;
using testing::StartsWith;

// Somebody who looks: reads all that comes, or waits until told to.
struct Looker {
  Looker(io::Loop& loop, Changes& changes, bool reads = true) : stream(changes.listen()), scope(loop) {
    if (reads) scope.spawn(read());
  }
  io::Task<void> read() {
    for (;;) {
      const auto more = co_await stream->read(text);
      if (!more || !*more) break;
    }
    ended = true;
  }
  // The documents of that kind of event that came since the last call of take().
  std::vector<Json> take(const std::string& kind) {
    std::vector<Json> found;
    const std::string mark = "event: " + kind + "\ndata: ";
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const size_t begin = at + mark.size();
      auto json = Json::parse(text.substr(begin, text.find("\n\n", begin) - begin));
      EXPECT_TRUE(json);
      if (json) found.push_back(std::move(*json));
    }
    text.clear();
    return found;
  }
  std::unique_ptr<io::BodyStream> stream;
  std::string text;
  bool ended = false;
  io::Scope scope;
};

class ChangesTest : public ViewTest {
 protected:
  void begin() {
    add_four();
    start();
    lead();
    run(io::seconds{10});
    changes.emplace(*loop, shown());
  }
  std::unique_ptr<io::Loop> loop = time.make_loop();  // another than the replica's
  std::optional<Changes> changes;
};

TEST_F(ChangesTest, NobodyListensNothingIsDone) {
  begin();
  label("a1", "done", "");
  run(io::minutes{5});
  EXPECT_EQ(changes->rows_made(), 0u);
  std::optional<Looker> looker;
  looker.emplace(*loop, *changes);
  run(io::seconds{1});
  EXPECT_EQ(changes->listeners(), 1u);
  looker.reset();
  EXPECT_EQ(changes->listeners(), 0u);
  const size_t made = changes->rows_made();
  label("a2", "done", "");
  run(io::minutes{5});
  EXPECT_EQ(changes->rows_made(), made);
}

TEST_F(ChangesTest, TheFleetFirstThenOnlyWhatChanges) {
  begin();
  Looker looker(*loop, *changes);
  run(io::seconds{1});
  EXPECT_THAT(looker.text, StartsWith("retry: 2000\nevent: fleet\ndata: {"));
  const auto fleets = looker.take("fleet");
  ASSERT_EQ(fleets.size(), 1u);
  EXPECT_EQ(fleets[0]["nodes"].size(), 4u);
  const size_t known = fleets[0]["timeline"].size();

  label("b1", "extra", "1");
  label("b1", "go", "x");
  run(io::seconds{2});
  // Nothing of it is shown.
  EXPECT_TRUE(looker.take("change").empty()) << looker.text;

  label("a1", "done", "");
  run(io::seconds{2});
  std::map<std::string, std::string> cells;
  std::vector<std::string> entries;
  for (const Json& change : looker.take("change")) {
    EXPECT_TRUE(change["time"].text());
    change["nodes"].for_each_element(
        [&](JsonView row) { cells[std::string(*row["name"].text())] = *row["cell"].text(); });
    change["timeline"].for_each_element([&](JsonView entry) { entries.emplace_back(*entry["text"].text()); });
  }
  // a1 leaves, a3 takes its place; a2 and b1 are what they were.
  EXPECT_EQ(cells, (std::map<std::string, std::string>{{"a1", "operational"}, {"a3", "in-maintenance"}}));
  EXPECT_EQ(entries.size(), 2u);
  EXPECT_GT(known, 0u);
}

TEST_F(ChangesTest, PartsComeWholeWhenTheyChange) {
  begin();
  Looker looker(*loop, *changes);
  run(io::seconds{1});
  looker.take("fleet");
  label("a1", "done", "");
  run(io::seconds{2});
  std::string budgets, profiles;
  for (const Json& change : looker.take("change")) {
    if (change["budgets"]) budgets = change["budgets"].dump();
    if (change["profiles"]) profiles = change["profiles"].dump();
    EXPECT_FALSE(change["labels"]);
    EXPECT_FALSE(change["pauses"]);
    EXPECT_FALSE(change["careen"]);
  }
  EXPECT_THAT(budgets, HasSubstr(R"(["a2","a3"])"));
  EXPECT_THAT(profiles, HasSubstr("\"operational\":1"));
  cluster.api.erase("/api/v1/nodes/b1");
  run(io::seconds{2});
  bool gone = false;
  for (const Json& change : looker.take("change")) gone |= change["gone"].dump() == R"(["b1"])";
  EXPECT_TRUE(gone);
}

TEST_F(ChangesTest, ManyChangesAreFewEvents) {
  begin();
  Looker looker(*loop, *changes);
  run(io::seconds{1});
  looker.take("fleet");
  for (int i = 0; i < 100; ++i) {
    label("a3", kZone, std::to_string(i));
    run(io::milliseconds{20});
  }
  // Two seconds, four times a second, and one for the end.
  EXPECT_LE(looker.take("change").size(), 10u);
}

TEST_F(ChangesTest, ASignOfLifeAndLittleElseWhileNothingHappens) {
  begin();
  Looker looker(*loop, *changes);
  run(io::seconds{10});
  looker.take("fleet");
  const size_t made = changes->rows_made();
  run(io::minutes{5});
  EXPECT_THAT(looker.text, HasSubstr(": still here\n\n"));
  EXPECT_TRUE(looker.take("change").empty());
  // A round a minute, and not four times a second.
  EXPECT_LE(changes->rows_made() - made, 4u * 6);
}

TEST_F(ChangesTest, EverybodyGetsTheSame) {
  begin();
  Looker first(*loop, *changes), second(*loop, *changes);
  run(io::seconds{1});
  EXPECT_EQ(first.take("fleet").size(), 1u);
  EXPECT_EQ(second.take("fleet").size(), 1u);
  label("a1", "done", "");
  run(io::seconds{3});
  EXPECT_FALSE(first.text.empty());
  EXPECT_EQ(first.text, second.text);
}

TEST_F(ChangesTest, WhoDoesNotKeepUpIsCutOff) {
  begin();
  Looker slow(*loop, *changes, false), quick(*loop, *changes);
  const std::string large(60'000, 'x');
  for (int i = 0; i < 100; ++i) {
    replica().problems().raise("test", large + std::to_string(i));
    run(io::seconds{1});
  }
  slow.scope.spawn(slow.read());
  run(io::seconds{1});
  EXPECT_TRUE(slow.ended);
  EXPECT_FALSE(quick.ended);
  EXPECT_GT(quick.text.size(), size_t{5} << 20);
}

TEST_F(ChangesTest, AReplicaMayOutliveIt) {
  begin();
  std::optional<Looker> looker;
  looker.emplace(*loop, *changes);
  run(io::seconds{1});
  looker.reset();
  changes.reset();
  label("a1", "done", "");
  run(io::seconds{5});
  EXPECT_TRUE(replica().running());
}

}  // namespace
}  // namespace careen::view
