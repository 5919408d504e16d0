#include <algorithm>

#include "cli/terminal_table.h"
#include "controllers/requests/commands/approval.h"
#include "controllers/requests/commands/asking.h"
#include "controllers/requests/commands/commands.h"
#include "session/kube_session.h"

namespace careen::requests {

using app::KubeSession;
using io::Task;

Task<int> list_requests(KubeSession& session, RequestListOptions options) {
  const auto listed = co_await list_own(session, options.client);
  if (!listed) co_return refused(session, listed.error());
  std::vector<app::Row> rows;
  kube::Json documents = kube::Json::array();
  for (const OwnRequest& request : *listed) {
    if (request.finished() && !options.finished) continue;
    if (!options.nodes.empty() && std::ranges::find(options.nodes, request.node) == options.nodes.end()) continue;
    documents.push_back(document_of(request));
    rows.push_back({request.name, request.node, request.client, std::string(name_of(request.state)),
                    std::string(name_of(request.status.phase)), app::age_text(session.now() - request.created),
                    request.status.message});
  }
  if (options.json) {
    session.screen.document(kube::Json::object({{"requests", std::move(documents)}}).dump());
    co_return 0;
  }
  if (rows.empty()) {
    session.screen.note(options.finished ? "There is no request."
                                         : "No request is open; --all shows the finished ones.");
    co_return 0;
  }
  const app::Row header = {"NAME", "NODE", "CLIENT", "STATE", "PHASE", "AGE", "MESSAGE"};
  for (const std::string& line : app::table_lines(header, rows)) session.screen.line(line);
  co_return 0;
}

}  // namespace careen::requests
