#include "io/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

XmlDocument parsed(std::string_view text, const XmlOptions& options = {}) {
  auto document = XmlDocument::parse(text, options);
  EXPECT_TRUE(document) << (document ? "" : document.error().message);
  return document ? std::move(*document) : std::move(*XmlDocument::parse("<failed/>"));
}

std::string error_of(std::string_view text, const XmlOptions& options = {}) {
  const auto document = XmlDocument::parse(text, options);
  return document ? "it was read" : document.error().message;
}

std::vector<std::string> texts(const std::vector<XmlElement>& elements) {
  std::vector<std::string> out;
  for (const XmlElement& element : elements) out.push_back(element.text());
  return out;
}

constexpr const char* kInstances = R"(<?xml version="1.0" encoding="UTF-8"?>
<!-- as a cloud answers -->
<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
  <requestId>r-1</requestId>
  <reservationSet>
    <item><instancesSet>
      <item id="1"><instanceId>i-1</instanceId><state code='16'>running</state></item>
      <item id="2"><instanceId>i-2</instanceId></item>
    </instancesSet></item>
    <item><owner/></item>
    <item><instancesSet><item><instanceId>i-3</instanceId></item></instancesSet></item>
  </reservationSet>
</DescribeInstancesResponse>
)";

TEST(Xml, FindsElementsByPath) {
  const XmlDocument document = parsed(kInstances);
  const XmlElement root = document.root();
  EXPECT_EQ(root.name(), "DescribeInstancesResponse");
  EXPECT_EQ(root.text_of("requestId"), "r-1");
  EXPECT_THAT(texts(root.all("reservationSet/item/instancesSet/item/instanceId")), ElementsAre("i-1", "i-2", "i-3"));
  EXPECT_EQ(root.text_of("reservationSet/item/instancesSet/item/instanceId"), "i-1");
  EXPECT_THAT(root.children(), SizeIs(2));
}

// The first item has none.
TEST(Xml, TheFirstIsThatOfTheWholePath) {
  const XmlDocument document = parsed("<a><b/><b><c>1</c></b><b><c>2</c></b></a>");
  EXPECT_EQ(document.root().text_of("b/c"), "1");
}

TEST(Xml, WhatIsAbsentIsEmpty) {
  const XmlDocument document = parsed(kInstances);
  const XmlElement root = document.root();
  EXPECT_EQ(root.first("reservation"), std::nullopt);
  EXPECT_EQ(root.text_of("reservationSet/item/nothing"), std::nullopt);
  EXPECT_EQ(root.text_of("reservationSet/item/owner"), "");
  EXPECT_THAT(root.all("nothing/at/all"), IsEmpty());
  for (const char* path : {"", "/", "//", "/requestId", "requestId/", "reservationSet//item"}) {
    EXPECT_THAT(root.all(path), IsEmpty()) << path;
  }
  EXPECT_THAT(root.first("requestId")->children(), IsEmpty());
}

TEST(Xml, Attributes) {
  const XmlDocument document = parsed(kInstances);
  const auto items = document.root().all("reservationSet/item/instancesSet/item");
  ASSERT_THAT(items, SizeIs(3));
  EXPECT_EQ(items[1].attribute("id"), "2");
  EXPECT_EQ(items[2].attribute("id"), std::nullopt);
  EXPECT_EQ(items[0].first("state")->attribute("code"), "16");
}

TEST(Xml, PrefixesCountUnlessTheyAreIgnored) {
  constexpr const char* kSoap = R"(<soap:Envelope xmlns:soap="s"><soap:Body><n1:Answer xsi:type="t">7</n1:Answer>)"
                                R"(<Answer>8</Answer></soap:Body></soap:Envelope>)";
  const XmlDocument plain = parsed(kSoap);
  EXPECT_EQ(plain.root().name(), "soap:Envelope");
  EXPECT_EQ(plain.root().local_name(), "Envelope");
  EXPECT_EQ(plain.root().text_of("Body/Answer"), std::nullopt);
  EXPECT_EQ(plain.root().text_of("soap:Body/Answer"), "8");
  EXPECT_EQ(plain.root().text_of("soap:Body/n1:Answer"), "7");
  const XmlDocument local = parsed(kSoap, {.ignore_prefixes = true});
  EXPECT_THAT(texts(local.root().all("Body/Answer")), ElementsAre("7", "8"));
  EXPECT_EQ(local.root().text_of("soap:Body/n1:Answer"), std::nullopt);
  EXPECT_EQ(local.root().first("Body/Answer")->attribute("xsi:type"), "t");
}

TEST(Xml, TextIsThatOfTheElementItself) {
  const XmlDocument document = parsed("<a>one <b>two</b>three<!-- four --><![CDATA[<five>&amp;]]></a>");
  EXPECT_EQ(document.root().text(), "one three<five>&amp;");
}

TEST(Xml, BlanksCountWhereTheyAreAllThereIs) {
  EXPECT_EQ(parsed("<a><b> \n </b></a>").root().text_of("b"), " \n ");
  EXPECT_EQ(parsed("<a>\n <b/>\n</a>").root().text(), "");
  EXPECT_EQ(parsed("<a> b </a>").root().text(), " b ");
}

TEST(Xml, EntitiesOfXmlItself) {
  EXPECT_EQ(parsed("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#xfc;</a>").root().text(), "<>&\"'AB\xc3\xbc");
  EXPECT_EQ(parsed("<a b='&lt;&#10;'/>").root().attribute("b"), "<\n");
}

