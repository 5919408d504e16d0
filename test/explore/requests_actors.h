// Those who make MaintenanceRequests: when one is approved they do their errand step by step, and some die on the way.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "guest.h"
#include "requests_plan.h"

namespace careen::explore {

class RequestsActors final : public GuestActors {
 public:
  RequestsActors(std::shared_ptr<const RequestsPlan> plan, Hands hands)
      : plan_(std::move(plan)), hands_(std::move(hands)) {}

  void changed(const sim::Change& change) override;

 private:
  void begin(const std::string& request, const Errand& errand);
  void complete(const std::string& request, const Errand& errand);
  std::string state_of(const std::string& request) const;
  void set_state(const std::string& request, const char* state);
  // A person finds the node still cordoned.
  void leave_to_people(const Errand& errand);

  std::shared_ptr<const RequestsPlan> plan_;
  Hands hands_;
  std::map<std::string, std::string> states_;  // of requests, as they were last seen
};

}  // namespace careen::explore
