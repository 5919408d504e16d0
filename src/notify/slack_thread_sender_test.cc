#include "notify/slack_thread_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "notify/test_support.h"

namespace careen::notify {
namespace {

using io::minutes;
using io::seconds;
using kube::Json;
using kube::JsonView;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Blame = SendError::Blame;

constexpr std::string_view kLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/thread";
constexpr const char* kToken = "xoxb-s&cret token";

// Slack as far as the tests look: what was posted, each as "text" or "text > thread".
class SlackThreadSenderTest : public testing::Test {
 protected:
  SlackThreadSenderTest() {
    world.http.otherwise = [this](const io::HttpRequest& request) { return take(request); };
  }

  io::Result<io::HttpResponse> take(const io::HttpRequest& request) {
    const io::Query form(request.body);
    const std::string text(form["text"]), thread(form["thread_ts"]);
    if (fail && fail(text)) return *fail(text);
    posted.push_back(thread.empty() ? text : text + " > " + thread);
    return io::HttpResponse{200, {}, R"({"ok":true,"ts":"ts)" + std::to_string(posted.size()) + R"("})"};
  }
  std::unique_ptr<Sender> sender() {
    return make_slack_thread_sender({kToken, "#ops", "thread", "kube-system", minutes{10}});
  }
  Sent send(std::string title = "title", std::string text = "text") {
    return world.send(*sender(), {std::move(title), std::move(text)});
  }
  std::string text_of_lease(const char* field) {
    return std::string(world.api.object(kLease)["spec"][field].text().value_or(""));
  }
  void put_lease(Json spec) {
    world.api.put(kLease, Json::object({{"apiVersion", "coordination.k8s.io/v1"},
                                        {"kind", "Lease"},
                                        {"metadata", Json::object({{"name", "thread"}, {"namespace", "kube-system"}})},
                                        {"spec", std::move(spec)}}));
  }
  std::string ago(io::Duration d) { return io::format_micro_time(world.time.wall_now() - d); }
  // What happens to the next request of that method.
  void next(std::string method, sim::Treatment treatment, std::function<void()> before = [] {}) {
    world.api.treat = [this, method, treatment, before](const kube::Request& request) {
      if (request.method != method) return sim::Treatment{};
      const auto first = before;
      const auto fate = treatment;
      world.api.treat = nullptr;
      first();
      return fate;
    };
  }

