// The data annotation out of any text: what is read can be written, reads back as the same data, and is written the
// same again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "controllers/profiles/data.h"

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "data annotation fuzz: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto data = careen::profiles::parse_node_data(text);
  if (!data) {
    expect(!data.error().message.empty(), "refused without a message");
    return 0;
  }
  if (const auto own = careen::profiles::read_as_written(text)) {
    expect(format_node_data(*own) == text, "taken for careen's own, but written otherwise");
  }
  const std::string written = format_node_data(*data);
  const auto again = careen::profiles::parse_node_data(written);
  expect(again.has_value(), "what was written cannot be read");
  expect(*again == *data, "writing changed the data");
  expect(format_node_data(*again) == written, "writing is not stable");
  return 0;
}
