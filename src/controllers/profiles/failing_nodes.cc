#include "controllers/profiles/failing_nodes.h"

#include <fmt/format.h>

#include "controllers/profiles/config.h"
#include "controllers/profiles/node_meters.h"
#include "io/loop.h"
#include "io/problems.h"
#include "kube/queue.h"

namespace careen::profiles {

namespace {
constexpr std::string_view kWriteProblem = "write nodes";

std::string write_problem(const std::string& node) { return "write node/" + node; }
}  // namespace

void FailingNodes::wait(const std::string& node) {
  waiting_.insert(node);
  if (config_->requeue > io::Duration{0}) queue_.wake_at(node, loop_.now() + config_->requeue);
}

void FailingNodes::wait_until(const std::string& node, io::Steady when) {
  waiting_.insert(node);
  queue_.wake_at(node, when);
}

void FailingNodes::write_failed(const std::string& node, const kube::ApiError& error) {
  // Missing rights and a server in trouble concern all nodes alike: the first that meets them tells, for all.
  const bool for_all =
      error.network || error.forbidden() || error.code == 429 || (error.code > 500 && error.code < 600);
  if (!for_all || unwritable_.empty()) {
    problems_.raise(for_all ? std::string(kWriteProblem) : write_problem(node),
                    fmt::format("node {} cannot be written: {}; {} tried again, less and less often", node,
                                error.message, for_all ? "it and others are" : "it is"));
  }
  if (for_all) unwritable_.insert(node);
  waiting_.insert(node);
  meters_.retries.add();
  queue_.wake_after_failure(node);
}

void FailingNodes::written(const std::string& node) {
  problems_.clear(write_problem(node));
  problems_.clear(kWriteProblem);
  unwritable_.clear();
  queue_.succeeded(node);
}

void FailingNodes::rests(const std::string& node) {
  problems_.clear(write_problem(node));
  if (unwritable_.erase(node) > 0 && unwritable_.empty()) problems_.clear(kWriteProblem);
}

void FailingNodes::write_unsettled(const std::string& node, const kube::ApiError& error) {
  problems_.raise(write_problem(node),
                  fmt::format("it is not known whether the last write of node {} took effect: {}; the node is left "
                              "alone and keeps its place until it is",
                              node, error.message));
}

void FailingNodes::write_settled(const std::string& node) { problems_.clear(write_problem(node)); }

}  // namespace careen::profiles
