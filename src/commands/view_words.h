// How the documents of the view API (docs/api.md) are put into words for a terminal: their times, counts and lists.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/time.h"
#include "kube/json.h"

namespace careen::app {

// The text; empty when there is none.
std::string shown(kube::JsonView value);
std::optional<io::Wall> time_of(kube::JsonView value);
int64_t count_of(kube::JsonView value);

// 2026-03-01T10:00:00Z (2h ago), (in 5m), (now)
std::string when_text(kube::JsonView time, io::Wall now);
// paused by ana@host since 2026-03-01T10:00:00Z (2h ago): broken images
std::string pause_text(kube::JsonView pause, io::Wall now);
// Their elements with commas; no more than `most`, then "and 3 more".
std::string list_text(kube::JsonView list, size_t most);

}  // namespace careen::app
