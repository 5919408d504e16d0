#include "io/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/digest.h"
#include "io/test_support.h"

namespace careen::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Wall at(const char* text) { return *parse_rfc3339(text); }
const Validity kLong{at("2026-01-01T00:00:00Z"), at("2036-01-01T00:00:00Z")};
const Validity kShort{at("2026-03-01T10:00:00Z"), at("2026-05-30T10:00:00Z")};

TEST(CertificatesTest, AnAuthoritySignsForItsNames) {
  const auto authority = make_authority("careen webhook", kLong);
  ASSERT_TRUE(authority) << authority.error().message;
  const auto pair = issue_certificate(*authority, {"hook.ns.svc", "127.0.0.1", "::1"}, kShort);
  ASSERT_TRUE(pair) << pair.error().message;
  const auto facts = read_certificate(pair->certificate);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->common_name, "hook.ns.svc");
  EXPECT_THAT(facts->names, ElementsAre("hook.ns.svc", "127.0.0.1", "::1"));
  EXPECT_EQ(facts->validity, kShort);
  EXPECT_EQ(read_certificate(authority->certificate)->common_name, "careen webhook");
  EXPECT_EQ(read_certificate(authority->certificate)->validity, kLong);
  EXPECT_TRUE(check_pair(*pair));
  EXPECT_TRUE(signed_by(pair->certificate, authority->certificate));
  EXPECT_TRUE(signed_by(authority->certificate, authority->certificate));
  EXPECT_FALSE(signed_by(authority->certificate, pair->certificate));
}

TEST(CertificatesTest, AnotherAuthorityOfTheSameNameIsNotTheSigner) {
  const auto one = make_authority("careen", kLong);
  const auto two = make_authority("careen", kLong);
  const auto pair = issue_certificate(*one, {"a.b.svc"}, kShort);
  EXPECT_FALSE(signed_by(pair->certificate, two->certificate));
  EXPECT_NE(one->certificate, two->certificate);
}

TEST(CertificatesTest, KeysThatDoNotFitAreNamed) {
  const auto one = make_self_signed({"localhost"}, kShort);
  const auto two = make_self_signed({"localhost"}, kShort);
  ASSERT_TRUE(one && two);
  EXPECT_THAT(check_pair({one->certificate, two->key}).error().message, HasSubstr("not that of"));
  EXPECT_THAT(check_pair({"x", two->key}).error().message, HasSubstr("certificate is not readable"));
  EXPECT_THAT(check_pair({one->certificate, ""}).error().message, HasSubstr("key is not readable"));
  EXPECT_FALSE(read_certificate(""));
  EXPECT_FALSE(read_certificate("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
  EXPECT_FALSE(signed_by("", one->certificate));
}

TEST(CertificatesTest, WhatCannotBeMadeIsAnError) {
  const auto authority = make_authority("careen", kLong);
  EXPECT_FALSE(issue_certificate(*authority, {}, kShort));
  EXPECT_FALSE(issue_certificate({"x", "y"}, {"a"}, kShort));
  EXPECT_FALSE(issue_certificate(*authority, {"a,DNS:evil"}, kShort));
  EXPECT_FALSE(make_self_signed({""}, kShort));
  // Longer than a common name may be: the names carry it.
  const std::string lengthy = std::string(60, 'a') + "." + std::string(60, 'b') + ".svc";
  const auto pair = issue_certificate(*authority, {lengthy}, kShort);
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_THAT(read_certificate(pair->certificate)->names, ElementsAre(lengthy));
}

TEST(CertificatesTest, DatesBeyondTwentyFiftyAreKept) {
  const Validity distant{at("2026-01-01T00:00:00Z"), at("2112-07-01T12:30:01Z")};
  EXPECT_EQ(read_certificate(make_authority("careen", distant)->certificate)->validity, distant);
}

TEST(CertificatesTest, DatesBeforeWhatCanBeCountedAreLongAgo) {
  const Validity ancient{Wall::min(), at("2026-01-01T00:00:00Z")};
  const auto facts = read_certificate(make_authority("careen", ancient)->certificate);
  ASSERT_TRUE(facts);
  EXPECT_LT(facts->validity.from, at("1700-01-01T00:00:00Z"));
}

TEST(DigestTest, IsSha256) {
  EXPECT_EQ(sha256("abc").substr(0, 4), "\xba\x78\x16\xbf");
  EXPECT_EQ(sha256("").size(), 32u);
  EXPECT_NE(sha256("a"), sha256("b"));
}

}  // namespace
}  // namespace careen::io
