// Whoever wants to be told of something subscribes to its hub, and is told while both live: a Subscription ends when it
// is destroyed, and a hub that is gone tells nobody.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <utility>

namespace careen::io {

class [[nodiscard]] Subscription {
 public:
  Subscription() = default;
  // The listener is not called any more; a call that is under way still comes to its end.
  void end() { listener_.reset(); }

 private:
  template <class... Told>
  friend class Hub;
  explicit Subscription(std::shared_ptr<const void> listener) : listener_(std::move(listener)) {}
  std::shared_ptr<const void> listener_;  // the hub knows it weakly
};

template <class... Told>
class Hub {
 public:
  using Listener = std::function<void(Told...)>;

  Hub() = default;
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  Subscription subscribe(Listener listener) {
    forget_the_ended();
    auto kept = std::make_shared<const Listener>(std::move(listener));
    listeners_.push_back(kept);
    return Subscription(std::move(kept));
  }

  // In the order in which they subscribed. Listeners may subscribe others, who are told of what comes next; they may
  // end subscriptions, their own too, and tell something else meanwhile.
  void tell(const Told&... told) {
    ++telling_;
    auto it = listeners_.begin();
    for (size_t left = listeners_.size(); left > 0; --left, ++it) {
      if (const auto listener = it->lock()) (*listener)(told...);
    }
    --telling_;
    forget_the_ended();
  }

  // Nobody would be told.
  bool empty() {
    forget_the_ended();
    return listeners_.empty();
  }

 private:
  // Not while somebody goes through the list.
  void forget_the_ended() {
    if (telling_ == 0) listeners_.remove_if([](const auto& listener) { return listener.expired(); });
  }

  std::list<std::weak_ptr<const Listener>> listeners_;
  int telling_ = 0;
};

}  // namespace careen::io
