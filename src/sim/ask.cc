#include "sim/ask.h"

#include <algorithm>

namespace careen::sim {

namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace

Query::Query(std::string_view path) {
  const size_t start = path.find('?');
  if (start == std::string_view::npos) return;
  std::string_view rest = path.substr(start + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const size_t sign = pair.find('=');
    const std::string_view value = sign == std::string_view::npos ? std::string_view() : pair.substr(sign + 1);
    parameters_.emplace_back(decoded(pair.substr(0, sign), true), decoded(value, true));
  }
}

std::string_view Query::operator[](std::string_view key) const {
  for (const auto& [name, value] : parameters_) {
    if (name == key) return value;
  }
  return {};
}

bool Query::has(std::string_view key) const {
  return std::any_of(parameters_.begin(), parameters_.end(), [&](const auto& one) { return one.first == key; });
}

bool Query::is_on(std::string_view key) const {
  const std::string_view value = (*this)[key];
  return value == "true" || value == "1" || value == "True";
}

std::vector<std::string> path_segments(std::string_view path) {
  path = path.substr(0, path.find('?'));
  std::vector<std::string> out;
  while (!path.empty()) {
    if (path[0] == '/') {
      path.remove_prefix(1);
      continue;
    }
    const std::string_view one = path.substr(0, path.find('/'));
    out.push_back(decoded(one, false));
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
