#include "config/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file.h"
#include "config/plugin_doc.h"

namespace careen::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

std::optional<std::string> reader_environment(std::string_view name) {
  static const std::map<std::string, std::string, std::less<>> kVariables{
      {"NUMBER", "0123"}, {"FLOAT", "1.5"},     {"FLAG", "on"},      {"SECRET", "hunter2"}, {"WAIT", "90"},
      {"LIST", "a, b"},   {"PADDED", "  x, y"}, {"QUOTED", "\"q\""}, {"COMMA", "one, two"}, {"NOTHING", ""},
      {"YES", "yes"},     {"SHARE", "25%"},     {"NULLISH", "null"}, {"BRACKETS", "[p,q]"}, {"TRUE", "true"}};
  const auto found = kVariables.find(name);
  return found == kVariables.end() ? std::nullopt : std::optional{found->second};
}

// A file whose top level is the object that is read.
class Keys {
 public:
  explicit Keys(std::string text, std::vector<KeyDoc> docs = {})
      : document_(*Document::parse(std::move(text))),
        environment_(reader_environment),
        file_("f.yaml", document_, environment_),
        docs_(std::move(docs)),
        reader(file_, &document_.root(), {1, 1}, "check \"x\"", &docs_) {}

  std::vector<std::string> errors() const { return texts(file_.errors()); }
  std::vector<std::string> warnings() const { return texts(file_.warnings()); }
  std::vector<std::string> secrets() const { return file_.secrets(); }

 private:
  static std::vector<std::string> texts(const std::vector<ConfigError>& errors) {
    std::vector<std::string> out;
    for (const ConfigError& error : errors) out.push_back(error.to_text());
    return out;
  }
  Document document_;
  Environment environment_;
  ConfigFile file_;
  std::vector<KeyDoc> docs_;

 public:
  ConfigReader reader;
};

std::string as_string(const std::string& value) {
  Keys keys("k: " + value);
  const std::string result = keys.reader.string("k", Required::no);
  return keys.errors().empty() ? "<" + result + ">" : keys.errors()[0];
}

TEST(ConfigReaderTest, StringsTakeEveryScalar) {
  EXPECT_EQ(as_string("text"), "<text>");
  EXPECT_EQ(as_string("1.50"), "<1.5>");
  EXPECT_EQ(as_string("yes"), "<true>");
  EXPECT_EQ(as_string("010"), "<8>");
  EXPECT_EQ(as_string("'010'"), "<010>");
  EXPECT_EQ(as_string("null"), "<>");
  EXPECT_EQ(as_string("11:00"), "<11:00>");
  EXPECT_EQ(as_string("[a]"), "f.yaml:1:4: check \"x\": \"k\" must be a text, not a list");
  EXPECT_EQ(as_string("{a: b}"), "f.yaml:1:4: check \"x\": \"k\" must be a text, not a map");
}

// What a variable says is not read again where text is wanted.
TEST(ConfigReaderTest, InterpolatedStringsStayAsTheyAre) {
  EXPECT_EQ(as_string("${NUMBER}"), "<0123>");
  EXPECT_EQ(as_string("${FLAG}"), "<on>");
  EXPECT_EQ(as_string("${PADDED}"), "<  x, y>");
  EXPECT_EQ(as_string("'{{ .X }}, ${COMMA}'"), "<{{ .X }}, one, two>");
  EXPECT_EQ(as_string("${QUOTED}"), "<\"q\">");
  EXPECT_EQ(as_string("${NULLISH}"), "<null>");
  EXPECT_EQ(as_string("a$$b"), "<a$b>");
  EXPECT_EQ(as_string("${TRUE}"), "<true>");
  EXPECT_EQ(as_string("${MISSING}"), "f.yaml:1:4: the variable \"MISSING\" is not set, or empty");
  EXPECT_EQ(as_string("ab ${NOTHING}"), "f.yaml:1:7: the variable \"NOTHING\" is not set, or empty");
}

