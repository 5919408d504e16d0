// What a controller does to nodes, as of one moment, in the terms of the documents that careen shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "budget/claim.h"
#include "controllers/slot/why.h"

namespace careen::controllers {

// A node on the map of the fleet, from the mildest to the worst.
enum class Cell { none, operational, maintenance_required, draining, in_maintenance, failing };

// A controller without objects says only whose claims there are.
class Picture {
 public:
  virtual ~Picture() = default;

  // How the node looks for what the controller does to it.
  virtual Cell cell(std::string_view) const { return Cell::none; }
  // Its part of a node's tree of reasons.
  virtual std::vector<Why> reasons(std::string_view) const { return {}; }
  // Its objects as JSON documents, one after the other: of the whole fleet, ordered as people count, or of one node.
  // What people read of them is `name`, `phase`, and where there is such: `since`, `reason`, `percent`, `pending`
  // (pods), `waits` (for what) and `error`.
  virtual std::vector<std::string> documents() const { return {}; }
  virtual std::vector<std::string> documents_of(std::string_view) const { return {}; }
  // Who has which node out, or is about to: one of its objects, or a profile.
  virtual std::vector<budget::Claim> claims() const = 0;
};

}  // namespace careen::controllers
