#include "io/proxy.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace careen::io {
namespace {

constexpr std::string_view kProxy = "http://proxy.example:3128";

ProxySettings exempting(std::string list) {
  return {std::string(kProxy), "https-proxy.example:3129", std::move(list), false};
}

bool is_proxied(const std::string& list, std::string_view host, std::string_view port = "80") {
  return !proxy_for(exempting(list), "http", host, port)->empty();
}

TEST(Proxy, EachSchemeHasItsOwn) {
  EXPECT_EQ(*proxy_for(exempting(""), "http", "example.org", "80"), kProxy);
  EXPECT_EQ(*proxy_for(exempting(""), "https", "example.org", "443"), "http://https-proxy.example:3129");
  EXPECT_EQ(*proxy_for({}, "https", "example.org", "443"), "");
  EXPECT_EQ(*proxy_for({"socks5://p:1080", "", "", false}, "http", "example.org", "80"), "socks5h://p:1080");
}

TEST(Proxy, NeverForThisMachine) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.9.10", "[::1]", "::1", "LOCALHOST"}) {
    EXPECT_FALSE(is_proxied("", host)) << host;
  }
  EXPECT_TRUE(is_proxied("", "localhost.example"));
}

// What Go says of each of these was tried with golang.org/x/net/http/httpproxy.
TEST(Proxy, NamesInNoProxyCoverWhatIsBelowThem) {
  EXPECT_FALSE(is_proxied("example.org", "example.org"));
  EXPECT_FALSE(is_proxied("Example.ORG ", "a.EXAMPLE.org"));
  EXPECT_TRUE(is_proxied("example.org", "badexample.org"));
  EXPECT_TRUE(is_proxied(".example.org", "example.org"));
  EXPECT_FALSE(is_proxied(".example.org", "a.example.org"));
  EXPECT_TRUE(is_proxied("*.example.org", "example.org"));
  EXPECT_FALSE(is_proxied("*.example.org", "a.b.example.org"));
  EXPECT_FALSE(is_proxied("other, ,example.org", "example.org"));
  EXPECT_FALSE(is_proxied("*", "example.org"));
  EXPECT_TRUE(is_proxied("", "example.org"));
  EXPECT_TRUE(is_proxied(",:80,", "example.org"));
}

TEST(Proxy, PortsInNoProxyAreMeant) {
  EXPECT_FALSE(is_proxied("example.org:8080", "example.org", "8080"));
  EXPECT_TRUE(is_proxied("example.org:8080", "example.org", "80"));
  EXPECT_FALSE(is_proxied("10.0.0.1:80", "10.0.0.1", "80"));
  EXPECT_TRUE(is_proxied("10.0.0.1:81", "10.0.0.1", "80"));
  EXPECT_FALSE(is_proxied("[fd00::1]:80", "[fd00::1]", "80"));
}

TEST(Proxy, AddressesAndNetworksInNoProxy) {
  EXPECT_FALSE(is_proxied("10.0.0.1", "10.0.0.1"));
  EXPECT_TRUE(is_proxied("10.0.0.1", "10.0.0.10"));
  EXPECT_FALSE(is_proxied("10.96.0.0/12", "10.100.1.2", "443"));
  EXPECT_TRUE(is_proxied("10.96.0.0/12", "10.112.0.1"));
  EXPECT_FALSE(is_proxied("fd00::/8", "[fd12::3]"));
  EXPECT_FALSE(is_proxied("FD00::1", "[fd00:0::1]"));
  EXPECT_FALSE(is_proxied("0.0.0.0/0", "8.8.8.8"));
  EXPECT_TRUE(is_proxied("0.0.0.0/0", "[fd00::1]"));
  EXPECT_TRUE(is_proxied("10.0.0.0/8", "example.org"));
  EXPECT_TRUE(is_proxied("10.0.0.0/33", "10.0.0.1"));
}

TEST(Proxy, IsNotTakenFromAHeaderOfACgiRequest) {
  ProxySettings settings = exempting("");
  settings.cgi = true;
  EXPECT_FALSE(proxy_for(settings, "http", "example.org", "80"));
  EXPECT_TRUE(proxy_for(settings, "https", "example.org", "443"));
}

TEST(Proxy, UpperCaseComesFirst) {
  ::setenv("http_proxy", "http://lower:1", 1);
  EXPECT_EQ(proxy_settings_of_environment().http, "http://lower:1");
  ::setenv("HTTP_PROXY", "http://upper:1", 1);
  EXPECT_EQ(proxy_settings_of_environment().http, "http://upper:1");
  ::unsetenv("http_proxy");
  EXPECT_EQ(proxy_settings_of_environment().http, "http://upper:1");
  ::unsetenv("HTTP_PROXY");
  EXPECT_EQ(proxy_settings_of_environment().http, "");
}

}  // namespace
}  // namespace careen::io
