#include "io/printable.h"

#include <gtest/gtest.h>

#include <vector>

namespace careen::io {
namespace {

constexpr char kMark[] = "\xEF\xBF\xBD";

size_t characters(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); text.remove_prefix(first_character(text).length)) ++count;
  return count;
}

TEST(Printable, WhatIsHarmlessStaysAsItIs) {
  for (const char* text :
       {"", "node-1", "übergröße", "温度", "🚢", "a b", "\u00A0", "\uFFFD", "\u2027\u202F\u2065\u2070"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(escaped_document(text), text);
  }
}

TEST(Printable, NothingCommandsTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb"), std::string("a") + kMark + "[2Jb");
  EXPECT_EQ(printable("\x1b]0;title\x07"), std::string(kMark) + "]0;title" + kMark);
  EXPECT_EQ(printable("a\bb\x7f"), std::string("a") + kMark + "b" + kMark);
  EXPECT_EQ(printable("a\u009b31mb\u0080\u009f"), std::string("a") + kMark + "31mb" + kMark + kMark);
  EXPECT_EQ(printable(std::string("a\0b", 3)), std::string("a") + kMark + "b");
}

TEST(Printable, ALineStaysOneLine) {
  EXPECT_EQ(printable("a\nb\r\nc\td\v\f\u0085e\u2028f\u2029g"), "a b  c d   e f g");
}

TEST(Printable, WhatIsReadStandsInItsOrder) {
  for (const char* turn : {"\u061C", "\u200E", "\u200F", "\u202A", "\u202B", "\u202C", "\u202D", "\u202E", "\u2066",
                           "\u2067", "\u2068", "\u2069", "\u206A"}) {
    EXPECT_EQ(printable(std::string("a") + turn + "b"), std::string("a") + kMark + "b");
  }
}

// Terminals that do not know UTF-8 take the bytes 0x80 to 0x9f for commands, wherever they stand alone.
TEST(Printable, BytesThatAreNoTextAreReplacedOneByOne) {
  const std::vector<std::string_view> wrong = {"\x9b",         "\xff",         "\xc0\xaf",         "\xc1\x9b",
                                               "\xe0\x82\x9b", "\xed\xa0\x80", "\xf0\x80\x82\x9b", "\xf4\x90\x80\x80",
                                               "\xf5\x80",     "\xc3",         "\xe2\x80",         "\xf0\x9f\x9a"};
  for (const std::string_view bytes : wrong) {
    std::string marks;
    for (size_t at = 0; at < bytes.size(); ++at) marks += kMark;
    EXPECT_EQ(printable("a" + std::string(bytes) + "b"), "a" + marks + "b");
    EXPECT_EQ(printable(bytes), marks) << "at the end";
  }
}

TEST(Printable, HasAsManyCharactersAsBeforeAndNothingLeftToReplace) {
  for (const std::string_view text : {"a\x1b[31mb", "\xff\xfe\xe2\x80", "ü\u202Eü\n", "\u009b\x9b", "温\x7f度"}) {
    EXPECT_EQ(characters(printable(text)), characters(text));
    EXPECT_EQ(printable(printable(text)), printable(text));
  }
}

// JSON leaves DEL, high controls and the marks of direction as they are; escaped they mean the same.
TEST(Printable, ADocumentMeansTheSameAndCommandsNothing) {
  EXPECT_EQ(escaped_document("{\"a\": \"\x7f\u009b\u202E\"}\n"), "{\"a\": \"\\u007f\\u009b\\u202e\"}\n");
  EXPECT_EQ(escaped_document("a\r\n\tb\rc\x1b\xff"), "a\r\n\tb\\u000dc\\u001b\\ufffd");
}

}  // namespace
}  // namespace careen::io
