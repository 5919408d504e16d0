// Who asks for a place, and who has one. A place is the right of a node to be out, in all limits that select it;
// whoever has it has the node out, or is about to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/time.h"

namespace careen::limits {

// Whose turn it is: the first before the second, and so on.
enum class Rank { deadline, repair, person, campaign };
std::string_view name_of(Rank rank);

// `who` is unique on its node: profile/os-update, nodemaintenance/disk, request/mr-x7k2p, terminal/ana@host,
// foreign/kubectl. `actor` is what people read, and what reserves name: it is `who` but for requests, which are shown
// by their client: request/rebooter.
struct Asking {
  std::string node;
  std::string who;
  std::string actor;
  Rank rank = Rank::campaign;
  io::Wall since{};  // it has wanted a place for that long; equal times go by `who`
};

struct Place {
  std::string node;
  std::string uid;  // of the node; empty: of whichever has the name, because nobody has seen it yet
  std::string who;
  std::string actor;
  io::Wall since{};
  bool is_of(std::string_view node_uid) const { return uid.empty() || uid == node_uid; }
  bool operator==(const Place&) const = default;
};

}  // namespace careen::limits
