#include "commands/followed_fleet.h"

#include <algorithm>

#include "commands/view_source.h"
#include "commands/view_words.h"
#include "io/real_loop.h"

namespace careen::app {

namespace {

constexpr io::Duration kFirstPause = io::seconds{1};
constexpr io::Duration kLongestPause = io::seconds{15};

}  // namespace

FollowedFleet::FollowedFleet(ViewSession& session) : session_(session), changed_(session.loop) {}

io::Task<void> FollowedFleet::follow(std::function<void(const std::string& why)> trouble) {
  io::Duration pause = kFirstPause;
  while (true) {
    const ViewError ended = co_await session_.source.follow([&](std::string_view event, const kube::Json& document) {
      pause = kFirstPause;
      trouble("");
      take(event, document);
    });
    trouble(ended.message + "; trying again");
    changed_.notify();
    co_await io::sleep_for(session_.loop, pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

void FollowedFleet::take(std::string_view event, const kube::Json& document) {
  model_.apply(event, document.view());
  if (const auto time = time_of(document["time"])) {
    told_ = *time;
    told_at_ = session_.loop.now();
  }
  changed_.notify();
}

io::Wall FollowedFleet::now() const {
  const double speed = model_["careen"]["speed"].number().value_or(1);
  const auto passed = std::chrono::duration<double, std::nano>(session_.loop.now() - told_at_) * speed;
  return told_ + std::chrono::duration_cast<io::Duration>(passed);
}

}  // namespace careen::app
