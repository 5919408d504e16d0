#include "web/serving_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/virtual_time.h"

namespace careen::web {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ServingTlsTest : public testing::Test {
 protected:
  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::MemoryFiles files{*loop};
};

TEST_F(ServingTlsTest, TheFilesOfOlmComeFirst) {
  const auto none = webhook_tls_from_files(files, "/tmp/hook", "/olm");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, AllOf(HasSubstr("/olm/apiserver.crt"), HasSubstr("/tmp/hook/tls.key"),
                                          HasSubstr("--webhook-self-signed")));
  files.write("/tmp/hook/tls.crt", "x");
  EXPECT_FALSE(webhook_tls_from_files(files, "/tmp/hook", "/olm"));
  files.write("/tmp/hook/tls.key", "x");
  EXPECT_EQ(webhook_tls_from_files(files, "/tmp/hook", "/olm")->cert_file, "/tmp/hook/tls.crt");
  files.write("/olm/apiserver.crt", "x");
  EXPECT_EQ(webhook_tls_from_files(files, "/tmp/hook", "/olm")->cert_file, "/tmp/hook/tls.crt");
  files.write("/olm/apiserver.key", "x");
  EXPECT_EQ(webhook_tls_from_files(files, "/tmp/hook", "/olm")->key_file, "/olm/apiserver.key");
}

TEST_F(ServingTlsTest, MetricsHaveACertificateInAnyCase) {
  const ServingTls own = metrics_tls(*loop, files, "/tmp/metrics");
  ASSERT_TRUE(own.pair);
  const auto pair = own.pair();
  ASSERT_TRUE(pair);
  EXPECT_THAT(io::read_certificate(pair->certificate)->names, testing::Contains("localhost"));
  const ServingTls copy = own;
  EXPECT_EQ(copy.pair(), pair) << "made once";
  time.run_for(io::hours{24 * 300});
  const auto renewed = own.pair();
  EXPECT_NE(renewed, pair);
  EXPECT_GT(io::read_certificate(renewed->certificate)->validity.until, loop->wall_now() + io::hours{24 * 300});

  files.write("/tmp/metrics/tls.crt", "x");
  files.write("/tmp/metrics/tls.key", "x");
  EXPECT_EQ(metrics_tls(*loop, files, "/tmp/metrics").cert_file, "/tmp/metrics/tls.crt");
}

}  // namespace
}  // namespace careen::web
