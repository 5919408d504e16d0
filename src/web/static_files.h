// The dashboard's files over HTTP. They hold no data, so everybody may read them; what they may load and where they may
// connect to is this address and nothing else.
#pragma once

#include <optional>
#include <span>

#include "io/http_server.h"
#include "web/dashboard_files.h"

namespace careen::web {

// The file of that path; / is index.html. Nothing when there is none.
const DashboardFile* find_file(std::span<const DashboardFile> files, std::string_view path);
io::ServerResponse answer_file(const io::ServerRequest& request, const DashboardFile& file);
// For every other path of a site with a dashboard: /static and what lies below, the page of the original, lead to it,
// and so do all unknown ones.
io::ServerResponse lead_to_dashboard();

}  // namespace careen::web
