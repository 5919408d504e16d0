#include "source_dir.h"

namespace careen::test {

std::string source_path(std::string_view relative) { return std::string(CAREEN_SOURCE_DIR "/").append(relative); }

}  // namespace careen::test