TEST(ConfigReaderTest, KeysOfTheFileComeBeforeTheEnvironment) {
  Keys keys("SECRET: ${base}!\nbase: here\nnumber: 5\nk: ${SECRET} ${number} ${FLAG}\n");
  EXPECT_EQ(keys.reader.string("k", Required::yes), "here! 5 on");
  EXPECT_THAT(keys.errors(), IsEmpty());
}

TEST(ConfigReaderTest, CirclesAndBombsOfVariablesAreErrors) {
  Keys circle("a: ${b}\nb: ${a}\nk: ${a}\n");
  circle.reader.string("k", Required::no);
  EXPECT_THAT(circle.errors(), ElementsAre(HasSubstr("f.yaml:3:4: the variable \"a\" cannot be resolved")));
  EXPECT_THAT(circle.errors(), ElementsAre(HasSubstr("refers to itself")));

  std::string bomb = "v0: x\n";
  for (int i = 1; i < 30; ++i)
    bomb += "v" + std::to_string(i) + ": ${v" + std::to_string(i - 1) + "}${v" + std::to_string(i - 1) + "}\n";
  Keys exponential(bomb + "k: ${v29}\n");
  exponential.reader.string("k", Required::no);
  EXPECT_THAT(exponential.errors(), ElementsAre(HasSubstr("too many")));

  Keys map("m: {a: b}\nk: ${m}\n");
  map.reader.string("k", Required::no);
  EXPECT_THAT(map.errors(), ElementsAre(HasSubstr("is a map at the top level of this file, not a text")));
}

TEST(ConfigReaderTest, AValueNobodyReadsIsNotResolvedButItsBracesAreChecked) {
  Keys keys("a: ${MISSING}\nb: [x, 'y ${OPEN']\n");
  EXPECT_THAT(keys.errors(), ElementsAre(HasSubstr("f.yaml:2:11: this \"${\" has no closing brace")));
}

TEST(ConfigReaderTest, Integers) {
  Keys keys("a: 3\nb: '0x10'\nc: 2.9\nd: ${NUMBER}\ne: ${FLOAT}\nzero: 0\n");
  EXPECT_EQ(keys.reader.integer("a", Required::yes), 3);
  EXPECT_EQ(keys.reader.integer("b", Required::yes), 16);
  EXPECT_EQ(keys.reader.integer("c", Required::yes), 2);
  EXPECT_EQ(keys.reader.integer("d", Required::yes), 83);
  EXPECT_EQ(keys.reader.integer("e", Required::yes), 1);
  EXPECT_EQ(keys.reader.integer("zero", Required::no, 7), 0);
  EXPECT_EQ(keys.reader.integer("absent", Required::no, 7), 7);
  EXPECT_THAT(keys.errors(), IsEmpty());
  EXPECT_TRUE(keys.reader.ok());
}

TEST(ConfigReaderTest, AllErrorsAreCollectedWithTheirPlaces) {
  Keys keys("max: many\nflag: 'yes'\nwait: 5x\nlist: [[a]]\nzero: 0\nempty: ''\nmap: {}\nnone: 0\n");
  EXPECT_EQ(keys.reader.integer("max", Required::yes), 0);
  EXPECT_FALSE(keys.reader.ok());
  keys.reader.boolean("flag");
  keys.reader.duration("wait", Required::no);
  keys.reader.strings("list", Required::yes);
  keys.reader.integer("zero", Required::yes);
  keys.reader.duration("none", Required::yes);
  keys.reader.string("empty", Required::yes);
  keys.reader.integer("map", Required::no);
  keys.reader.string("absent", Required::yes);
  keys.reader.error("max", "must be positive");
  EXPECT_THAT(keys.errors(),
              ElementsAre("f.yaml:1:1: check \"x\": \"absent\" is required",
                          "f.yaml:1:6: check \"x\": \"max\" must be an integer, not \"many\"",
                          "f.yaml:1:6: check \"x\": \"max\" must be positive",
                          "f.yaml:2:7: check \"x\": \"flag\" must be true or false, not \"yes\"",
                          "f.yaml:3:7: check \"x\": \"wait\" must be a duration such as 90s or 1h30m, not \"5x\"",
                          "f.yaml:4:8: check \"x\": \"list\" must be a text, not a list",
                          "f.yaml:5:7: check \"x\": \"zero\" must not be 0",
                          "f.yaml:6:8: check \"x\": \"empty\" must not be empty",
                          "f.yaml:7:6: check \"x\": \"map\" must be a single value, not a map",
                          "f.yaml:8:7: check \"x\": \"none\" must not be 0"));
}

