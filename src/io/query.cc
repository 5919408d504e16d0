#include "io/query.h"

#include <algorithm>

namespace careen::io {

namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

void append_encoded(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
}

std::string url_decoded(std::string_view text, bool plus_is_space) {
  if (text.find_first_of("%+") == std::string_view::npos) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

Query::Query(std::string_view raw) {
  while (!raw.empty()) {
    const std::string_view pair = raw.substr(0, raw.find('&'));
    raw.remove_prefix(std::min(pair.size() + 1, raw.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    values_.emplace(url_decoded(pair.substr(0, equals), true),
                    url_decoded(pair.substr(std::min(equals + 1, pair.size())), true));
  }
}

std::set<std::string> Query::all(std::string_view name) const {
  std::set<std::string> out;
  const auto [begin, end] = values_.equal_range(name);
  for (auto it = begin; it != end; ++it) out.insert(it->second);
  return out;
}

std::string_view Query::operator[](std::string_view name) const {
  const auto it = values_.lower_bound(name);
  return it == values_.end() || it->first != name ? std::string_view() : std::string_view(it->second);
}

}  // namespace careen::io
