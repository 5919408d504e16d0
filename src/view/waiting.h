// What a profile of a node waits for, in words: which checks would have to say something else, who holds the places it
// wants, and when it can change by itself.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "io/time.h"

namespace careen::profiles {
struct Profile;
struct ProfileOutcome;
struct Transition;
}  // namespace careen::profiles

namespace careen::view {

// In a few words, for a row among thousands: "few (2 of 2) and night". It changes only when the facts do. Empty when
// there is nothing to wait for. `profile` may be null: it is not configured any more.
std::string waits(const profiles::ProfileOutcome& outcome, const profiles::Profile* profile);
// In one sentence.
std::string summary(const profiles::ProfileOutcome& outcome, const profiles::Profile* profile, io::Wall now);
// What it waits for besides its checks; empty: nothing.
std::string held_up_text(const profiles::ProfileOutcome& outcome);
// When it can next change without anybody doing anything.
std::optional<io::Wall> wake_of(const profiles::ProfileOutcome& outcome);

// 14:00 UTC, on another day than `now` with the date; with seconds if there are any.
std::string clock_text(io::Wall time, io::Wall now);

// The transitions of the state the outcome is about, one for each of its transitions; none when they were not asked.
std::span<const profiles::Transition> transitions_of(const profiles::ProfileOutcome& outcome,
                                                     const profiles::Profile* profile);

}  // namespace careen::view
