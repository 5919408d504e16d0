#include "io/proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace careen::io {

namespace {

// An IPv4 address is held as IPv6 holds it.
struct Address {
  std::array<unsigned char, 16> bytes{};
  bool v4 = false;

  friend bool operator==(const Address& a, const Address& b) { return a.bytes == b.bytes; }
};

constexpr size_t kV4Offset = 12;

std::optional<Address> parse_address(std::string_view text) {
  const std::string terminated(text);
  Address address;
  if (::inet_pton(AF_INET, terminated.c_str(), &address.bytes[kV4Offset]) == 1) {
    address.bytes[10] = address.bytes[11] = 0xFF;
    address.v4 = true;
    return address;
  }
  if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  constexpr std::array<unsigned char, kV4Offset> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  address.v4 = std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin());
  return address;
}

bool is_loopback(const Address& address) {
  if (address.v4) return address.bytes[kV4Offset] == 127;
  return address == *parse_address("::1");
}

// Whether `entry` is a network, and if so, whether the address lies in it.
std::optional<bool> in_network(std::string_view entry, const std::optional<Address>& address) {
  const size_t slash = entry.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto network = parse_address(entry.substr(0, slash));
  const std::string_view digits = entry.substr(slash + 1);
  size_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  const bool v4 = network && network->v4 && entry.find(':') == std::string_view::npos;
  if (!network || error != std::errc() || end != digits.data() + digits.size() || bits > (v4 ? 32U : 128U)) {
    return std::nullopt;
  }
  if (!address || address->v4 != network->v4) return false;
  if (v4) bits += kV4Offset * 8;
  for (size_t i = 0; i < address->bytes.size() && bits > 0; ++i) {
    const size_t here = std::min<size_t>(bits, 8);
    const auto mask = static_cast<unsigned char>(0xFFU << (8 - here));
    if ((address->bytes[i] & mask) != (network->bytes[i] & mask)) return false;
    bits -= here;
  }
  return true;
}

std::string lowered(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  std::string out(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
  });
  return out;
}

std::string_view without_brackets(std::string_view host) {
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

struct HostPort {
  std::string_view host;
  std::string_view port;  // empty: any
};

// An IPv6 address without brackets has colons and no port.
HostPort split(std::string_view entry) {
  const size_t colon = entry.rfind(':');
  if (colon == std::string_view::npos) return {entry, {}};
  const std::string_view host = entry.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (!bracketed && host.find(':') != std::string_view::npos) return {entry, {}};
  return {without_brackets(host), entry.substr(colon + 1)};
}

// example.org is that name and all below it; .example.org and *.example.org only what is below.
bool covers_name(std::string_view pattern, std::string_view host) {
  if (pattern.starts_with("*.")) pattern.remove_prefix(1);
  if (pattern.starts_with('.')) return host.ends_with(pattern);
  if (!host.ends_with(pattern)) return false;
  return host.size() == pattern.size() || host[host.size() - pattern.size() - 1] == '.';
}

bool covers(std::string_view entry, std::string_view host, const std::optional<Address>& address,
            std::string_view port) {
  if (entry == "*") return true;
  if (const auto inside = in_network(entry, address)) return *inside;
  const HostPort wanted = split(entry);
  if (wanted.host.empty() || (!wanted.port.empty() && wanted.port != port)) return false;
  if (const auto one = parse_address(wanted.host)) return address && *address == *one;
  return covers_name(wanted.host, host);
}

bool is_exempt(std::string_view list, std::string_view host, const std::optional<Address>& address,
               std::string_view port) {
  while (true) {
    const size_t comma = list.find(',');
    const std::string entry = lowered(list.substr(0, comma));
    if (!entry.empty() && covers(entry, host, address, port)) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

// With a scheme, and names are the proxy's to look up with either spelling of SOCKS 5.
std::string as_url(const std::string& proxy) {
  constexpr std::string_view kSocks = "socks5://";
  if (proxy.starts_with(kSocks)) return "socks5h://" + proxy.substr(kSocks.size());
  return proxy.find("://") == std::string::npos ? "http://" + proxy : proxy;
}

std::string variable(const char* upper, const char* lower) {
  for (const char* name : {upper, lower}) {
    const char* value = std::getenv(name);
    if (value && *value) return value;
  }
  return {};
}

}  // namespace

ProxySettings proxy_settings_of_environment() {
  return {variable("HTTP_PROXY", "http_proxy"), variable("HTTPS_PROXY", "https_proxy"),
          variable("NO_PROXY", "no_proxy"), !variable("REQUEST_METHOD", "REQUEST_METHOD").empty()};
}

Result<std::string> proxy_for(const ProxySettings& settings, std::string_view scheme, std::string_view host,
                              std::string_view port) {
  const std::string& proxy = scheme == "https" ? settings.https : settings.http;
  if (proxy.empty()) return std::string();
  if (settings.cgi && scheme != "https") {
    return fail(ErrorKind::invalid,
                "HTTP_PROXY is not used where REQUEST_METHOD is set, since a CGI request could have named it");
  }
  const std::string name = lowered(without_brackets(host));
  const auto address = parse_address(name);
  if (name == "localhost" || (address && is_loopback(*address))) return std::string();
  if (is_exempt(settings.none_for, name, address, port)) return std::string();
  return as_url(proxy);
}

}  // namespace careen::io