  TestWorld world;
  std::vector<std::string> posted;
  std::function<std::optional<io::Result<io::HttpResponse>>(const std::string& text)> fail;
};

TEST_F(SlackThreadSenderTest, PostsAFormWithTheTokenAndEscapedText) {
  ASSERT_TRUE(send("t", "<a> & b+c=d"));
  ASSERT_EQ(world.http.requests.size(), 2u);
  const io::HttpRequest& title = world.http.requests[0];
  EXPECT_EQ(title.method, "POST");
  EXPECT_EQ(title.url, "https://slack.com/api/chat.postMessage");
  EXPECT_EQ(io::header(title.headers, "Content-Type"), "application/x-www-form-urlencoded");
  EXPECT_FALSE(io::Query(title.body).has("thread_ts"));
  const io::Query reply(world.http.requests[1].body);
  EXPECT_EQ(reply["token"], kToken);
  EXPECT_EQ(reply["channel"], "#ops");
  EXPECT_EQ(reply["text"], "&lt;a&gt; &amp; b+c=d");
  EXPECT_EQ(reply["thread_ts"], "ts1");
}

TEST_F(SlackThreadSenderTest, AMissingLeaseIsCreatedWithTheThread) {
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1"));
  EXPECT_EQ(text_of_lease("holderIdentity"), "ts1");
  EXPECT_EQ(text_of_lease("renewTime"), io::format_micro_time(world.time.wall_now()));
  EXPECT_EQ(text_of_lease("acquireTime"), io::format_micro_time(world.time.wall_now()));
  EXPECT_EQ(world.api.object(kLease)["spec"]["leaseDurationSeconds"].integer(), 600);
}

TEST_F(SlackThreadSenderTest, TheLeaseIsWrittenBetweenTitleAndReply) {
  std::vector<size_t> posted_at_write;
  world.api.changed = [&](std::string_view path, JsonView) {
    if (path == kLease) posted_at_write.push_back(posted.size());
  };
  ASSERT_TRUE(send());
  EXPECT_THAT(posted_at_write, ElementsAre(1u));
}

TEST_F(SlackThreadSenderTest, AThreadLivesForThePeriodFromItsStart) {
  ASSERT_TRUE(send());
  const Json before = world.api.object(kLease);
  world.time.run_for(minutes{10});
  ASSERT_TRUE(send("title", "late"));
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1", "late > ts1"));
  EXPECT_TRUE(world.api.object(kLease) == before);
  world.time.run_for(io::microseconds{1});
  ASSERT_TRUE(send("title 2", "later"));
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1", "late > ts1", "title 2", "later > ts4"));
}

TEST_F(SlackThreadSenderTest, TheStoredDurationCounts) {
  put_lease(Json::object({{"holderIdentity", "old"}, {"renewTime", ago(minutes{50})}, {"leaseDurationSeconds", 3600}}));
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("text > old"));
}

TEST_F(SlackThreadSenderTest, AnExpiredLeaseGetsANewThreadAndKeepsTheRest) {
  put_lease(Json::object({{"holderIdentity", "old"},
                          {"acquireTime", "2020-01-01T00:00:00.000000Z"},
                          {"renewTime", ago(minutes{11})},
                          {"leaseDurationSeconds", 601},
                          {"leaseTransitions", 7}}));
  world.api.merge(kLease, Json::object({{"metadata", Json::object({{"labels", Json::object({{"a", "b"}})}})}}));
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1"));
  EXPECT_EQ(text_of_lease("holderIdentity"), "ts1");
  EXPECT_EQ(text_of_lease("acquireTime"), "2020-01-01T00:00:00.000000Z");
  EXPECT_EQ(text_of_lease("renewTime"), ago(seconds{0}));
  const Json lease = world.api.object(kLease);
  EXPECT_EQ(lease["spec"]["leaseDurationSeconds"].integer(), 600);
  EXPECT_EQ(lease["spec"]["leaseTransitions"].integer(), 7);
  EXPECT_EQ(lease.at("/metadata/labels/a").text(), "b");
}

TEST_F(SlackThreadSenderTest, ALeaseThatNamesNoThreadIsFilledIn) {
  const std::string now = ago(seconds{0});
  for (const Json& spec : {Json::object(), Json::object({{"holderIdentity", "old"}}),
                           Json::object({{"holderIdentity", "old"}, {"renewTime", now}}),
                           Json::object({{"renewTime", now}, {"leaseDurationSeconds", 600}})}) {
    posted.clear();
    put_lease(spec);
    ASSERT_TRUE(send());
    EXPECT_THAT(posted, ElementsAre("title", "text > ts1")) << spec.dump();
    world.api.erase(kLease);
  }
}

TEST_F(SlackThreadSenderTest, ManyNodesAtOnceMakeOneThread) {
  world.http.delay = io::milliseconds{200};
  std::vector<std::optional<Sent>> outcomes(50);
  std::vector<std::unique_ptr<Sender>> senders;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    senders.push_back(sender());
    world.begin(*senders.back(), {"title", "node " + std::to_string(i)}, outcomes[i]);
  }
  world.time.run_for(minutes{1});
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome && *outcome);
  EXPECT_EQ(posted.size(), 51u);
  EXPECT_EQ(std::count(posted.begin(), posted.end(), "title"), 1);
  EXPECT_EQ(std::count_if(posted.begin(), posted.end(), [](auto& text) { return text.ends_with(" > ts1"); }), 50);
}

