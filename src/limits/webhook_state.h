// Whether the API server asks careen before others take nodes out of service, as limits of mode Queue and Enforce need
// it. Where it does not, they observe, and say so in their status.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "io/subscription.h"

namespace careen::limits {

class WebhookState {
 public:
  enum class Is {
    unwanted,  // no limit needs it
    pending,   // it is being registered
    serving,
    failed,
  };

  Is is() const { return is_; }
  // For people; empty while it serves or is unwanted.
  const std::string& why() const { return why_; }
  io::Subscription on_change(std::function<void()> tell) { return changed_.subscribe(std::move(tell)); }

  void set(Is is, std::string why = {}) {
    if (is == is_ && why == why_) return;
    is_ = is;
    why_ = std::move(why);
    changed_.tell();
  }

 private:
  Is is_ = Is::unwanted;
  std::string why_;
  io::Hub<> changed_;
};

}  // namespace careen::limits