// Neither files of this machine nor a billion laughs.
TEST(Xml, EntitiesOfTheDocumentAreNotReplaced) {
  const XmlDocument file = parsed("<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a b=\"&x;\">&x;</a>");
  EXPECT_EQ(file.root().text(), "&x;");
  EXPECT_EQ(file.root().attribute("b"), "&x;");
  std::string laughs = "<!DOCTYPE a [<!ENTITY l0 \"ha\">";
  for (int i = 1; i < 10; ++i) {
    laughs += "<!ENTITY l" + std::to_string(i) + " \"";
    for (int k = 0; k < 10; ++k) laughs += "&l" + std::to_string(i - 1) + ";";
    laughs += "\">";
  }
  EXPECT_EQ(parsed(laughs + "]><a>&l9;</a>").root().text(), "&l9;");
  EXPECT_EQ(parsed("<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/a.dtd\"><a>1</a>").root().text(), "1");
}

TEST(Xml, ErrorsSayWhere) {
  EXPECT_EQ(error_of("<a>\n  <b>\n</a>"),
            "no XML that can be read: line 3, column 3: an element does not end, or another one ends here");
  EXPECT_THAT(error_of(""), HasSubstr("line 1, column 1: there is no element"));
  EXPECT_THAT(error_of("<a"), HasSubstr("a start tag is not well formed"));
  EXPECT_THAT(error_of("<a>\n<!-- "), HasSubstr("line 2, column"));
  EXPECT_THAT(error_of("<a>\n<!-- "), HasSubstr("a comment does not end"));
  EXPECT_THAT(error_of("<a><![CDATA[ ]]"), HasSubstr("a CDATA section does not end"));
  EXPECT_THAT(error_of("<a b=c/>"), HasSubstr("line 1, column 6: an attribute is not well formed"));
  EXPECT_THAT(error_of("<a>< b/></a>"), HasSubstr("no name follows"));
  EXPECT_THAT(error_of("<!DOCTYPE a [<a/>"), HasSubstr("a document type does not end"));
  EXPECT_THAT(error_of(std::string_view("<a>\n \0</a>", 10)), HasSubstr("line 2, column 2: a zero byte"));
  EXPECT_THAT(error_of("<a/>\n<b/>"), HasSubstr("line 2, column 1: a second element"));
  EXPECT_THAT(error_of("Service Unavailable"), HasSubstr("there is no element"));
  EXPECT_THAT(error_of("{\"error\": 1}"), HasSubstr("there is no element"));
  EXPECT_EQ(XmlDocument::parse("").error().kind, ErrorKind::protocol);
}

TEST(Xml, ABoundOnTheSize) {
  EXPECT_EQ(error_of("<a>12345</a>", {.most_bytes = 11}), "the XML is refused: it has 12 bytes; at most 11 are read");
  EXPECT_EQ(parsed("<a>12345</a>", {.most_bytes = 12}).root().text(), "12345");
}

// A small text could otherwise become a large tree.
TEST(Xml, ABoundOnElementsAndAttributes) {
  EXPECT_EQ(error_of("<a b='1' c='2'/>", {.most_signs = 2}),
            "the XML is refused: it has 3 \"<\" and \"=\"; at most 2 are read");
  EXPECT_EQ(error_of("<a b='1' c='2'/>", {.most_signs = 3}), "it was read");
}

TEST(Xml, ABoundOnTheDepth) {
  EXPECT_EQ(error_of("<a>\n<b>\n<c><d/></c></b></a>", {.most_depth = 3}),
            "no XML that can be read: line 3, column 4: elements lie deeper than 3");
  EXPECT_EQ(error_of("<a><b><c>text<!-- --></c></b><b><c/></b></a>", {.most_depth = 3}), "it was read");
}

TEST(Xml, DepthWithoutEndEndsNoProcess) {
  std::string text;
  for (int i = 0; i < 900'000; ++i) text += "<a>";
  EXPECT_THAT(error_of(text), HasSubstr("does not end"));
  for (int i = 0; i < 900'000; ++i) text += "</a>";
  EXPECT_THAT(error_of(text), HasSubstr("at most 1000000 are read"));
  EXPECT_THAT(error_of(text, {.most_signs = 2'000'000}), HasSubstr("column 193: elements lie deeper than 64"));
}

TEST(Xml, WhateverItDeclaresItIsUtf8) {
  EXPECT_EQ(parsed("<?xml version='1.0' encoding='ISO-8859-1'?><a>\xc3\xbc</a>").root().text(), "\xc3\xbc");
  EXPECT_EQ(parsed("\xef\xbb\xbf<a>1</a>").root().text(), "1");
  EXPECT_THAT(error_of(std::string_view("\xff\xfe<\0a\0/\0>\0", 10)), HasSubstr("a zero byte"));
}

TEST(Xml, EscapedTextIsReadAsItWas) {
  const std::string text = "<a href=\"x\">'&amp;'</a>\r\n\t \xc3\xbc]]>";
  EXPECT_EQ(parsed("<a>" + xml_escaped(text) + "</a>").root().text(), text);
  EXPECT_EQ(parsed("<a b=\"" + xml_escaped(text) + "\" c='" + xml_escaped(text) + "'/>").root().attribute("c"), text);
  EXPECT_EQ(xml_escaped("a<b"), "a&lt;b");
  EXPECT_EQ(xml_escaped(std::string_view("\0\x1f", 2)), "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Xml, ElementsLiveAsLongAsTheDocumentWhereverItMoves) {
  XmlDocument document = parsed("<a><b>1</b></a>");
  const XmlElement root = document.root();
  const XmlDocument moved = std::move(document);
  EXPECT_EQ(root.text_of("b"), "1");
}

}  // namespace
}  // namespace careen::io