TEST_F(SlackThreadSenderTest, TheTurnGoesOnWhenItsHolderIsCancelled) {
  world.http.delay = minutes{1};
  std::optional<Sent> first, second;
  const auto one = sender(), two = sender();
  io::Scope cancelled(*world.loop);
  cancelled.spawn(TestWorld::store(one->send({"title", "a"}, world.outside), &first));
  world.time.run_for(seconds{1});
  world.begin(*two, {"title", "b"}, second);
  world.time.run_for(seconds{1});
  cancelled.cancel();
  world.http.delay = {};
  world.time.run_for(seconds{1});
  EXPECT_FALSE(first);
  EXPECT_TRUE(second && *second);
}

TEST_F(SlackThreadSenderTest, WhoeverCreatedTheLeaseFirstHasTheThread) {
  next("POST", {}, [this] {
    put_lease(
        Json::object({{"holderIdentity", "theirs"}, {"renewTime", ago(seconds{1})}, {"leaseDurationSeconds", 600}}));
  });
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("title", "text > theirs"));
  EXPECT_EQ(text_of_lease("holderIdentity"), "theirs");
}

TEST_F(SlackThreadSenderTest, WhoeverRenewedTheLeaseFirstHasTheThread) {
  put_lease(Json::object({{"holderIdentity", "old"}, {"renewTime", ago(minutes{20})}, {"leaseDurationSeconds", 600}}));
  next("PATCH", {}, [this] {
    world.api.merge(
        kLease, Json::object({{"spec", Json::object({{"holderIdentity", "theirs"}, {"renewTime", ago(seconds{1})}})}}));
  });
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("title", "text > theirs"));
}

TEST_F(SlackThreadSenderTest, AConflictThatLeavesTheLeaseExpiredCostsNoSecondTitle) {
  put_lease(Json::object({{"holderIdentity", "old"}, {"renewTime", ago(minutes{20})}, {"leaseDurationSeconds", 600}}));
  next("PATCH", {}, [this] {
    world.api.merge(kLease, Json::object({{"metadata", Json::object({{"labels", Json::object({{"a", "b"}})}})}}));
  });
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1"));
  EXPECT_EQ(text_of_lease("holderIdentity"), "ts1");
}

TEST_F(SlackThreadSenderTest, ALeaseThatGoesMeanwhileIsCreated) {
  put_lease(Json::object({{"holderIdentity", "old"}, {"renewTime", ago(minutes{20})}, {"leaseDurationSeconds", 600}}));
  next("PATCH", {}, [this] { world.api.erase(kLease); });
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1"));
  EXPECT_EQ(text_of_lease("holderIdentity"), "ts1");
}

TEST_F(SlackThreadSenderTest, AWriteWhoseAnswerIsLostIsFoundByReading) {
  next("POST", {.cut = true});
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1"));
  EXPECT_EQ(world.api.count("POST leases"), 1);
  EXPECT_EQ(text_of_lease("holderIdentity"), "ts1");
}

TEST_F(SlackThreadSenderTest, AFailedReplyFindsTheThreadAgain) {
  fail = [](const std::string& text) -> std::optional<io::Result<io::HttpResponse>> {
    if (text == "title") return std::nullopt;
    return io::HttpResponse{503, {}, "later"};
  };
  EXPECT_EQ(send().error().blame, Blame::endpoint);
  fail = nullptr;
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1"));
}

TEST_F(SlackThreadSenderTest, AThreadThatSomebodyDeletedIsReplacedByANewOne) {
  ASSERT_TRUE(send());
  world.http.otherwise = [this](const io::HttpRequest& request) -> io::Result<io::HttpResponse> {
    if (io::Query(request.body)["thread_ts"] != "ts1") return take(request);
    return io::HttpResponse{200, {}, R"({"ok":false,"error":"thread_not_found"})"};
  };
  ASSERT_TRUE(send("again", "more"));
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1", "again", "more > ts3"));
  EXPECT_EQ(text_of_lease("holderIdentity"), "ts3");
}

TEST_F(SlackThreadSenderTest, AFailedTitleLeavesNoLease) {
  fail = [](const std::string&) { return io::HttpResponse{200, {}, R"({"ok":false,"error":"channel_not_found"})"}; };
  const Sent sent = send();
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().blame, Blame::message);
  EXPECT_THAT(sent.error().text, HasSubstr("#ops: channel_not_found"));
  EXPECT_FALSE(world.api.object(kLease)["metadata"]);
}

