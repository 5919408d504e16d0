#include "web/static_files.h"

#include <algorithm>

namespace careen::web {

namespace {

constexpr const char* kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// If-None-Match may name several; a weak one stands for the same body here.
bool names(std::string_view wanted, std::string_view etag) {
  return wanted == "*" || (!etag.empty() && wanted.find(etag) != std::string_view::npos);
}

}  // namespace

const DashboardFile* find_file(std::span<const DashboardFile> files, std::string_view path) {
  if (!path.starts_with('/')) return nullptr;
  path.remove_prefix(1);
  if (path.empty()) path = "index.html";
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const DashboardFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
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

io::ServerResponse lead_to_dashboard() {
  io::ServerResponse response;
  response.status = 307;
  response.headers.emplace_back("Location", "/");
  response.body = "see /\n";
  return response;
}

}  // namespace careen::web
