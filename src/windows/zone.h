// A time zone: what has to be added to UTC, and when. UTC itself needs nothing; the others come from the machine's
// tzdata, which is read when a zone is looked up.
#pragma once

#include <string>
#include <string_view>

#include "io/result.h"
#include "io/time.h"

namespace date {
class time_zone;
}

namespace careen::windows {

class Zone {
 public:
  // A stretch of time with one offset: begin ≤ t < end.
  struct Span {
    io::Wall begin, end;
    io::Duration offset;
    std::string abbreviation;  // CEST
  };

  // UTC.
  Zone() = default;
  // By its IANA name, such as Europe/Berlin. The error continues the name of the key: must be …
  static io::Result<Zone> find(std::string_view name);

  const std::string& name() const;
  Span span(io::Wall t) const;

 private:
  explicit Zone(const date::time_zone* zone) : zone_(zone) {}

  // Owned by the process-wide list of zones, which is never dropped.
  const date::time_zone* zone_ = nullptr;
};

}  // namespace careen::windows
