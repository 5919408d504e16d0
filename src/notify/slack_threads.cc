#include "notify/slack_threads.h"

namespace careen::notify {

io::Task<SlackThreads::Turn> SlackThreads::take_turn(std::string lease) {
  std::erase_if(lanes_, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<io::Semaphore> lane = lanes_[lease].lock();
  if (!lane) {
    lane = std::make_shared<io::Semaphore>(loop_, 1);
    lanes_[lease] = lane;
  }
  io::Semaphore::Permit permit = co_await lane->acquire();
  co_return Turn(std::move(lane), std::move(permit));
}

const SlackThreads::Title* SlackThreads::unrecorded(const std::string& lease) const {
  const auto it = unrecorded_.find(lease);
  return it == unrecorded_.end() ? nullptr : &it->second;
}

}  // namespace careen::notify
