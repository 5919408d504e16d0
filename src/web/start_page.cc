#include "web/start_page.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace careen::web {

namespace {

constexpr std::string_view kBegin = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>careen</title>
<style>
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; }
dt { margin-top: 1rem; font-weight: 600; }
dd { margin-left: 0; }
</style>
</head>
<body>
<h1>careen</h1>
<p>careen takes the nodes of this Kubernetes cluster through maintenance: it asks the checks of their profiles,
sends the notifications and runs the triggers, and never has more nodes in maintenance than the limits allow.</p>
<dl>
)";
constexpr std::string_view kEnd = R"(</dl>
</body>
</html>
)";

std::string page_about(const std::vector<Route>& routes) {
  std::string page(kBegin);
  for (const Route& route : routes) {
    if (route.listing.about.empty()) continue;
    page += fmt::format("<dt><a href=\"{0}\">{0}</a></dt>\n<dd>{1}</dd>\n", route.listing.name, route.listing.about);
  }
  return page.append(kEnd);
}

io::ServerHandler redirect(int status, const std::string& to) {
  return at_once([status, to](const io::ServerRequest&) {
    io::ServerResponse response;
    response.status = status;
    response.headers.emplace_back("Location", to);
    response.body = "see " + to + "\n";
    return response;
  });
}

io::ServerResponse only_the_page() {
  io::ServerResponse response;
  response.status = 404;
  response.body = "not found; there is only the page /static/\n";
  return response;
}

}  // namespace

std::vector<Route> start_page(const std::vector<Route>& listed, const Access& access) {
  const io::ServerHandler page = at_once([text = page_about(listed)](const io::ServerRequest&) {
    io::ServerResponse response;
    response.content_type = "text/html; charset=utf-8";
    response.headers.emplace_back("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.body = text;
    return response;
  });
  const io::ServerHandler missing = at_once([](const io::ServerRequest&) { return only_the_page(); });
  return {{.path = exactly("/static"), .access = access, .answer = redirect(307, "/static/")},
          {.path = exactly("/static/"), .access = access, .answer = page},
          {.path = exactly("/static/index.html"), .access = access, .answer = page},
          {.path = below("/static/"), .access = access, .answer = missing},
          {.path = everything_else(), .access = access, .answer = redirect(301, "/static")}};
}

}  // namespace careen::web