TEST(ConfigReaderTest, Booleans) {
  Keys keys("a: yes\nb: 'T'\nc: ${FLAG}\nd: null\ne: ${YES}\nf: 1\n");
  EXPECT_TRUE(keys.reader.boolean("a"));
  EXPECT_TRUE(keys.reader.boolean("b"));
  EXPECT_TRUE(keys.reader.boolean("c"));
  EXPECT_TRUE(keys.reader.boolean("d", true));
  EXPECT_FALSE(keys.reader.boolean("absent"));
  EXPECT_THAT(keys.errors(), IsEmpty());
  keys.reader.boolean("e");
  keys.reader.boolean("f");
  EXPECT_EQ(keys.errors().size(), 2U);
}

TEST(ConfigReaderTest, Durations) {
  Keys keys("a: 90\nb: 1h\nc: 0.5\nd: ${WAIT}\ne: '90'\n");
  EXPECT_EQ(keys.reader.duration("a", Required::yes), io::seconds{90});
  EXPECT_EQ(keys.reader.duration("b", Required::yes), io::hours{1});
  EXPECT_EQ(keys.reader.duration("c", Required::yes), io::milliseconds{500});
  EXPECT_EQ(keys.reader.duration("d", Required::yes), io::seconds{90});
  EXPECT_EQ(keys.reader.duration("absent", Required::no, io::minutes{1}), io::minutes{1});
  EXPECT_THAT(keys.errors(), IsEmpty());
  keys.reader.duration("e", Required::yes);
  EXPECT_EQ(keys.errors().size(), 1U);
}

TEST(ConfigReaderTest, DurationsThatAreTextsNeedAUnit) {
  Keys keys("a: 0\nb: 30m\nc: 90\nd: ${WAIT}\ne: 1.5\nf: soon\n");
  EXPECT_EQ(keys.reader.duration_string("a", Required::yes), io::Duration{0});
  EXPECT_EQ(keys.reader.duration_string("b", Required::yes), io::minutes{30});
  EXPECT_THAT(keys.errors(), IsEmpty());
  for (const char* key : {"c", "d", "e", "f", "g"}) keys.reader.duration_string(key, Required::yes);
  EXPECT_THAT(
      keys.errors(),
      ElementsAre(HasSubstr("\"g\" is required"),
                  "f.yaml:3:4: check \"x\": \"c\" must be a duration with its unit, such as 90s or 1h30m, not 90",
                  "f.yaml:4:4: check \"x\": \"d\" must be a duration with its unit, such as 90s or 1h30m; what its "
                  "reference resolves to is none",
                  HasSubstr("with its unit, such as 90s or 1h30m, not 1.5"), HasSubstr("not \"soon\"")));
}

