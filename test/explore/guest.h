// A controller that joins campaigns besides profiles and NodeMaintenances: each process hosts it, and it brings what
// must hold of what it does. What people do with its objects are edits of the campaign.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/json.h"
#include "sim/api_server.h"

namespace careen::controllers {
class Choice;
struct Kind;
}  // namespace careen::controllers

namespace careen::explore {

using Report = std::function<void(std::string rule, std::string what)>;

class GuestWatch {
 public:
  virtual ~GuestWatch() = default;
  // Each change of a node and of the controller's own objects. `exact`: so far nobody has lost what only the ledger
  // knows, so limits hold.
  virtual void changed(const sim::Change& change, bool by_careen, bool exact) = 0;
  // Careen has come to rest.
  virtual void check_end() = 0;
};

class Guest {
 public:
  virtual ~Guest() = default;
  virtual std::shared_ptr<const controllers::Choice> choice() const = 0;
  // Such labels and annotations of nodes are its own to write.
  virtual bool owns(std::string_view key) const = 0;
  // Of an admission: it lasts for as long as its object wants it.
  virtual bool claims(std::string_view by) const = 0;
  virtual std::unique_ptr<GuestWatch> watch(Report report) const = 0;
};

// The controller whose objects the path is about; null: that of none.
const controllers::Kind* kind_at(std::string_view path);

}  // namespace careen::explore
