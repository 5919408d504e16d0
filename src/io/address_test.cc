#include "io/address.h"

#include <gtest/gtest.h>

namespace careen::io {
namespace {

TEST(AddressTest, NamesAreNone) {
  for (const char* text : {"10.0.0.7", "127.0.0.1", "::1", "fd00::7", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_address(text)) << text;
  }
  for (const char* text : {"", "localhost", "10.0.0", "10.0.0.7:80", "[::1]", "1.2.3.4@x", "1.2.3.4/", " 1.2.3.4"}) {
    EXPECT_FALSE(is_address(text)) << text;
  }
  EXPECT_FALSE(is_address(std::string("1.2.3.4\0.evil", 13)));
}

TEST(AddressTest, LoopbackIsThisMachine) {
  for (const char* text : {"127.0.0.1", "127.0.0.6", "127.255.0.1", "::1"}) {
    EXPECT_TRUE(is_loopback_address(text)) << text;
  }
  for (const char* text :
       {"10.0.0.1", "128.0.0.1", "127.0.0.1.evil.example", "127.1", "0.0.0.0", "::", "fe80::1", ""}) {
    EXPECT_FALSE(is_loopback_address(text)) << text;
  }
}

}  // namespace
}  // namespace careen::io
