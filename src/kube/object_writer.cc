#include "kube/object_writer.h"

#include "io/loop.h"
#include "kube/error.h"

namespace careen::kube {

io::Task<WriteLanes::Turn> WriteLanes::wait(std::string key) {
  std::erase_if(lanes_, [](const auto& lane) { return lane.second.expired(); });
  std::weak_ptr<io::Semaphore>& known = lanes_[key];
  std::shared_ptr<io::Semaphore> lane = known.lock();
  if (!lane) known = lane = std::make_shared<io::Semaphore>(loop_, 1);
  io::Semaphore::Permit permit = co_await lane->acquire();
  co_return Turn(std::move(lane), std::move(permit));
}

bool is_worth_a_look(const ApiError& error) {
  if (error.kind_not_served()) return false;
  return error.conflict() || error.already_exists() || error.not_found() || error.ambiguous();
}

namespace detail {

io::Task<Result<std::string>> send_write(Client& client, Resource resource, WriteRequest what) {
  WriteRequest::Answer request =
      what.patch ? client.patch(std::move(resource), what.ns, what.name, *what.patch, std::move(what.body),
                                std::move(what.subresource), std::move(what.call))
                 : client.update(std::move(resource), what.ns, what.name, std::move(what.body),
                                 std::move(what.subresource), std::move(what.call));
  co_return co_await (what.carry ? what.carry(std::move(request)) : std::move(request));
}

WriteFate fate_of(const ApiError& error) {
  if (error.ambiguous()) return WriteFate::unknown;
  if (error.not_leader() || error.too_late()) return WriteFate::unsent;
  if (error.conflict() || error.already_exists()) return WriteFate::conflict;
  return error.not_found() && !error.kind_not_served() ? WriteFate::missing : WriteFate::refused;
}

// A write names the version it was decided on, so one that is still on its way fails on any other.
WriteFate fate_of(const ApiError& error, std::optional<uint64_t> now, uint64_t decided_on) {
  if (!now) return WriteFate::missing;
  if (!error.ambiguous()) return fate_of(error);
  return *now == decided_on ? WriteFate::unknown : WriteFate::conflict;
}

}  // namespace detail

}  // namespace careen::kube
