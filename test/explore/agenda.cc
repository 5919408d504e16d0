#include "agenda.h"

#include <algorithm>
#include <utility>

namespace careen::explore {

void Agenda::run_until(io::Steady when, const Conduct& conduct) {
  while (!conduct.over()) {
    const io::Steady next = std::min(when, actions_.empty() ? io::kNever : actions_.begin()->first);
    time_.run_until(
        [&] {
          conduct.stepped();
          const bool earlier = !actions_.empty() && actions_.begin()->first < next;
          return earlier || !soon_.empty() || conduct.over() || conduct.urgent();
        },
        next - time_.now());
    conduct.see_to_it();
    while (!soon_.empty()) {
      const auto action = std::move(soon_.front());
      soon_.pop_front();
      action();
    }
    while (!actions_.empty() && actions_.begin()->first <= time_.now()) {
      const auto action = std::move(actions_.begin()->second);
      actions_.erase(actions_.begin());
      action();
    }
    if (time_.now() >= when && soon_.empty() && !conduct.urgent()) return;
  }
}

}  // namespace careen::explore
