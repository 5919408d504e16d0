// Of a node or an object: changed when a write that may still be on its way to it must find it changed, and conflict.
#pragma once

#include <string_view>

namespace careen::budget {

inline constexpr std::string_view kTouchAnnotation = "careen.dev/touched";

}  // namespace careen::budget
