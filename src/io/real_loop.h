// The loop of a real process: the operating system's clocks, and Asio beneath for sockets, pipes and signals.
// Only src/io includes Asio; everybody else sees a Loop.
#pragma once

#include <memory>

#include "io/loop.h"

namespace boost::asio {
class io_context;
}

namespace careen::io {

class RealLoop final : public Loop {
 public:
  RealLoop();
  ~RealLoop() override;

  Steady now() const override;
  Wall wall_now() const override;

  // Runs until stop() was called from this thread.
  void run();
  // Runs until `done` holds; for tests and short commands.
  void run_until(const std::function<bool()>& done);
  void stop() { stopped_ = true; }

  boost::asio::io_context& asio();

 private:
  void turn();
  void poll();
  struct Core;
  std::unique_ptr<Core> core_;
  bool stopped_ = false;
};

}  // namespace careen::io
