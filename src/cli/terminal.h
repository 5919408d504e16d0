// Whether what is printed may have colours.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace careen::app {

// On a terminal, unless the user asked for none (https://no-color.org).
inline bool shows_colours(std::FILE* stream) {
  const char* none = std::getenv("NO_COLOR");
  return (none == nullptr || *none == '\0') && ::isatty(::fileno(stream)) == 1;
}

}  // namespace careen::app
