#include "web/certificate_rotation.h"

#include <gtest/gtest.h>

namespace careen::web {
namespace {

const io::Wall kStart = *io::parse_rfc3339("2026-03-01T00:00:00Z");
constexpr io::Duration kDay = io::hours{24};

class RotationTest : public testing::Test {
 protected:
  // Takes every step that is due at that time.
  void settle(io::Wall now, bool published = true) {
    for (int steps = 0;; ++steps) {
      ASSERT_LT(steps, 10) << "it never comes to rest";
      const auto step = next_step(kept, now, published, options);
      ASSERT_TRUE(step) << step.error().message;
      if (!step->keep) {
        look_again = step->look_again;
        ASSERT_GT(look_again, now);
        return;
      }
      EXPECT_FALSE(step->what.empty());
      EXPECT_NE(*step->keep, kept);
      kept = *step->keep;
    }
  }
  bool serving_is_trusted() const {
    const std::string& serving = kept.serving.certificate;
    return io::signed_by(serving, kept.authority.certificate) && kept.bundle().find(kept.authority.certificate) == 0;
  }

  RotationOptions options{.names = {"hook.ns.svc", "hook.ns.svc.cluster.local"}};
  KeptCertificates kept;
  io::Wall look_again{};
};

TEST_F(RotationTest, BeginsWithAnAuthorityAndACertificate) {
  settle(kStart);
  const auto facts = io::read_certificate(kept.serving.certificate);
  EXPECT_EQ(facts->names, options.names);
  EXPECT_EQ(facts->validity.until, kStart + 90 * kDay);
  EXPECT_LT(facts->validity.from, kStart);
  EXPECT_EQ(io::read_certificate(kept.authority.certificate)->validity.until, kStart + 3650 * kDay);
  EXPECT_TRUE(serving_is_trusted());
  EXPECT_EQ(kept.bundle(), kept.authority.certificate);
  EXPECT_NEAR(io::to_seconds(look_again - kStart), io::to_seconds(60 * kDay), 3600);
}

TEST_F(RotationTest, TheCertificateIsRenewedAtTwoThirds) {
  settle(kStart);
  const KeptCertificates first = kept;
  settle(look_again - io::seconds{1});
  EXPECT_EQ(kept, first);
  settle(look_again);
  EXPECT_NE(kept.serving, first.serving);
  EXPECT_EQ(kept.authority, first.authority);
  EXPECT_TRUE(serving_is_trusted());
}

TEST_F(RotationTest, AnAuthorityIsAnnouncedThenSignsThenIsAlone) {
  settle(kStart);
  const io::KeyPair old = kept.authority;
  io::Wall now = kStart + 3650 * kDay * 2 / 3 + kDay;
  settle(now);
  const io::KeyPair next = kept.next_authority;
  ASSERT_FALSE(next.certificate.empty());
  EXPECT_EQ(kept.bundle(), old.certificate + next.certificate);
  EXPECT_TRUE(io::signed_by(kept.serving.certificate, old.certificate));
  EXPECT_EQ(look_again, now + options.step);

  now += options.step;
  settle(now);
  EXPECT_EQ(kept.authority, next);
  EXPECT_TRUE(kept.next_authority.certificate.empty());
  EXPECT_EQ(kept.bundle(), next.certificate + old.certificate);
  EXPECT_TRUE(io::signed_by(kept.serving.certificate, next.certificate));
  EXPECT_EQ(look_again, now + options.step);

  now += options.step;
  settle(now);
  EXPECT_EQ(kept.bundle(), next.certificate);
  EXPECT_FALSE(kept.stepped);
}

TEST_F(RotationTest, NothingIsSignedByAnAuthorityThatNobodyTrustsYet) {
  settle(kStart);
  const io::KeyPair old = kept.authority;
  io::Wall now = kStart + 3650 * kDay * 2 / 3 + kDay;
  for (int i = 0; i < 4; ++i, now += options.step) {
    settle(now, false);
    EXPECT_EQ(kept.authority, old);
  }
  // Published now; from here on it takes a whole step.
  settle(now - io::seconds{1}, true);
  EXPECT_EQ(kept.authority, old);
  settle(now, true);
  EXPECT_NE(kept.authority, old);
}

TEST_F(RotationTest, WhatIsDamagedIsMadeAnew) {
  settle(kStart);
  const KeptCertificates good = kept;
  kept.serving.key = good.authority.key;
  settle(kStart + kDay);
  EXPECT_TRUE(io::check_pair(kept.serving));
  EXPECT_EQ(kept.authority, good.authority);

  kept = good;
  kept.authority.key = "lost";
  settle(kStart + kDay);
  EXPECT_NE(kept.authority, good.authority);
  EXPECT_EQ(kept.bundle(), kept.authority.certificate + good.authority.certificate)
      << "replicas may still serve what it signed";
  settle(kStart + kDay + options.step);
  EXPECT_EQ(kept.bundle(), kept.authority.certificate);
}

TEST_F(RotationTest, WhatHasEndedIsNotTrusted) {
  settle(kStart);
  const KeptCertificates old = kept;
  settle(kStart + 3651 * kDay);
  EXPECT_NE(kept.authority, old.authority);
  EXPECT_EQ(kept.bundle(), kept.authority.certificate);
  EXPECT_TRUE(serving_is_trusted());
}

TEST_F(RotationTest, OtherNamesNeedAnotherCertificate) {
  settle(kStart);
  const KeptCertificates first = kept;
  options.names = {"other.ns.svc"};
  settle(kStart);
  EXPECT_EQ(io::read_certificate(kept.serving.certificate)->names, options.names);
  EXPECT_EQ(kept.authority, first.authority);
}

TEST_F(RotationTest, ALostTimeOfAStepCountsFromNow) {
  settle(kStart);
  const io::Wall now = kStart + 3650 * kDay * 2 / 3 + kDay;
  settle(now);
  kept.stepped.reset();
  const io::KeyPair old = kept.authority;
  settle(now + kDay);
  EXPECT_EQ(kept.stepped, now + kDay);
  EXPECT_EQ(kept.authority, old);
}

}  // namespace
}  // namespace careen::web
