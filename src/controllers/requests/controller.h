// The controller of MaintenanceRequests: each that may be worked on is approved when its turn comes, and ends when the
// work is over, whoever says so. It runs on the replica that leads; every request advances on its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controllers/slot/controller.h"
#include "controllers/slot/host.h"

namespace careen::requests {

struct ControllerOptions;

class Controller final : public controllers::Controller {
 public:
  // The host must have a desk.
  Controller(controllers::Host host, ControllerOptions options);
  ~Controller() override;

  void watch() override;
  io::Task<void> synced() override;
  io::Task<void> refresh() override;
  io::Task<void> lead() override;
  io::Task<void> stop() override;
  bool running() const override;
  void clock_stepped(io::Duration by) override;
  std::unique_ptr<controllers::Picture> picture() const override;
  std::optional<std::string> node_of(std::string_view object) const override;
  std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time) override;
  void on_change(std::function<void()> tell) override;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace careen::requests
