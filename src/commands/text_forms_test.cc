// Small forms of text: wrapped lines, YAML, server-sent events.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "cli/text_wrap.h"
#include "cli/yaml_text.h"
#include "commands/event_stream.h"

namespace careen::app {
namespace {

using Strings = std::vector<std::string>;

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(wrap("one two three", 7), (Strings{"one two", "three"}));
  EXPECT_EQ(wrap("one two three", 8), (Strings{"one two", "three"}));
  EXPECT_EQ(wrap("one", 3), Strings{"one"});
  EXPECT_EQ(wrap("", 3), Strings{""});
}

TEST(Wrap, CutsWhatHasNoSpaces) {
  EXPECT_EQ(wrap("abcdefg", 3), (Strings{"abc", "def", "g"}));
  EXPECT_EQ(wrap("ab cdefgh", 3), (Strings{"ab", "cde", "fgh"}));
  EXPECT_EQ(wrap("äöüß", 2), (Strings{"äö", "üß"}));
  EXPECT_EQ(wrap("abc", 0), (Strings{"a", "b", "c"}));
}

std::string yaml(std::string_view json) { return yaml_text(kube::Json::parse(json)->view()); }

TEST(Yaml, KeepsOrderAndTypes) {
  EXPECT_EQ(yaml(R"({"b": 1, "a": [true, null, 1.5, "x y"], "c": {}, "d": []})"),
            "b: 1\na:\n  - true\n  - ~\n  - 1.5\n  - x y\nc: {}\nd: []\n");
}

// A text stays a text for every reader, whatever it looks like.
TEST(Yaml, TextsAreReadBackAsTexts) {
  for (const char* text : {"true", "No", "null", "~", "1", "1e3", "2026-03-02T10:00:00Z", "", "a: b", "- a", "#x", "*a",
                           "line\nline", "\"quoted\"", "ünï", "=", "<<", " a ", "a\\u001b"}) {
    const kube::Json document = kube::Json::object({{"value", text}});
    const std::string written = yaml_text(document.view());
    EXPECT_EQ(YAML::Load(written)["value"].as<std::string>(), text) << written;
  }
  EXPECT_EQ(yaml(R"({"a": "true", "b": "2026-03-02T10:00:00Z"})"), "a: \"true\"\nb: \"2026-03-02T10:00:00Z\"\n");
}

struct Heard {
  Strings events;
  EventStreamDecoder decoder{[this](std::string_view event, std::string_view data) {
    events.push_back(std::string(event) + "=" + std::string(data));
  }};
  void feed(std::string_view text) {
    decoder.buffer() += text;
    decoder.drain();
  }
};

TEST(EventStream, WholeEvents) {
  Heard heard;
  heard.feed("event: fleet\ndata: {\"a\":1}\n\n: comment\n\nevent: change\r\ndata:one\r\ndata: two\r\n\r\n");
  EXPECT_EQ(heard.events, (Strings{"fleet={\"a\":1}", "change=one\ntwo"}));
}

TEST(EventStream, CutAnywhere) {
  const std::string_view text = "event: fleet\ndata: {}\n\nevent: change\ndata: x\n\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Heard heard;
    heard.feed(text.substr(0, cut));
    heard.feed(text.substr(cut));
    EXPECT_EQ(heard.events, (Strings{"fleet={}", "change=x"})) << cut;
  }
}

TEST(EventStream, AnEventWithoutDataIsNone) {
  Heard heard;
  heard.feed("event: fleet\n\ndata: x\n\n");
  EXPECT_EQ(heard.events, Strings{"message=x"});
}

}  // namespace
}  // namespace careen::app
