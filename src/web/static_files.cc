#include "web/static_files.h"

#include <string>
#include <string_view>

namespace careen::web {

namespace {

constexpr const char* kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// If-None-Match may name several; a weak one stands for the same body here.
bool names(std::string_view wanted, std::string_view etag) {
  return wanted == "*" || (!etag.empty() && wanted.find(etag) != std::string_view::npos);
}

io::ServerResponse answer_file(const io::ServerRequest& request, const DashboardFile& file) {
  io::ServerResponse response;
  response.content_type = file.content_type;
  response.headers = {{"Content-Security-Policy", kContentSecurityPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"},
                      {"ETag", std::string(file.etag)}};
  if (names(io::header(request.headers, "If-None-Match"), file.etag)) {
    response.status = 304;
  } else {
    response.body = file.body;
  }
  return response;
}

Route file_route(std::string_view path, const DashboardFile& file) {
  return {.path = exactly(path),
          .access = Access::anybody(),
          .answer = at_once([&file](const io::ServerRequest& request) { return answer_file(request, file); })};
}

}  // namespace

std::vector<Route> file_routes(std::span<const DashboardFile> files) {
  std::vector<Route> out;
  for (const DashboardFile& file : files) {
    out.push_back(file_route("/" + std::string(file.path), file));
    if (file.path == "index.html") out.push_back(file_route("/", file));
  }
  return out;
}

Route lead_to_dashboard(Access access) {
  return {.path = everything_else(), .access = std::move(access), .answer = at_once([](const io::ServerRequest&) {
                                                                    io::ServerResponse response;
                                                                    response.status = 307;
                                                                    response.headers.emplace_back("Location", "/");
                                                                    response.body = "see /\n";
                                                                    return response;
                                                                  })};
}

}  // namespace careen::web
