// Addresses of hosts as text: 10.0.0.7, fd00::7. Host names are not addresses.
#pragma once

#include <string>

namespace careen::io {

bool is_address(const std::string& text);
// 127.0.0.0/8 and ::1, as they are written down usually.
bool is_loopback_address(const std::string& text);

}  // namespace careen::io
