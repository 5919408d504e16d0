// Versions out of any text, one a line: what parses is written the same way again, and precedence is an order.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "windows/semver.h"

namespace {

using careen::windows::precedence;
using careen::windows::Semver;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "semver fuzz: %s\n", what);
  std::abort();
}

std::string written(const Semver& version) {
  std::string out = std::to_string(version.major_number) + "." + std::to_string(version.minor_number) + "." +
                    std::to_string(version.patch_number);
  if (!version.pre_release.empty()) out += "-" + version.pre_release;
  if (!version.build.empty()) out += "+" + version.build;
  return out;
}

std::vector<Semver> versions_in(std::string_view text) {
  std::vector<Semver> out;
  while (!text.empty() && out.size() < 8) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto version = careen::windows::parse_semver(line);
    if (!version) {
      expect(!version.error().message.empty(), "refused without an error");
      continue;
    }
    expect(written(*version) == line, "a version changed by reading it");
    out.push_back(*version);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<Semver> versions = versions_in({reinterpret_cast<const char*>(data), size});
  for (const Semver& a : versions) {
    expect(precedence(a, a) == 0, "a version differs from itself");
    for (const Semver& b : versions) {
      expect((precedence(a, b) < 0) == (precedence(b, a) > 0), "precedence depends on the side");
      const bool same = a.pre_release == b.pre_release && a.major_number == b.major_number &&
                        a.minor_number == b.minor_number && a.patch_number == b.patch_number;
      expect((precedence(a, b) == 0) == same, "precedence sees other parts than those that count");
      for (const Semver& c : versions) {
        if (precedence(a, b) < 0 && precedence(b, c) < 0) expect(precedence(a, c) < 0, "precedence goes in circles");
      }
    }
  }
  return 0;
}
