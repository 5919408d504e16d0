// A request to the API server, understood: the resource, the object, the options.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/query.h"
#include "sim/api_server.h"
#include "sim/value.h"

namespace careen::sim {

using io::Query;
Query query_of(std::string_view path);
// "true" or "1".
bool is_on(const Query& query, std::string_view key);

// Path segments without the query, decoded.
std::vector<std::string> path_segments(std::string_view path);

struct ApiServer::Ask {
  const kube::Request* request = nullptr;
  Caller caller{};
  const Resource* resource = nullptr;
  std::string ns{};
  std::string name{};  // empty: the whole collection
  std::string subresource{};
  Query query;

  // Of the object in its collection.
  std::string key() const { return key_of(name); }
  std::string key_of(const std::string& object) const { return resource->namespaced ? ns + "/" + object : object; }
  bool dry_run() const { return query["dryRun"] == "All"; }
};

// namespace and name of a key.
std::pair<std::string_view, std::string_view> split_key(const Collection& collection, std::string_view key);

kube::Response answer_with(int status, std::string body);

}  // namespace careen::sim
