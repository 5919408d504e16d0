// The files of the dashboard as they are in the binary: its page, script, style and icon. The build makes them from
// web/; built without Node.js there are none, and careen serves the JSON API alone.
#pragma once

#include <span>
#include <string_view>

namespace careen::web {

struct DashboardFile {
  std::string_view path;  // index.html
  std::string_view content_type;
  std::string_view body;
  std::string_view etag;  // with its quotes; a different one for a different body
};

std::span<const DashboardFile> dashboard_files();

}  // namespace careen::web
