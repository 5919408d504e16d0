#include "io/address.h"

#include <arpa/inet.h>

namespace careen::io {

bool is_address(const std::string& text) {
  // C's functions would not see what comes behind.
  if (text.find('\0') != std::string::npos) return false;
  in6_addr room{};
  return ::inet_pton(AF_INET, text.c_str(), &room) == 1 || ::inet_pton(AF_INET6, text.c_str(), &room) == 1;
}

bool is_loopback_address(const std::string& text) {
  return is_address(text) && (text == "::1" || text.starts_with("127."));
}

}  // namespace careen::io
