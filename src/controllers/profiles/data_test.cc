#include "controllers/profiles/data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::profiles {
namespace {

io::Wall moment(std::string_view text) { return *io::parse_rfc3339(text); }

NodeData data_in(std::string_view annotation) {
  auto data = parse_node_data(annotation);
  EXPECT_TRUE(data.has_value()) << annotation << ": " << data.error().message;
  return data.value_or(NodeData{});
}

std::string problem_in_data(std::string_view annotation) {
  const auto data = parse_node_data(annotation);
  EXPECT_FALSE(data.has_value()) << annotation;
  return data ? "" : data.error().message;
}

std::string normalised(std::string_view annotation) { return format_node_data(data_in(annotation)); }

constexpr std::string_view kCurrentLayout =
    R"({"Profiles":{"flatcar":{"Transition":"2026-03-01T10:00:00.123456789Z","Current":"maintenance-required",)"
    R"("Previous":"operational"}},"Notifications":{"approval_required":"2026-03-01T10:00:05Z"}})";

TEST(StateTest, HasThreeNamesInOrderOfSeverity) {
  EXPECT_EQ(name_of(State::operational), "operational");
  EXPECT_EQ(name_of(State::maintenance_required), "maintenance-required");
  EXPECT_EQ(name_of(State::in_maintenance), "in-maintenance");
  for (State state : kStates) EXPECT_EQ(parse_state(name_of(state)), state);
  EXPECT_EQ(parse_state("Operational"), std::nullopt);
  EXPECT_EQ(parse_state(""), std::nullopt);
  EXPECT_EQ(more_severe(State::maintenance_required, State::operational), State::maintenance_required);
  EXPECT_EQ(more_severe(State::maintenance_required, State::in_maintenance), State::in_maintenance);
}

TEST(NodeDataTest, ReadsAndWritesTheCurrentLayout) {
  const NodeData data = data_in(kCurrentLayout);
  ASSERT_EQ(data.profiles.size(), 1U);
  const ProfileData& profile = data.profiles.at("flatcar");
  EXPECT_EQ(profile.current, State::maintenance_required);
  EXPECT_EQ(profile.previous, State::operational);
  EXPECT_EQ(profile.transition, moment("2026-03-01T10:00:00.123456789Z"));
  EXPECT_EQ(data.notifications.at("approval_required"), moment("2026-03-01T10:00:05Z"));
  EXPECT_EQ(format_node_data(data), kCurrentLayout);
}

TEST(NodeDataTest, NothingIsEmptyData) {
  for (const char* text : {"", " \n", "null", "{}", R"({"Profiles":null,"Notifications":null})"}) {
    EXPECT_EQ(normalised(text), R"({"Profiles":{},"Notifications":{}})") << text;
  }
}

TEST(NodeDataTest, SortsKeysByBytesAndNormalisesForeignFormatting) {
  EXPECT_EQ(normalised(R"( { "notifications" : {"b":"2026-03-01T12:30:00+02:30", "a":"0001-01-01T00:00:00Z"},
      "PROFILES":{"b":{"current":"operational","PREVIOUS":"operational","transition":"2026-03-01T10:00:05.500Z"},
      "B":{"Current":"in-maintenance","Previous":"in-maintenance","Transition":null},"ä":null}} )"),
            R"({"Profiles":{"B":{"Transition":"0001-01-01T00:00:00Z","Current":"in-maintenance","Previous":)"
            R"("in-maintenance"},"b":{"Transition":"2026-03-01T10:00:05.5Z","Current":"operational","Previous":)"
            R"("operational"}},"Notifications":{"a":"0001-01-01T00:00:00Z","b":"2026-03-01T10:00:00Z"}})");
}

TEST(NodeDataTest, IgnoresWhatItDoesNotKnow) {
  EXPECT_EQ(normalised(R"({"LastNotification":"yesterday","LastNotificationState":7,"LastProfile":["x"],
      "Extra":{"deep":[1,2,{"x":1e400}]},
      "Profiles":{"p":{"Current":"operational","Previous":"operational","Note":"mine"}}})"),
            R"({"Profiles":{"p":{"Transition":"0001-01-01T00:00:00Z","Current":"operational","Previous":)"
            R"("operational"}},"Notifications":{}})");
}

