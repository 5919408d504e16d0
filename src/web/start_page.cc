#include "web/start_page.h"

#include <string_view>

namespace careen::web {

namespace {

constexpr std::string_view kPage = R"(<!DOCTYPE html>
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
<dt><a href="/api/v1/info">/api/v1/info</a></dt>
<dd>The state of every node, and why it is or is not moving on, as JSON.</dd>
<dt><a href="/metrics">/metrics</a></dt>
<dd>Numbers about this replica, for Prometheus.</dd>
</dl>
</body>
</html>
)";

io::ServerResponse redirect(int status, const char* to) {
  io::ServerResponse response;
  response.status = status;
  response.headers.emplace_back("Location", to);
  response.body = std::string("see ") + to + "\n";
  return response;
}

}  // namespace

io::ServerResponse answer_start_page(const io::ServerRequest& request) {
  if (request.path == "/static") return redirect(307, "/static/");
  io::ServerResponse response;
  if (request.path == "/static/" || request.path == "/static/index.html") {
    response.content_type = "text/html; charset=utf-8";
    response.headers.emplace_back("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'");
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.body = kPage;
    return response;
  }
  if (!request.path.starts_with("/static/")) return redirect(301, "/static");
  response.status = 404;
  response.body = "not found; there is only the page /static/\n";
  return response;
}

}  // namespace careen::web
