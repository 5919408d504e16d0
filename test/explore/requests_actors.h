// Those who make MaintenanceRequests: when one is approved they do their errand step by step, and some die on the way.
// And those who do not ask careen at all.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "foreign_drains.h"
#include "guest.h"
#include "requests_plan.h"

namespace careen::explore {

class RequestsActors final : public GuestActors {
 public:
  RequestsActors(std::shared_ptr<const RequestsPlan> plan, Hands hands)
      : plan_(std::move(plan)), hands_(std::move(hands)), drains_(plan_, hands_) {
    if (plan_->drains_first) hands_.later({}, [this] { keep_all_pods(); });
  }

  void changed(const sim::Change& change) override;
  bool busy() const override;

 private:
  void keep_all_pods();
  void begin(const std::string& request, const Errand& errand);
  void complete(const std::string& request, const Errand& errand);
  std::string state_of(const std::string& request) const;
  void set_state(const std::string& request, const char* state);
  // A person finds the node still cordoned.
  void leave_to_people(const Errand& errand);

  std::shared_ptr<const RequestsPlan> plan_;
  Hands hands_;
  std::map<std::string, std::string> states_;  // of requests, as they were last seen
  ForeignDrains drains_;
};

}  // namespace careen::explore
