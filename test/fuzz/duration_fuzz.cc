// Durations out of any text: what parses is the same duration after it was printed and parsed again, and its opposite
// parses with the other sign.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/time.h"

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "duration fuzz: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto duration = careen::io::parse_duration(text);
  if (!duration) return 0;
  const std::string printed = careen::io::format_duration(*duration);
  expect(careen::io::parse_duration(printed) == duration, "printing changed the duration");
  if (text.front() == '-' || text.front() == '+') return 0;
  expect(careen::io::parse_duration("-" + std::string{text}) == -*duration, "the opposite is another duration");
  return 0;
}
