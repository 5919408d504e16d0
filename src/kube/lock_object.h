// Where the record of a renewed lock stands: in the spec of a Lease, or, as older programs keep it, as JSON in an
// annotation of a ConfigMap. What is written is what client-go writes, so that two programs on one lock understand
// each other; whatever else is in the object stays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/result.h"
#include "io/time.h"
#include "kube/json.h"
#include "kube/lock_kind.h"
#include "kube/resource.h"

namespace careen::kube {

struct LockRecord {
  std::string holder;  // empty: nobody
  std::string renew_time;
  io::Duration duration{};
  int64_t transitions = 0;
  std::string whole;  // as long as it stays the same, nobody has renewed
};

// What one write makes of the record.
struct LockTerm {
  std::string_view holder;
  io::Duration duration{};
  std::string_view renewed;
  std::optional<std::string_view> acquired = {};  // stays if it is not given, as the number of transitions does
  std::optional<int64_t> transitions = {};
};

class LockObject {
 public:
  virtual ~LockObject() = default;
  virtual const Resource& resource() const = 0;
  virtual std::string_view noun() const = 0;  // in messages: "lease"
  // An object without a record is a free lock. One whose record cannot be read is nobody's to take: whoever wrote it
  // may hold it.
  virtual io::Result<LockRecord> read(const Json& object) const = 0;
  virtual void write(Json& object, const LockTerm& term) const = 0;
};

const LockObject& lock_object(LockKind kind);

// On a ConfigMap whose record is careen's: the holder that careen has written. Old programs of all sorts lock with a
// ConfigMap of the same name, and whoever comes after careen leaves this as it is, so it counts only while it names the
// record's holder.
inline constexpr std::string_view kCareenHolder = "careen.dev/holder";
bool is_lock_of_careen(const Json& config_map, const LockRecord& record);

}  // namespace careen::kube
