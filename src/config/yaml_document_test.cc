#include "config/yaml_document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::config {
namespace {

using Kind = Value::Kind;
using testing::HasSubstr;

Document document_in(std::string text) {
  auto document = Document::parse(std::move(text));
  EXPECT_TRUE(document.has_value()) << document.error().message;
  return document ? std::move(*document) : *Document::parse("");
}

std::string problem_in_document(std::string text) {
  const auto document = Document::parse(std::move(text));
  if (document) return "none";
  const Remark& error = document.error();
  return fmt::format("{}:{}: {}", error.where.line, error.where.column, error.message);
}

// The tree in one line, keys sorted.
std::string shown(const Value& value) {
  std::string out;
  switch (value.kind) {
    case Kind::null:
      return "~";
    case Kind::list:
      for (const Value* item : value.items) out += (out.empty() ? "" : " ") + shown(*item);
      return "[" + out + "]";
    case Kind::map:
      for (const auto& [key, entry] : value.entries) {
        out += (out.empty() ? "" : " ") + key + "=" + shown(*entry.value);
      }
      return "{" + out + "}";
    default:
      return value.text;
  }
}

std::string read(std::string text) { return shown(document_in(std::move(text)).root()); }

TEST(DocumentTest, BuildsATreeWithPlaces) {
  const Document document = document_in("a: 1\nb:\n  - x\n  - größe: {c: d}\n");
  EXPECT_EQ(shown(document.root()), "{a=1 b=[x {größe={c=d}}]}");
  const Value* list = find_entry(&document.root(), "b");
  EXPECT_EQ(list->where, (Position{3, 3}));
  EXPECT_EQ(list->items[0]->where, (Position{3, 5}));
  const Value* flow = find_entry(list->items[1], "größe");
  // Columns count characters.
  EXPECT_EQ(flow->where, (Position{4, 12}));
  EXPECT_EQ(document.root().entries.at("b").where, (Position{2, 1}));
}

TEST(DocumentTest, QuotesAndTagsDecideTheType) {
  EXPECT_EQ(document_in("a: '5'").root().entries.at("a").value->kind, Kind::string);
  EXPECT_EQ(document_in("a: !!str 5").root().entries.at("a").value->kind, Kind::string);
  EXPECT_EQ(document_in("a: !!int '5'").root().entries.at("a").value->kind, Kind::integer);
  EXPECT_EQ(document_in("a: !!float 5").root().entries.at("a").value->kind, Kind::real);
  EXPECT_EQ(document_in("a: !!bool yes").root().entries.at("a").value->kind, Kind::boolean);
  EXPECT_EQ(document_in("a: !mine 5").root().entries.at("a").value->kind, Kind::string);
  EXPECT_EQ(document_in("a: |\n  5\n").root().entries.at("a").value->text, "5\n");
  EXPECT_THAT(problem_in_document("a: !!int x"), HasSubstr("1:4: the tag !!int does not fit"));
}

TEST(DocumentTest, LastDuplicateWins) {
  const Document document = document_in("a: 1\nb: 2\na: 3\n");
  EXPECT_EQ(shown(document.root()), "{a=3 b=2}");
  ASSERT_EQ(document.warnings().size(), 1U);
  EXPECT_EQ(document.warnings()[0].where, (Position{3, 1}));
  EXPECT_EQ(document.warnings()[0].message, "the key \"a\" is given twice; the last one counts");
}

TEST(DocumentTest, ResolvesAliasesAndMerges) {
  EXPECT_EQ(read("a: &x {k: 1, j: 2}\nb: *x\n"), "{a={j=2 k=1} b={j=2 k=1}}");
  EXPECT_EQ(read("a: &x {k: 1, j: 2}\nb: {<<: *x, k: 9}\n"), "{a={j=2 k=1} b={j=2 k=9}}");
  EXPECT_EQ(read("b: {<<: [{k: 5}, {k: 6, z: 1}]}\n"), "{b={k=5 z=1}}");
  EXPECT_EQ(read("b: {'<<': 1}\n"), "{b={<<=1}}");
  EXPECT_THAT(problem_in_document("b: {<<: 1}"), HasSubstr("\"<<\" needs a map or a list of maps"));
  EXPECT_THAT(problem_in_document("b: {<<: [1]}"), HasSubstr("\"<<\" needs a map or a list of maps"));
}

// As the file format always had it; unusual enough for a warning.
TEST(DocumentTest, AMergeReplacesTheKeysAboveIt) {
  const Document document = document_in("b:\n  k: 9\n  <<: {k: 1}\n");
  EXPECT_EQ(shown(document.root()), "{b={k=1}}");
  ASSERT_EQ(document.warnings().size(), 1U);
  EXPECT_EQ(document.warnings()[0].where, (Position{3, 7}));
}

TEST(DocumentTest, OnlyTheFirstDocumentCounts) {
  EXPECT_EQ(read("a: 1\n---\nb: 2\n"), "{a=1}");
  EXPECT_EQ(read("---\na: 1\n---\nb: [\n"), "{a=1}");
  EXPECT_EQ(read("a: 1\n...\nb: \"\n"), "{a=1}");
  EXPECT_EQ(read("%YAML 1.1\n---\na: 1\n"), "{a=1}");
  EXPECT_EQ(read("--- {a: 1}\n"), "{a=1}");
  EXPECT_EQ(read("a: '---'\n"), "{a=---}");
}

// Otherwise half of a file would be silently ignored.
TEST(DocumentTest, TextBehindTheEndIsAnError) {
  EXPECT_THAT(problem_in_document("{a: 1} {b: 2}\n"), HasSubstr("1:8: this is not valid YAML"));
  EXPECT_THAT(problem_in_document("---\n{a: 1} {b: 2}\n"), HasSubstr("2:8: this is not valid YAML"));
  EXPECT_THAT(problem_in_document("{a: 1}\n}\n"), HasSubstr("2:1: this is not valid YAML"));
  EXPECT_THAT(problem_in_document("a: 1\n- b\n"), HasSubstr("2:1: this is not valid YAML"));
}

TEST(DocumentTest, NothingIsNull) {
  EXPECT_EQ(read(""), "~");
  EXPECT_EQ(read("# only a comment\n"), "~");
  EXPECT_EQ(read("---\n"), "~");
  EXPECT_EQ(read("\xEF\xBB\xBF"), "~");
}

TEST(DocumentTest, TabsAsIndentationAreNamed) {
  const std::string message = "a tab is used for indentation, which YAML does not allow; use blanks";
  EXPECT_EQ(problem_in_document("a:\n\tb: 1\n"), "2:1: " + message);
  EXPECT_EQ(problem_in_document("a:\n  - x\n\t- y\n"), "3:1: " + message);
  EXPECT_EQ(problem_in_document("a:\n\t- y\n"), "2:1: " + message);
  EXPECT_EQ(problem_in_document("a: 1\n\tb: 2\n"), "2:1: " + message);
  EXPECT_EQ(problem_in_document("a:\n  b: 1\n  \tc: 2\n"), "3:3: " + message);
  EXPECT_THAT(problem_in_document("\ta: b\n"), HasSubstr(message));
  EXPECT_THAT(problem_in_document("a:\n\tvalue\n"), HasSubstr(message));
}

TEST(DocumentTest, TabsElsewhereAreFine) {
  EXPECT_EQ(read("a:\tb\t# comment\n"), "{a=b}");
  EXPECT_EQ(read("a: {\n\tb: 1}\n"), "{a={b=1}}");
  EXPECT_EQ(read("a: \"x\ty\"\n"), "{a=x\ty}");
  EXPECT_EQ(read("a: |\n  x\n  \ty\n"), "{a=x\n\ty\n}");
  EXPECT_EQ(read("a: {\n\t# comment\nb: 2}\n"), "{a={b=2}}");
}

TEST(DocumentTest, KeysMustBeStrings) {
  EXPECT_THAT(problem_in_document("a:\n  on: 1\n"),
              HasSubstr("2:3: a key must be a string, but YAML reads this one as a boolean"));
  EXPECT_THAT(problem_in_document("1: 2"), HasSubstr("as a number (1); put it in quotes"));
  EXPECT_THAT(problem_in_document("~: 2"), HasSubstr("as nothing"));
  EXPECT_THAT(problem_in_document("? [a]\n: 2"), HasSubstr("as a list"));
  EXPECT_EQ(read("'on': 1"), "{on=1}");
}

TEST(DocumentTest, SaysWhereTheSyntaxIsWrong) {
  EXPECT_THAT(problem_in_document("a: b: c\n"), HasSubstr("1:5: a colon is not allowed here"));
  EXPECT_THAT(problem_in_document("a: [1, 2\n"), HasSubstr("this is not valid YAML"));
  for (const char* text : {"a: \"", "a: \"x\n", "a: 'x", "a: 'it''s", "a: \"\\\"", "a: &b !!str 'x\nc: d\n"}) {
    EXPECT_THAT(problem_in_document(text), HasSubstr("quote is not closed")) << text;
  }
  EXPECT_EQ(read("a: 'it''s'\nb: \"\\\"\"\n"), "{a=it's b=\"}");
  EXPECT_THAT(problem_in_document("a: *nope\n"),
              HasSubstr("1:4: this is not valid YAML: the referenced anchor is not defined"));
  EXPECT_THAT(problem_in_document("a: @x\n"), HasSubstr("1:4:"));
}

TEST(DocumentTest, RefusesWhatIsNoText) {
  EXPECT_EQ(problem_in_document("a: \xff\n"), "1:4: the file is not valid UTF-8");
  EXPECT_EQ(problem_in_document("a: \xc0\xaf\n"), "1:4: the file is not valid UTF-8");
  EXPECT_EQ(problem_in_document("a: \xed\xa0\x80\n"), "1:4: the file is not valid UTF-8");
  EXPECT_EQ(problem_in_document("a: \xf0\x9f\x98"), "1:4: the file is not valid UTF-8");
  EXPECT_EQ(problem_in_document("a: \xf0\x9f\x98\x80"), "none");
  EXPECT_EQ(problem_in_document("a: 1\nb: \x04\n"), "2:4: the control character U+0004 is not allowed");
  EXPECT_EQ(problem_in_document(std::string("a: \0b", 5)), "1:4: the control character U+0000 is not allowed");
}

TEST(DocumentTest, WindowsLineEndsAreFine) { EXPECT_EQ(read("a: 1\r\nb:\r\n  - c d\r\n"), "{a=1 b=[c d]}"); }

TEST(DocumentTest, BoundsHostileFiles) {
  EXPECT_EQ(problem_in_document(std::string((1 << 20) + 1, '#')), "0:0: the file is larger than 1048576 bytes");
  EXPECT_THAT(problem_in_document("a: &x [*x]\n"), HasSubstr("this alias is part of the value it refers to"));

  EXPECT_THAT(problem_in_document(std::string(50'000, '[')), HasSubstr("nested too deeply"));

  // Shared, not copied: ten levels of nine aliases each are a handful of values.
  std::string bomb = "l0: &l0 [x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += fmt::format("l{0}: &l{0} [*l{1}, *l{1}, *l{1}, *l{1}, *l{1}, *l{1}, *l{1}, *l{1}, *l{1}]\n", i, i - 1);
  }
  EXPECT_LT(document_in(bomb).values().size(), 100U);

  std::string merges = "a: &a {";
  for (int i = 0; i < 1000; ++i) merges += fmt::format("k{}: 1, ", i);
  merges += "}\nb: {<<: [";
  for (int i = 0; i < 1000; ++i) merges += "*a, ";
  EXPECT_THAT(problem_in_document(merges + "]}\n"), HasSubstr("merges of this file yield too many keys"));

  std::string many = "a: [";
  for (int i = 0; i < 200'000; ++i) many += "1,";
  EXPECT_THAT(problem_in_document(many + "]\n"), HasSubstr("too many values"));
}

std::string place(const std::string& text, std::string_view key, std::size_t at) {
  const Document document = document_in(text);
  const Position position = document.position_within(*find_entry(&document.root(), key), at);
  return fmt::format("{}:{}", position.line, position.column);
}

TEST(PositionTest, FollowsATextThroughItsSpelling) {
  EXPECT_EQ(place("k: a && b", "k", 5), "1:9");
  EXPECT_EQ(place("k: \"a && b\"", "k", 5), "1:10");
  EXPECT_EQ(place("k: 'a && b'", "k", 0), "1:5");
  EXPECT_EQ(place("k: a &&\n   b", "k", 5), "2:4");
  EXPECT_EQ(place("k: \"a &&\n   b\"", "k", 5), "2:4");
  EXPECT_EQ(place("k: |\n  a &&\n    b\n", "k", 7), "3:5");
  EXPECT_EQ(place("k: >-\n  a &&\n  b\n", "k", 5), "3:3");
  EXPECT_EQ(place("k: ä && b\n", "k", 6), "1:9");
  // Behind the last word, also when the file goes on.
  EXPECT_EQ(place("k: a &&\nl: 1\n", "k", 4), "1:8");
}

TEST(PositionTest, FallsBackToTheBeginningWhenTheSpellingDiffers) {
  EXPECT_EQ(place("k: \"\\x61 && b\"", "k", 5), "1:4");
  EXPECT_EQ(place("k: 'it''s && b'", "k", 8), "1:4");
  EXPECT_EQ(place("k: &x a && b", "k", 5), "1:4");
}

}  // namespace
}  // namespace careen::config
