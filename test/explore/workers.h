// Numbered pieces of work on several processors. Each worker is a process of its own, because a case has the whole of
// careen in it; which one does what piece changes nothing about its result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "tally.h"

namespace careen::explore {

// False when the piece fails. It counts in the tally what it runs.
using Work = std::function<bool(uint64_t piece, Tally& tally)>;

// Does pieces 0 to count − 1 in that many processes, in this one if that is 1, and says which is the first that fails
// or ends its process. Later ones need not have been done by then, earlier ones have. Reports its progress now and
// then.
std::optional<uint64_t> first_failing(uint64_t count, int processes, Tally& tally, const Work& work);

}  // namespace careen::explore
