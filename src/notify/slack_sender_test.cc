#include "notify/slack_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "notify/test_support.h"

namespace careen::notify {
namespace {

using testing::HasSubstr;
using testing::Not;
using Blame = SendError::Blame;

constexpr const char* kHook = "https://hooks.slack.com/services/T00/B00/sEcrEtToken";

class SlackSenderTest : public testing::Test {
 protected:
  Sent send(std::string text = "hello", std::string hook = kHook) {
    return world.send(*make_slack_sender({std::move(hook), "#ops"}), {"", std::move(text)});
  }
  void answer(io::HttpResponse response) {
    world.http.otherwise = [response](const io::HttpRequest&) { return response; };
  }
  TestWorld world;
};

TEST_F(SlackSenderTest, PostsTextAndChannelAsJson) {
  ASSERT_TRUE(send("node \"a\"\n<b> & c"));
  ASSERT_EQ(world.http.requests.size(), 1u);
  const io::HttpRequest& request = world.http.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, kHook);
  EXPECT_EQ(io::header(request.headers, "Content-Type"), "application/json");
  EXPECT_EQ(request.body, R"({"text":"node \"a\"\n<b> & c","channel":"#ops"})");
}

TEST_F(SlackSenderTest, OnlyTheBodyDecides) {
  answer({500, {}, "ok"});
  EXPECT_TRUE(send());
  answer({200, {}, "ok\n"});
  const Sent sent = send();
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().blame, Blame::message);
  answer({200, {}, ""});
  EXPECT_FALSE(send());
  answer({404, {}, "no_service"});
  EXPECT_THAT(send().error().text, HasSubstr("no_service"));
}

TEST_F(SlackSenderTest, APauseThatIsAskedForIsPassedOn) {
  answer({429, {{"retry-after", "30"}}, "rate_limited"});
  const Sent sent = send();
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().blame, Blame::endpoint);
  EXPECT_EQ(sent.error().retry_after, io::seconds{30});
  answer({503, {{"Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"}}, ""});
  EXPECT_EQ(send().error().blame, Blame::endpoint);
  EXPECT_EQ(send().error().retry_after, std::nullopt);
}

TEST_F(SlackSenderTest, AnUnreachableHostIsTheEndpointsFault) {
  world.http.otherwise = [](const io::HttpRequest&) -> io::Result<io::HttpResponse> {
    return io::fail(io::ErrorKind::timeout, "POST https://hooks.slack.com:443: time-out");
  };
  EXPECT_EQ(send().error().blame, Blame::endpoint);
  world.http.otherwise = [](const io::HttpRequest&) -> io::Result<io::HttpResponse> {
    return io::fail(io::ErrorKind::invalid, "the URL is no http or https URL");
  };
  EXPECT_EQ(send().error().blame, Blame::message);
}

TEST_F(SlackSenderTest, TheHookStaysSecret) {
  for (const char* body : {"no such hook: https://hooks.slack.com/services/T00/B00/sEcrEtToken",
                           "no such path: /services/T00/B00/sEcrEtToken", "bad token sEcrEtToken",
                           "bad url https%3A%2F%2Fhooks.slack.com%2Fservices%2FT00%2FB00%2FsEcrEtToken"}) {
    answer({404, {}, body});
    const Sent sent = send();
    ASSERT_FALSE(sent);
    EXPECT_THAT(sent.error().text, Not(HasSubstr("sEcrEtToken")));
    EXPECT_THAT(sent.error().text, HasSubstr("***"));
    EXPECT_THAT(sent.error().text, HasSubstr("hooks.slack.com"));
  }
  EXPECT_THAT(std::string(make_slack_sender({kHook, "#ops"})->endpoint()), Not(HasSubstr("T00")));
  EXPECT_EQ(make_slack_sender({"https://me:pw@h:8443/x", "#ops"})->endpoint(), "h:8443 #ops");
}

TEST_F(SlackSenderTest, LongAnswersAreCutBetweenCharacters) {
  std::string body(199, 'x');
  answer({400, {}, body + "äöü"});
  EXPECT_THAT(send().error().text, HasSubstr("xx ..."));
}

}  // namespace
}  // namespace careen::notify
