#include "plan/upcoming.h"

#include "kube/json.h"
#include "plan/plan_forms.h"
#include "plan/take_snapshot.h"

namespace careen::plan {

using io::Task;

namespace {

constexpr io::Duration kKept = io::minutes{1};
constexpr io::Duration kSlice = io::milliseconds{10};
constexpr io::Duration kBreak = io::milliseconds{2};
// A request waits this long for the whole plan.
constexpr io::Duration kPatience = io::seconds{2};
// So that no page takes longer to read than a slice.
constexpr int kPage = 100;

std::string error_document(const std::string& message) { return kube::Json::object({{"error", message}}).dump(); }

Task<bool> heard(io::Signal* signal) {
  co_await signal->wait();
  co_return true;
}

}  // namespace

Task<std::string> Upcoming::document(int hours) {
  const bool fresh = made_at_ && hours_ == hours && p_.loop.now() - *made_at_ < kKept;
  if (fresh) co_return finished_;
  if (!making_) {
    making_ = true;
    scope_.spawn(make(hours));
  }
  co_await io::with_timeout(p_.loop, kPatience, heard(&done_));
  // Others may wait for the same.
  if (!making_) done_.notify();
  co_return shown();
}

std::string Upcoming::shown() const {
  if (!making_ && made_at_) return finished_;
  return plan_document(planner_ ? planner_->plan() : Plan{});
}

Task<io::Result<bool>> Upcoming::prepare(int hours) {
  const auto config = p_.config();
  if (!config) co_return tl::make_unexpected(config.error());
  SnapshotScope scope;
  scope.pods = needs_pods(*config);
  scope.page_size = kPage;
  scope.limits = p_.limits;
  auto snapshot = co_await take_snapshot(p_.reader, std::move(scope));
  if (!snapshot) co_return io::fail(io::ErrorKind::protocol, snapshot.error().message);
  PlannerOptions options;
  options.span = io::hours{hours};
  options.environment = p_.environment;
  auto planner = Planner::make(std::move(*snapshot), *config, std::move(options));
  if (!planner) co_return tl::make_unexpected(planner.error());
  planner_ = std::move(*planner);
  co_return true;
}

Task<void> Upcoming::make(int hours) {
  planner_.reset();
  const auto prepared = co_await prepare(hours);
  if (prepared) {
    io::Steady begin = p_.loop.now();
    while (!planner_->advance([&] { return p_.loop.now() - begin > kSlice; })) {
      co_await io::sleep_for(p_.loop, kBreak);
      begin = p_.loop.now();
    }
    finished_ = plan_document(planner_->plan());
  } else {
    finished_ = error_document(prepared.error().message);
  }
  planner_.reset();
  hours_ = hours;
  made_at_ = p_.loop.now();
  making_ = false;
  done_.notify();
}

}  // namespace careen::plan
