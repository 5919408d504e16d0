#include "plan/take_snapshot.h"

#include <fmt/format.h>

#include "io/loop.h"
#include "kube/client.h"
#include "kube/transport.h"
#include "kube/url.h"
#include "sim/value.h"

namespace careen::plan {

using io::Task;

namespace {

// Custom resources that need not be installed.
bool may_be_unknown(Kind kind) { return kind >= Kind::hypervisors; }

std::string query_of(Kind kind, int page_size, const std::string& token) {
  std::string query = fmt::format("limit={}", page_size);
  // A heartbeat of each node.
  if (kind == Kind::leases) query += "&fieldSelector=metadata.namespace%21%3Dkube-node-lease";
  if (token.empty()) return query;
  query += "&continue=";
  kube::append_encoded(query, token);
  return query;
}

// The objects of one page that are needed; its continue token.
kube::Result<std::string> take_page(const std::string& body, Kind kind, std::vector<kube::Json>& into) {
  const auto page = sim::parse(body);
  const boost::json::value* items = page ? sim::member(*page, "items") : nullptr;
  if (!items || !items->is_array()) {
    return tl::make_unexpected(kube::to_api_error(
        io::Error{io::ErrorKind::protocol, fmt::format("the list of {} is unreadable", entry_of(kind).section)}));
  }
  for (const boost::json::value& item : items->get_array()) {
    if (is_needed(kind, kube::JsonView(&item))) into.push_back(reduce(kind, item));
  }
  return std::string(sim::text_at(*page, {"metadata", "continue"}));
}

Task<kube::Result<std::vector<kube::Json>>> read_kind(kube::Client* client, Kind kind, int page_size) {
  std::vector<kube::Json> out;
  std::string token;
  do {
    kube::CallOptions call;
    call.timeout = io::seconds{60};
    call.query = query_of(kind, page_size, token);
    auto body = co_await client->list(entry_of(kind).resource, "", std::move(call));
    if (!body) co_return tl::make_unexpected(std::move(body.error()));
    auto next = take_page(*body, kind, out);
    if (!next) co_return tl::make_unexpected(std::move(next.error()));
    token = std::move(*next);
  } while (!token.empty());
  co_return out;
}

Task<std::string> read_version(kube::Client* client) {
  kube::Request request;
  request.method = "GET";
  request.path = "/version";
  const auto body = co_await client->call(std::move(request), {"", "v1", "version", "Version"}, "get");
  if (!body) co_return std::string();
  const auto parsed = kube::Json::parse(*body);
  co_return parsed ? std::string((*parsed)["gitVersion"].text().value_or("")) : std::string();
}

}  // namespace

Task<kube::Result<Snapshot>> take_snapshot(kube::Client& client, SnapshotScope scope) {
  Snapshot snapshot;
  snapshot.time = std::chrono::floor<io::seconds>(client.loop().wall_now());
  snapshot.careen = scope.careen;
  snapshot.server = co_await read_version(&client);
  for (const KindEntry& entry : kinds()) {
    if (!scope.pods && concerns_pods(entry.kind)) continue;
    if (scope.progress) scope.progress(entry.section);
    const bool elsewhere = entry.kind == Kind::limits && scope.limits;
    auto read = co_await read_kind(elsewhere ? scope.limits : &client, entry.kind, scope.page_size);
    if (read) {
      snapshot.objects[entry.kind] = std::move(*read);
      continue;
    }
    if (entry.kind == Kind::nodes) co_return tl::make_unexpected(std::move(read.error()));
    if (may_be_unknown(entry.kind) && read.error().not_found()) continue;
    // Rights that are missing cost a part of the plan; a server that does not answer costs all of it.
    if (read.error().code != 403 && !read.error().not_found()) co_return tl::make_unexpected(std::move(read.error()));
    snapshot.missing.push_back(fmt::format("{}: {}", entry.section, read.error().message));
  }
  co_return snapshot;
}

}  // namespace careen::plan