TEST(ConfigReaderTest, Lists) {
  Keys keys(
      "shared: [s, '${FLAG}']\na: [x, 1.50, yes, '${SECRET}']\nb: single\nc: ${LIST}\nd: ${BRACKETS}\ne: ${shared}\n"
      "f: ${SECRET}\ng: a,b\nh: ${NUMBER}\ni: x$$$$y\nj: ${NULLISH}\nk: null\n");
  EXPECT_THAT(keys.reader.strings("a", Required::yes), ElementsAre("x", "1.5", "true", "hunter2"));
  EXPECT_THAT(keys.reader.strings("b", Required::yes), ElementsAre("single"));
  EXPECT_THAT(keys.reader.strings("c", Required::yes), ElementsAre("a", "b"));
  EXPECT_THAT(keys.reader.strings("d", Required::yes), ElementsAre("p", "q"));
  EXPECT_THAT(keys.reader.strings("e", Required::yes), ElementsAre("s", "on"));
  EXPECT_THAT(keys.reader.strings("f", Required::yes), ElementsAre("hunter2"));
  EXPECT_THAT(keys.reader.strings("g", Required::yes), ElementsAre("a,b"));
  EXPECT_THAT(keys.reader.strings("h", Required::yes), ElementsAre("0123"));
  EXPECT_THAT(keys.reader.strings("i", Required::yes), ElementsAre("x$$y"));
  EXPECT_THAT(keys.reader.strings("j", Required::no), ElementsAre());
  EXPECT_THAT(keys.reader.strings("k", Required::no), ElementsAre());
  EXPECT_THAT(keys.errors(), IsEmpty());
}

TEST(ConfigReaderTest, AMapIsReadAsAnEmptyList) {
  Keys keys("a: {x: y}\n");
  EXPECT_THAT(keys.reader.strings("a", Required::no), ElementsAre());
  EXPECT_THAT(keys.errors(), IsEmpty());
  EXPECT_THAT(keys.warnings(), ElementsAre(HasSubstr("f.yaml:1:4: check \"x\": \"a\" must be a list")));
  keys.reader.strings("a", Required::yes);
  EXPECT_EQ(keys.errors().size(), 1U);
}

TEST(ConfigReaderTest, ResolvedValuesNeverAppearInMessages) {
  Keys keys("a: ${SECRET}\nb: 'x${SECRET}'\nc: [a, '${SECRET:?}', '${NONE_${SECRET}}']\n");
  keys.reader.integer("a", Required::yes);
  keys.reader.boolean("a");
  keys.reader.duration("b", Required::yes);
  keys.reader.duration_string("b", Required::yes);
  keys.reader.strings("c", Required::yes);
  EXPECT_EQ(keys.errors().size(), 4U);
  for (const std::string& error : keys.errors()) EXPECT_THAT(error, Not(HasSubstr("hunter2")));
}

TEST(ConfigReaderTest, ANearMissOfARequiredKeyIsPointedOut) {
  Keys keys("kye: a\nother: b\n");
  keys.reader.string("key", Required::yes);
  EXPECT_THAT(
      keys.errors(),
      ElementsAre("f.yaml:1:1: check \"x\": \"key\" is required; the key \"kye\" is not known, did you mean \"key\"?"));
}

TEST(ConfigReaderTest, NestedObjects) {
  Keys keys("secret:\n  name: vault\nnothing: null\nscalar: 5\n");
  ConfigReader secret = keys.reader.object("secret");
  EXPECT_EQ(secret.string("name", Required::yes), "vault");
  EXPECT_FALSE(keys.reader.object("nothing").has("name"));
  EXPECT_FALSE(keys.reader.object("absent").has("name"));
  EXPECT_TRUE(keys.reader.ok());
  // The missing key of what is no object is not a second error.
  keys.reader.object("scalar").string("name", Required::yes);
  EXPECT_THAT(keys.errors(), ElementsAre("f.yaml:4:9: check \"x\": \"scalar\" must be a map of keys and values"));
  EXPECT_FALSE(keys.reader.ok());
  keys.reader.object("secret").string("namespace", Required::yes);
  EXPECT_THAT(keys.errors()[0], HasSubstr("f.yaml:2:3: check \"x\": \"secret\": \"namespace\" is required"));
}

