#include "io/real_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <ctime>

namespace careen::io {

struct RealLoop::Core {
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
};

namespace {
Duration read_clock(clockid_t id) {
  timespec ts{};
  ::clock_gettime(id, &ts);
  return seconds{ts.tv_sec} + Duration{ts.tv_nsec};
}
// How many ready nodes run before sockets get their turn again.
constexpr int kBatch = 256;
// How many events of sockets are handled before ready nodes get theirs.
constexpr int kSocketBatch = 64;
// How long the loop sleeps when it has no timer at all.
constexpr Duration kLongest = hours{1};
}  // namespace

RealLoop::RealLoop() : core_(std::make_unique<Core>()) {
  // Writing to a peer that has gone is an error value here, never the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
}
RealLoop::~RealLoop() = default;

// CLOCK_BOOTTIME goes on during suspend: a leader that slept must know that its lease has run out.
Steady RealLoop::now() const { return Steady{read_clock(CLOCK_BOOTTIME)}; }
Wall RealLoop::wall_now() const { return Wall{read_clock(CLOCK_REALTIME)}; }

boost::asio::io_context& RealLoop::asio() { return core_->context; }

// Bounded: data that keeps coming must not starve the tasks.
void RealLoop::poll() {
  for (int i = 0; i < kSocketBatch && core_->context.poll_one() > 0; ++i) {
  }
}

void RealLoop::turn() {
  collect_due();
  if (!idle()) {
    for (int i = 0; i < kBatch && run_one(); ++i) {
    }
    // Work that always finds more work must not starve the sockets.
    if (const auto next = next_timer(); !idle() || (next && *next <= now())) poll();
    // What ran may be what the caller waits for: it looks before we sleep.
    return;
  }
  Duration sleep = kLongest;
  if (const auto next = next_timer()) sleep = std::min(sleep, std::max(Duration{0}, *next - now()));
  // Asio does not look at its sockets at all when asked to wait for no time.
  if (sleep == Duration{0} || core_->context.run_one_for(sleep) > 0) poll();
}

void RealLoop::run() {
  stopped_ = false;
  while (!stopped_) turn();
}

void RealLoop::run_until(const std::function<bool()>& done) {
  while (!done()) turn();
}

}  // namespace careen::io