TEST(NodeDataTest, TextAfterTheFirstValueDoesNotCount) {
  EXPECT_EQ(normalised(std::string{kCurrentLayout} + " }} nonsense"), kCurrentLayout);
  EXPECT_EQ(normalised("{}{"), R"({"Profiles":{},"Notifications":{}})");
}

TEST(NodeDataTest, MigratesTheFirstLayout) {
  EXPECT_EQ(
      normalised(R"({"LastTransition":"2023-04-05T06:07:08Z","LastNotificationTimes":{"mail":"2023-04-05T07:00:00Z"},
      "ProfileStates":{"one":"in-maintenance","two":"operational"},"PreviousStates":{"one":"maintenance-required"}})"),
      R"({"Profiles":{"one":{"Transition":"2023-04-05T06:07:08Z","Current":"in-maintenance","Previous":)"
      R"("maintenance-required"},"two":{"Transition":"2023-04-05T06:07:08Z","Current":"operational","Previous":)"
      R"("operational"}},"Notifications":{"mail":"2023-04-05T07:00:00Z"}})");
}

// A newer writer's data is not undone by leftovers of the old one.
TEST(NodeDataTest, TheCurrentLayoutWinsOverTheFirst) {
  const NodeData data = data_in(R"({"ProfileStates":{"p":"in-maintenance","q":"operational"},
      "LastNotificationTimes":{"n":"2023-04-05T07:00:00Z"},
      "Profiles":{"p":{"Current":"operational","Previous":"operational"}},
      "Notifications":{"n":"2026-04-05T07:00:00Z"}})");
  EXPECT_EQ(data.profiles.at("p").current, State::operational);
  EXPECT_EQ(data.profiles.at("q").current, State::operational);
  EXPECT_EQ(data.notifications.at("n"), moment("2026-04-05T07:00:00Z"));
}

TEST(NodeDataTest, KeepsStatesItDoesNotKnow) {
  const std::string text =
      R"({"Profiles":{"p":{"Transition":"2026-03-01T10:00:00Z","Current":"broken <state>","Previous":""}},)"
      R"("Notifications":{}})";
  const NodeData data = data_in(text);
  EXPECT_EQ(data.profiles.at("p").current.known(), std::nullopt);
  EXPECT_EQ(data.profiles.at("p").current.text(), "broken <state>");
  EXPECT_EQ(data.profiles.at("p").previous.known(), std::nullopt);
  EXPECT_EQ(data_in(format_node_data(data)), data);
  EXPECT_THAT(format_node_data(data), testing::HasSubstr(R"("Current":"broken \u003cstate\u003e","Previous":"")"));
  // A state that is missing is not quietly operational.
  EXPECT_EQ(data_in(R"({"Profiles":{"p":{}}})").profiles.at("p").current.known(), std::nullopt);
}

TEST(NodeDataTest, EscapesAsGoDoes) {
  NodeData data;
  data.notifications["a\"\\\b\f\n\r\t\x01\x7f<>&\u2028\u2029é/"] = kZeroTime;
  EXPECT_EQ(format_node_data(data),
            "{\"Profiles\":{},\"Notifications\":{\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f\\u003c\\u003e\\u0026\\u2028"
            "\\u2029é/\":\"0001-01-01T00:00:00Z\"}}");
  EXPECT_EQ(data_in(format_node_data(data)), data);
}

TEST(NodeDataTest, SaysWhatIsWrong) {
  EXPECT_THAT(problem_in_data("{"), testing::HasSubstr("not valid JSON"));
  EXPECT_THAT(problem_in_data("{\"a\":\xff}"), testing::HasSubstr("not valid JSON"));
  EXPECT_EQ(problem_in_data("[]"), "the document is not an object");
  EXPECT_EQ(problem_in_data("\"x\""), "the document is not an object");
  EXPECT_EQ(problem_in_data("5"), "the document is not an object");
  EXPECT_EQ(problem_in_data(R"({"Profiles":[]})"), "Profiles is not an object");
  EXPECT_EQ(problem_in_data(R"({"Profiles":{"p":"operational"}})"), "Profiles.p is not an object");
  EXPECT_EQ(problem_in_data(R"({"Profiles":{"p":{"Current":1}}})"), "Profiles.p.Current is not a state name");
  EXPECT_EQ(problem_in_data(R"({"Profiles":{"p":{"Transition":"today"}}})"),
            "Profiles.p.Transition is not an RFC 3339 time: \"today\"");
  EXPECT_EQ(problem_in_data(R"({"Notifications":{"n":true}})"), "Notifications.n is not a time");
  EXPECT_EQ(problem_in_data(R"({"ProfileStates":{"p":{}}})"), "ProfileStates.p is not a state name");
}

