// A pause: somebody has stopped everything, or one profile, until it is resumed. It is a budget of zero that lives in
// the cluster, in an annotation of a Lease beside the ledger, so that it survives every restart and everybody sees who
// set it. While it lasts nothing begins, moves or is evicted; what gives back (an undo) continues.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/subscription.h"
#include "io/time.h"
#include "tl/expected.hpp"

namespace careen::budget {

struct Pause {
  std::string profile;  // empty: everything
  std::string by;       // ana@host
  io::Wall since{};     // in whole seconds; the epoch when that is not known
  std::string reason;   // may be empty
  bool operator==(const Pause&) const = default;
  // paused by ana@host since 2026-03-01T10:00:00Z: broken images
  std::string text() const;
};

// The annotation's text: {"all":{"by":…,"since":…,"reason":…},"profiles":{"os-update":{…}}}
struct PauseRecord {
  static constexpr std::string_view kLease = "careen-pause";
  static constexpr std::string_view kAnnotation = "careen.dev/pause";

  std::map<std::string, Pause> pauses;  // by profile; "" is everything

  // The error says where, what is there, and what was expected.
  static tl::expected<PauseRecord, std::string> parse(std::string_view text);
  std::string text() const;
};

// What is paused now, as far as is known. Everything is until that is known, and while the record cannot be read.
class Pauses {
 public:
  // Nothing is known: what stops everything, for people, and since when. Without it nothing is paused.
  void unknown(std::string why, io::Wall since = {});
  void set(PauseRecord record);

  // The pause that concerns this profile, of everything first; "" asks for what is no profile's. Null: none.
  const Pause* of(std::string_view profile) const;
  std::vector<Pause> all() const;

  // Called after each change, until what is returned is destroyed.
  io::Subscription subscribe(std::function<void()> listener) { return listeners_.subscribe(std::move(listener)); }

 private:
  std::map<std::string, Pause, std::less<>> pauses_;
  std::optional<Pause> unknown_;
  io::Hub<> listeners_;
};

}  // namespace careen::budget
