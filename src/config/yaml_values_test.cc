#include "config/yaml_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::config {
namespace {

using Kind = Value::Kind;
using testing::ElementsAre;

Value plain(std::string_view text) {
  Value value;
  set_plain(value, text);
  return value;
}

Value quoted(std::string_view text) {
  Value value;
  set_string(value, text);
  return value;
}

std::string read_as(std::string_view text) {
  const Value value = plain(text);
  switch (value.kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "boolean " + value.text;
    case Kind::integer:
      return "integer " + value.text;
    case Kind::real:
      return "float " + value.text;
    default:
      return "string " + value.text;
  }
}

// Each line was compared with what Go's yaml.v2 yields.
TEST(YamlScalarTest, FollowsYaml11) {
  const std::pair<const char*, const char*> cases[] = {
      {"y", "boolean true"},
      {"No", "boolean false"},
      {"on", "boolean true"},
      {"OFF", "boolean false"},
      {"TRUE", "boolean true"},
      {"oN", "string oN"},
      {"tRue", "string tRue"},
      {"11:00", "string 11:00"},
      {"1:30:00", "string 1:30:00"},
      {"2020-01-02", "string 2020-01-02"},
      {"010", "integer 8"},
      {"-010", "integer -8"},
      {"08", "float 8"},
      {"0x10", "integer 16"},
      {"0X10", "integer 16"},
      {"0b11", "integer 3"},
      {"-0b11", "integer -3"},
      {"0o17", "integer 15"},
      {"+5", "integer 5"},
      {"-0", "integer 0"},
      {"00", "integer 0"},
      {"1_000", "integer 1000"},
      {"1__0", "integer 10"},
      {"_1", "string _1"},
      {"0_8", "float 8"},
      {"1.", "float 1"},
      {".5", "float 0.5"},
      {"-.5", "float -0.5"},
      {"1e3", "float 1000"},
      {"1E+3", "float 1000"},
      {"+.inf", "float +Inf"},
      {"-.INF", "float -Inf"},
      {".NaN", "float NaN"},
      {"inf", "string inf"},
      {"nan", "string nan"},
      {"~", "null"},
      {"null", "null"},
      {"NULL", "null"},
      {"nULL", "string nULL"},
      {"", "null"},
      {"9223372036854775807", "integer 9223372036854775807"},
      {"9223372036854775808", "integer 9223372036854775808"},
      {"18446744073709551616", "float 1.8446744073709552e+19"},
      {"-9223372036854775808", "integer -9223372036854775808"},
      {"1.50", "float 1.5"},
      {"1000000.0", "float 1e+06"},
      {"123456.0", "float 123456"},
      {"123456789.0", "float 1.23456789e+08"},
      {"0.0001", "float 0.0001"},
      {"0.00001", "float 1e-05"},
      {"1e400", "string 1e400"},
      {"0x1p4", "string 0x1p4"},
      {"+", "string +"},
      {".", "string ."},
      {"=", "string ="},
      {"1h", "string 1h"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(read_as(text), expected) << text;
}

TEST(ConversionTest, IntegerTakesNumbersAndNumericTexts) {
  EXPECT_EQ(to_integer(plain("3")), 3);
  EXPECT_EQ(to_integer(plain("2.9")), 2);
  EXPECT_EQ(to_integer(plain("-2.9")), -2);
  EXPECT_EQ(to_integer(quoted("42")), 42);
  EXPECT_EQ(to_integer(quoted("0x1F")), 31);
  EXPECT_EQ(to_integer(quoted("0b101")), 5);
  EXPECT_EQ(to_integer(quoted("0o17")), 15);
  EXPECT_EQ(to_integer(quoted("017")), 15);
  EXPECT_EQ(to_integer(quoted("1_000")), 1000);
  for (const char* text : {"", " 1", "1 ", "1.5", "abc", "08", "0x", "-", "_1", "1_", "9223372036854775808"}) {
    EXPECT_EQ(to_integer(quoted(text)), std::nullopt) << text;
  }
  for (const char* text : {"true", "1e30", ".nan", ".inf", "9223372036854775808"}) {
    EXPECT_EQ(to_integer(plain(text)), std::nullopt) << text;
  }
}

TEST(ConversionTest, BooleanTakesFewTexts) {
  EXPECT_EQ(to_boolean(plain("yes")), true);
  EXPECT_EQ(to_boolean(plain("off")), false);
  for (const char* text : {"1", "t", "T", "true", "True", "TRUE"}) EXPECT_EQ(to_boolean(quoted(text)), true) << text;
  for (const char* text : {"0", "f", "F", "false", "False", "FALSE"}) {
    EXPECT_EQ(to_boolean(quoted(text)), false) << text;
  }
  for (const char* text : {"yes", "on", "no", "", "tRUE", "2"}) EXPECT_EQ(to_boolean(quoted(text)), std::nullopt);
  for (const char* text : {"1", "0", "1.0", "~"}) EXPECT_EQ(to_boolean(plain(text)), std::nullopt) << text;
}

TEST(ConversionTest, DurationTakesBareNumbersAsSeconds) {
  EXPECT_EQ(to_duration(plain("1h30m")), io::minutes{90});
  EXPECT_EQ(to_duration(plain("60")), io::seconds{60});
  EXPECT_EQ(to_duration(plain("-5")), -io::seconds{5});
  EXPECT_EQ(to_duration(plain("0.5")), io::milliseconds{500});
  EXPECT_EQ(to_duration(quoted("200ms")), io::milliseconds{200});
  EXPECT_EQ(to_duration(quoted("0")), io::Duration{0});
  for (const char* text : {"60", "", "1d", "1 h"}) EXPECT_EQ(to_duration(quoted(text)), std::nullopt) << text;
  for (const char* text : {"true", "1e30", ".nan", "9223372037"}) {
    EXPECT_EQ(to_duration(plain(text)), std::nullopt) << text;
  }
}

struct Reparsed {
  explicit Reparsed(std::string_view text) : value(reparse_interpolated(text, storage)) {
    for (const Value* item : value.items) items.push_back(item->text);
  }
  std::vector<std::unique_ptr<Value>> storage;
  Value value;
  std::vector<std::string> items;
};

TEST(ReparseTest, ReadsWhatAVariableSaysAsAValue) {
  EXPECT_EQ(to_boolean(Reparsed(" on ").value), true);
  EXPECT_EQ(to_boolean(Reparsed("OFF").value), false);
  EXPECT_EQ(to_boolean(Reparsed("t").value), true);
  EXPECT_EQ(to_boolean(Reparsed("yes").value), std::nullopt);
  EXPECT_EQ(to_integer(Reparsed("0123\n").value), 83);
  EXPECT_EQ(to_integer(Reparsed("'7'").value), 7);
  EXPECT_EQ(to_duration(Reparsed("90").value), io::seconds{90});
  EXPECT_EQ(to_duration(Reparsed("1.5").value), io::milliseconds{1500});
  EXPECT_EQ(to_duration(Reparsed("5m").value), io::minutes{5});
  EXPECT_EQ(Reparsed("").value.kind, Kind::null);
  EXPECT_EQ(Reparsed("null").value.kind, Kind::null);
}

TEST(ReparseTest, SplitsListsAtCommas) {
  EXPECT_THAT(Reparsed("a, b").items, ElementsAre("a", "b"));
  EXPECT_THAT(Reparsed("[ a , 'b,c', 010 ]").items, ElementsAre("a", "b,c", "010"));
  EXPECT_THAT(Reparsed("don't, won't").items, ElementsAre("don't", "won't"));
  EXPECT_EQ(Reparsed("[]").value.kind, Kind::list);
  EXPECT_THAT(Reparsed("[]").items, ElementsAre());
  EXPECT_EQ(Reparsed("a b").value.kind, Kind::string);
  EXPECT_EQ(Reparsed("{a: b}").value.kind, Kind::string);
}

}  // namespace
}  // namespace careen::config
