// The controller of Machines: it stands between Cluster API, which deletes and replaces Machines from a management
// cluster, and the profiles of the workload clusters, which know when a Node may go. It runs on the replica that leads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controllers/slot/controller.h"
#include "controllers/slot/host.h"

namespace careen::machines {

struct ControllerOptions;

class Controller final : public controllers::Controller {
 public:
  Controller(controllers::Host host, ControllerOptions options);
  ~Controller() override;

  void watch() override;
  io::Task<void> synced() override;
  io::Task<void> lead() override;
  io::Task<void> stop() override;
  bool running() const override;
  void clock_stepped(io::Duration by) override;
  std::unique_ptr<controllers::Picture> picture() const override;
  // Machines are about nodes of other clusters.
  std::optional<std::string> node_of(std::string_view) const override { return std::nullopt; }
  std::optional<std::string> document_of(std::string_view object) const override;
  std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time) override;
  void on_change(std::function<void()> tell) override;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace careen::machines