TEST_F(SlackThreadSenderTest, ATitleThatCouldNotBeRecordedIsUsedByTheNextSend) {
  world.api.treat = [](const kube::Request& request) {
    if (request.method != "POST") return sim::Treatment{};
    return sim::Treatment{.refuse = kube::Response{403, R"({"kind":"Status","message":"no rights"})", {}}};
  };
  const Sent sent = send();
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().blame, Blame::message);
  EXPECT_THAT(sent.error().text, HasSubstr("kube-system/thread"));
  EXPECT_THAT(sent.error().text, HasSubstr("no rights"));
  EXPECT_THAT(posted, ElementsAre("title"));
  world.api.treat = nullptr;
  const std::string begun = ago(seconds{0});
  world.time.run_for(minutes{1});
  ASSERT_TRUE(send());
  EXPECT_THAT(posted, ElementsAre("title", "text > ts1"));
  EXPECT_EQ(text_of_lease("renewTime"), begun);
}

TEST_F(SlackThreadSenderTest, WithoutTheApiNothingIsPosted) {
  world.api.treat = [](const kube::Request&) { return sim::Treatment{.refuse = kube::Response{500, "broken", {}}}; };
  const Sent sent = send();
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().blame, Blame::message);
  EXPECT_THAT(posted, IsEmpty());
}

TEST_F(SlackThreadSenderTest, SlacksAnswersAreToldApart) {
  struct Case {
    io::HttpResponse answer;
    Blame blame;
    std::optional<io::Duration> pause;
    const char* text;
  };
  for (const Case& c : std::vector<Case>{
           {{429, {{"Retry-After", "17"}}, ""}, Blame::endpoint, seconds{17}, "429"},
           {{200, {{"Retry-After", "3"}}, R"({"ok":false,"error":"ratelimited"})"}, Blame::endpoint, seconds{3}, "rat"},
           {{502, {}, "<html>"}, Blame::endpoint, {}, "502"},
           {{200, {}, R"({"ok":false,"error":"invalid_auth"})"}, Blame::message, {}, "invalid_auth"},
           {{200, {}, R"({"ok":"true","ts":"1"})"}, Blame::message, {}, "without a reason"},
           {{200, {}, R"({"ok":true})"}, Blame::message, {}, "ts"},
           {{200, {}, "<html>"}, Blame::message, {}, "expected status 200 and JSON"},
           {{302, {}, R"({"ok":true,"ts":"1"})"}, Blame::message, {}, "302"},
       }) {
    fail = [&](const std::string&) { return c.answer; };
    const Sent sent = send();
    ASSERT_FALSE(sent) << c.answer.body;
    EXPECT_EQ(sent.error().blame, c.blame) << c.answer.body;
    EXPECT_EQ(sent.error().retry_after, c.pause) << c.answer.body;
    EXPECT_THAT(sent.error().text, HasSubstr(c.text));
  }
}

TEST_F(SlackThreadSenderTest, TheTokenStaysSecret) {
  fail = [](const std::string&) {
    return io::HttpResponse{500, {}, "token=xoxb-s%26cret%20token or xoxb-s%26cret+token or xoxb-s&cret token"};
  };
  const Sent sent = send();
  ASSERT_FALSE(sent);
  EXPECT_THAT(sent.error().text, Not(HasSubstr("cret")));
  EXPECT_THAT(sent.error().text, HasSubstr("token=*** or *** or ***"));
}

TEST_F(SlackThreadSenderTest, AShortPeriodIsASecond) {
  const auto brief = make_slack_thread_sender({kToken, "#ops", "thread", "kube-system", io::milliseconds{300}});
  ASSERT_TRUE(world.send(*brief, {"title", "text"}));
  EXPECT_EQ(world.api.object(kLease)["spec"]["leaseDurationSeconds"].integer(), 1);
}

}  // namespace
}  // namespace careen::notify
