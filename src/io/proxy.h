// Which proxy a request goes through, by the environment's HTTP_PROXY, HTTPS_PROXY and NO_PROXY, read as Go's net/http
// reads them: what the replaced programs went through is what careen goes through.
#pragma once

#include <string>
#include <string_view>

#include "io/result.h"

namespace careen::io {

struct ProxySettings {
  std::string http;
  std::string https;
  std::string none_for;
  // The program serves a CGI request: then HTTP_PROXY may have come from a header of that request.
  bool cgi = false;
};

// Each in upper case or, where that is not set, in lower case.
ProxySettings proxy_settings_of_environment();

// The proxy's URL; empty: none. `host` is a name or an address, IPv6 with or without its brackets. Never a proxy for
// this machine itself. An error where a CGI request could have named the proxy.
Result<std::string> proxy_for(const ProxySettings& settings, std::string_view scheme, std::string_view host,
                              std::string_view port);

}  // namespace careen::io
