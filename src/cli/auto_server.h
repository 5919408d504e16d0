// What takes the place of an address in `--server`: the careen that runs on this machine.
#pragma once

#include <string_view>

namespace careen::app {

inline constexpr std::string_view kAutoServer = "auto";

}  // namespace careen::app
