#include "sim/ask.h"

namespace careen::sim {

Query query_of(std::string_view path) {
  const size_t start = path.find('?');
  return Query(start == std::string_view::npos ? std::string_view() : path.substr(start + 1));
}

bool is_on(const Query& query, std::string_view key) {
  const std::string_view value = query[key];
  return value == "true" || value == "1" || value == "True";
}

std::vector<std::string> path_segments(std::string_view path) {
  path = path.substr(0, path.find('?'));
  std::vector<std::string> out;
  out.reserve(8);
  while (!path.empty()) {
    if (path[0] == '/') {
      path.remove_prefix(1);
      continue;
    }
    const std::string_view one = path.substr(0, path.find('/'));
    out.push_back(io::url_decoded(one, false));
    path.remove_prefix(one.size());
  }
  return out;
}

std::pair<std::string_view, std::string_view> split_key(const Collection& collection, std::string_view key) {
  if (!collection.namespaced) return {{}, key};
  const size_t slash = key.find('/');
  return {key.substr(0, slash), key.substr(slash + 1)};
}

kube::Response answer_with(int status, std::string body) { return {status, std::move(body), std::nullopt}; }

}  // namespace careen::sim
