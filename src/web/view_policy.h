// The choices for who may look at the view API; see view_guard.h.
#pragma once

#include <optional>
#include <string_view>

namespace careen::web {

enum class ViewPolicy {
  loopback,  // from there without a token, from elsewhere with one
  token,     // always with one
  open,      // everybody
};
// loopback, token, none; nothing for any other text.
std::optional<ViewPolicy> parse_view_policy(std::string_view text);

}  // namespace careen::web
