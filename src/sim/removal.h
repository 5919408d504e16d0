// How one deletion should go, as its client asked for it.
#pragma once

#include <optional>
#include <string>

#include "sim/ask.h"

namespace careen::sim {

struct ApiServer::Removal {
  enum class Policy { background, foreground, orphan };
  std::optional<int64_t> grace{};
  std::string uid{}, version{};  // what must be so
  Policy policy = Policy::background;
  bool wait = false;  // orphanDependents=false: the answer says that it is not gone yet
  bool dry_run = false;

  // From the body of a deletion, or the options within an eviction.
  static Either<Removal> read(const json::value& options);
  static Either<Removal> from_query(const Query& query);
  // The object is not the one that was meant.
  std::optional<Failure> fails_for(const Resource& resource, const json::value& object) const;

 private:
  struct Wishes;
  static Either<Removal> settled(Removal out, const Wishes& wishes);
};

}  // namespace careen::sim