TEST(ConfigReaderTest, CountsAndPercentages) {
  Keys keys(
      "a: 3\nb: 10%\nc: '7'\nd: 100%\nzero: 0\ne: ${SHARE}\nf: 0%\ng: 101%\nh: -1\ni: 5 %\nj: 1.5%\nk: ${SECRET}\n");
  const auto read = [&](std::string_view key, Required required = Required::no) {
    const CountOrPercentage value = keys.reader.count_or_percentage(key, required, {2, 0});
    return std::pair(value.count, value.percent);
  };
  EXPECT_THAT(read("a"), Pair(3, 0));
  EXPECT_THAT(read("b"), Pair(0, 10));
  EXPECT_THAT(read("c"), Pair(7, 0));
  EXPECT_THAT(read("d"), Pair(0, 100));
  EXPECT_THAT(read("e"), Pair(0, 25));
  EXPECT_THAT(read("zero"), Pair(0, 0));
  EXPECT_THAT(read("absent"), Pair(2, 0));
  EXPECT_THAT(keys.errors(), IsEmpty());
  EXPECT_THAT(read("h"), Pair(-1, 0));
  for (const char* key : {"f", "g", "i", "j", "k"}) EXPECT_THAT(read(key), Pair(2, 0)) << key;
  read("zero", Required::yes);
  read("absent", Required::yes);
  EXPECT_THAT(
      keys.errors(),
      ElementsAre(HasSubstr("\"absent\" is required"), HasSubstr("5:7: check \"x\": \"zero\" must not be 0"),
                  HasSubstr("f.yaml:7:4: check \"x\": \"f\" must be a count such as 3 or a percentage from 1% to "
                            "100%, not \"0%\""),
                  HasSubstr("not \"101%\""), HasSubstr("not \"5 %\""), HasSubstr("not \"1.5%\""),
                  HasSubstr("what its reference resolves to is none")));
}

TEST(ConfigReaderTest, ListsOfObjects) {
  Keys keys("list: [{name: a}, null, {nmae: c}]\nmap: {}\nbad: [{name: a}, 5]\n",
            {{.name = "list", .type = KeyType::objects, .keys = {{.name = "name"}}},
             {.name = "map", .type = KeyType::objects},
             {.name = "bad", .type = KeyType::objects, .keys = {{.name = "name"}}}});
  std::vector<ConfigReader> list = keys.reader.objects("list");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].string("name", Required::yes), "a");
  EXPECT_EQ(list[1].string("name", Required::no), "");
  EXPECT_THAT(keys.errors(), IsEmpty());
  EXPECT_TRUE(keys.reader.objects("absent").empty());
  EXPECT_TRUE(keys.reader.objects("map").empty());
  list[2].string("name", Required::yes);
  EXPECT_EQ(keys.reader.objects("bad").size(), 2U);
  EXPECT_THAT(keys.errors(),
              ElementsAre(HasSubstr("f.yaml:1:25: check \"x\": \"list[2]\": \"name\" is required; the key \"nmae\""),
                          "f.yaml:2:6: check \"x\": \"map\" must be a list of maps, not a map",
                          HasSubstr("f.yaml:3:18: check \"x\": \"bad[1]\" must be a map")));
}

TEST(ConfigReaderTest, EntriesKeepTheTypesOfTheFile) {
  Keys keys("a: true\nb: 5\nc: 1.5\nd: '5'\ne: null\nf: ${FLAG}\ng: ${NUMBER}\nh: ${SECRET}\n",
            {{.name = "<field>", .type = KeyType::any}});
  using Scalar = ConfigReader::Scalar;
  EXPECT_THAT(keys.reader.entries(),
              ElementsAre(Pair("a", Scalar(true)), Pair("b", Scalar(std::int64_t{5})), Pair("c", Scalar(1.5)),
                          Pair("d", Scalar("5")), Pair("f", Scalar(true)), Pair("g", Scalar(std::int64_t{83})),
                          Pair("h", Scalar("hunter2"))));
  EXPECT_THAT(keys.secrets(), ElementsAre("hunter2"));
  keys.reader.warn_unknown_keys();
  EXPECT_THAT(keys.warnings(), IsEmpty());
  Keys nested("a: {}\nb: ${LIST}\n");
  EXPECT_THAT(nested.reader.entries(), IsEmpty());
  EXPECT_EQ(nested.errors().size(), 2U);
}