// The short way takes exactly what is written again as it was.
TEST(NodeDataTest, KnowsItsOwnTexts) {
  const std::string own =
      R"({"Profiles":{"a":{"Transition":"2026-01-02T03:04:05.6Z","Current":"in-maintenance","Previous":"odd"},)"
      R"("b":{"Transition":"0001-01-01T00:00:00Z","Current":"operational","Previous":"operational"}},)"
      R"("Notifications":{"n":"2026-01-02T03:04:05Z"}})";
  const auto data = read_as_written(own);
  ASSERT_TRUE(data);
  EXPECT_EQ(format_node_data(*data), own);
  EXPECT_EQ(data->profiles.at("a").current.known(), State::in_maintenance);
  EXPECT_EQ(data->profiles.at("b").transition, kZeroTime);
  EXPECT_TRUE(read_as_written(R"({"Profiles":{},"Notifications":{}})"));
}

TEST(NodeDataTest, LeavesOtherTextsToTheLenientWay) {
  const auto with_time = [](std::string_view time) {
    return fmt::format(R"({{"Profiles":{{}},"Notifications":{{"n":"{}"}}}})", time);
  };
  ASSERT_TRUE(read_as_written(with_time("2026-01-02T03:04:05Z")));
  for (const std::string& other : {
           std::string(),
           std::string(R"({"Profiles":{}, "Notifications":{}})"),
           std::string(R"({"Profiles":{},"Notifications":{}} )"),
           std::string(R"({"Notifications":{},"Profiles":{}})"),
           std::string(R"({"Profiles":{},"Notifications":{"b":"2026-01-02T03:04:05Z","a":"2026-01-02T03:04:05Z"}})"),
           std::string(R"({"Profiles":{},"Notifications":{"a\u0062":"2026-01-02T03:04:05Z"}})"),
           with_time("2026-01-02t03:04:05Z"),
           with_time("2026-01-02T03:04:05+00:00"),
           with_time("2026-01-02T03:04:05.60Z"),
           with_time("2026-01-02T03:04:05.0Z"),
           with_time("2026-01-02T03:04:05.1234567891Z"),
           with_time("0001-01-02T00:00:00Z"),
           with_time("9999-01-02T00:00:00Z"),
           with_time("never"),
       }) {
    EXPECT_FALSE(read_as_written(other)) << other;
  }
}

TEST(NodeDataTest, BoundsNesting) {
  EXPECT_THAT(problem_in_data(std::string(50'000, '[')), testing::HasSubstr("not valid JSON"));
}

// A huge one keeps careen busy with nothing, and what was read can be read again.
TEST(NodeDataTest, BoundsItsSize) {
  EXPECT_THAT(problem_in_data(std::string(kMostDataBytes + 1, ' ')), testing::HasSubstr("longer than 65536 bytes"));
  NodeData data;
  while (format_node_data(data).size() <= kMostDataBytes) {
    EXPECT_TRUE(parse_node_data(format_node_data(data)));
    for (int i = 0; i < 100; ++i)
      data.notifications.emplace(fmt::format("n{:05}", data.notifications.size()), kZeroTime);
  }
  EXPECT_FALSE(read_as_written(format_node_data(data)));
  EXPECT_THAT(problem_in_data(format_node_data(data)), testing::HasSubstr("longer than"));
  // Short now, and long once it is written.
  std::string short_form = R"({"Notifications":{"x":null)";
  for (int i = 0; i < 4000; ++i) short_form += fmt::format(R"(,"{}":null)", i);
  ASSERT_LT(short_form.size(), kMostDataBytes);
  EXPECT_THAT(problem_in_data(short_form + "}}"), testing::HasSubstr("longer than"));
}

}  // namespace
}  // namespace careen::profiles
