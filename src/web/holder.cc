#include "web/holder.h"

#include <algorithm>

namespace careen::web {

namespace {

constexpr size_t kLongestPodName = 253;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_pod_name(std::string_view text) {
  const auto fits = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= kLongestPodName && std::all_of(text.begin(), text.end(), fits) &&
         is_letter_or_digit(text.front()) && is_letter_or_digit(text.back());
}

}  // namespace

std::optional<std::string> pod_of_holder(std::string_view identity) {
  const std::string_view pod = identity.substr(0, identity.find('_'));
  if (!is_pod_name(pod)) return std::nullopt;
  return std::string(pod);
}

}  // namespace careen::web