TEST(ConfigReaderTest, WhatMayBeShown) {
  Keys keys(
      "plain: text\nnumber: 010\nvariable: ${SECRET}\nmixed: a ${FLAG}\ndollar: a$$b\ntoken: abcdef\n"
      "list: [a, b]\nvariables: [a, '${FLAG}']\nmap: {}\n",
      {{.name = "token", .secret = true}});
  EXPECT_EQ(keys.reader.shown("plain"), "text");
  EXPECT_EQ(keys.reader.shown("number"), "8");
  EXPECT_EQ(keys.reader.shown("variable"), "***");
  EXPECT_EQ(keys.reader.shown("mixed"), "***");
  EXPECT_EQ(keys.reader.shown("dollar"), "a$b");
  EXPECT_EQ(keys.reader.shown("token"), "***");
  EXPECT_EQ(keys.reader.shown("list"), "a, b");
  EXPECT_EQ(keys.reader.shown("variables"), "***");
  EXPECT_EQ(keys.reader.shown("map"), "***");
  EXPECT_EQ(keys.reader.shown("absent"), "");
}

TEST(ConfigReaderTest, SecretKeysStayOutOfMessages) {
  Keys keys("token: hunter3\n", {{.name = "token", .secret = true}});
  keys.reader.integer("token", Required::yes);
  keys.reader.duration_string("token", Required::yes);
  EXPECT_THAT(keys.errors(), ElementsAre("f.yaml:1:8: check \"x\": \"token\" must be a duration such as 90s or 1h30m",
                                         "f.yaml:1:8: check \"x\": \"token\" must be an integer"));
}

// A plugin quotes what it cannot use, or a part of it.
TEST(ConfigReaderTest, MessagesOfPluginsAreRedacted) {
  Keys keys("a: ${SECRET}\nb: [x, 'a ${FLAG}']\nc: plain\nd: abc\n", {{.name = "d", .secret = true}});
  keys.reader.error("a", "must be a \"day\", not \"hunter2\" or \"hunt\"; (hunter2)");
  keys.reader.error("b", "is no \"on\"");
  keys.reader.error("c", "is no \"plain\"");
  keys.reader.warn("d", "is no \"abc\" but \"");
  EXPECT_THAT(keys.errors(), ElementsAre(HasSubstr("\"a\" must be a \"day\", not \"***\" or \"***\"; (***)"),
                                         HasSubstr("\"b\" is no \"***\""), HasSubstr("\"c\" is no \"plain\"")));
  EXPECT_THAT(keys.warnings(), ElementsAre(HasSubstr("\"d\" is no \"***\" but \"")));
}

TEST(ConfigReaderTest, ErrorsInsideATextHaveTheirPlace) {
  Keys keys("plain: one two\nblock: |\n  first\n  second {{ line\n  third\nvariable: a ${FLAG} b\ndollar: a$$b c\n");
  keys.reader.error_within("plain", 4, "by offset");
  keys.reader.error_within("block", Position{2, 8}, "by line and column");
  keys.reader.error_within("block", Position{9, 1}, "below the last line");
  keys.reader.error_within("variable", 6, "in a value that is not in the file");
  keys.reader.error_within("dollar", 4, "behind something replaced");
  keys.reader.error_within("absent", 4, "nowhere");
  EXPECT_THAT(keys.errors(), ElementsAre(HasSubstr("f.yaml:1:1: check \"x\": \"absent\": nowhere"),
                                         "f.yaml:1:12: check \"x\": \"plain\": by offset",
                                         "f.yaml:4:10: check \"x\": \"block\": by line and column",
                                         HasSubstr("f.yaml:6:1: check \"x\": \"block\": below the last line"),
                                         "f.yaml:6:11: check \"x\": \"variable\": in a value that is not in the file",
                                         "f.yaml:7:9: check \"x\": \"dollar\": behind something replaced"));
}

}  // namespace
}  // namespace careen::config
