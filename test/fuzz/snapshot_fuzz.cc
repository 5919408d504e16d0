// A snapshot from any bytes. What is read can be written and read again and is the same; what is refused is refused
// with a message; what is small is planned for an hour, whatever it holds.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plan/planner.h"

namespace {

using namespace careen;

constexpr const char* kConfig = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: wanted, type: hasLabel, config: {key: update}}
  - {name: few, type: maxMaintenance, config: {max: 1}}
  trigger:
  - {name: drain, type: eviction, config: {action: drain}}
profiles:
- name: default
  operational: {transitions: [{check: wanted, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: few, next: in-maintenance, trigger: drain}]}
  in-maintenance: {transitions: [{check: "!wanted", next: operational}]}
)";

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "snapshot fuzz: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = plan::unpack(std::string(reinterpret_cast<const char*>(data), size));
  if (!text) {
    expect(!text.error().message.empty(), "refused without a message");
    return 0;
  }
  auto snapshot = plan::parse_snapshot(*text);
  if (!snapshot) {
    expect(!snapshot.error().message.empty(), "refused without a message");
    return 0;
  }
  const std::string written = plan::snapshot_text(*snapshot);
  const auto again = plan::parse_snapshot(written);
  expect(again.has_value(), "what was written cannot be read");
  expect(plan::snapshot_text(*again) == written, "writing is not stable");
  if (size > 4096) return 0;
  plan::PlannerOptions options;
  options.span = io::minutes{60};
  const auto plan = plan::make_plan(std::move(*snapshot), kConfig, std::move(options));
  expect(plan && plan->complete, "there is no plan");
  return 0;
}
