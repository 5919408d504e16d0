// The record of pauses out of any text: what cannot be read is refused with a message; what is read can be written,
// reads back as the same, is written the same again, and pauses whom it names.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "budget/pause.h"

namespace {

using careen::budget::PauseRecord;
using careen::budget::Pauses;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "pause fuzz: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto record = PauseRecord::parse(std::string_view(reinterpret_cast<const char*>(bytes), size));
  if (!record) {
    expect(!record.error().empty(), "refused without a message");
    return 0;
  }
  const std::string written = record->text();
  const auto again = PauseRecord::parse(written);
  expect(again.has_value(), "what was written cannot be read");
  expect(again->pauses == record->pauses, "writing changed the record");
  expect(again->text() == written, "writing is not stable");

  Pauses pauses;
  pauses.set(*record);
  expect(pauses.all().size() == record->pauses.size(), "a pause is lost");
  for (const auto& [profile, pause] : record->pauses) {
    expect(pause.profile == profile, "a pause has another's name");
    expect(!pause.by.empty() && !pause.text().empty(), "nobody knows by whom");
    expect(pauses.of(profile) != nullptr, "what is named is not paused");
  }
  expect((pauses.of("") != nullptr) == record->pauses.contains(""), "everything is paused for no reason");
  return 0;
}
