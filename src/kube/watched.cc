#include "kube/watched.h"

#include <optional>

namespace careen::kube {

Watch::Watch(WatchParts parts, ReflectorOptions what, std::unique_ptr<Sink> sink)
    : p_(std::move(parts)),
      what_(std::move(what)),
      sink_(std::move(sink)),
      started_(p_.loop),
      stopped_(p_.loop),
      synced_(p_.loop),
      scope_(p_.loop) {
  if (p_.all) p_.all->push_back(this);
}

Watch::~Watch() {
  if (p_.all) std::erase(*p_.all, this);
}

void Watch::start() {
  if (started()) return;
  reflector_ =
      std::make_unique<Reflector>(p_.loop, p_.client, p_.metrics, p_.problems, p_.random, *sink_, what_, p_.log);
  stopped_.close();
  started_.open();
  scope_.spawn(reflector_->run());
  scope_.spawn(tell_synced());
}

io::Task<void> Watch::tell_synced() {
  co_await reflector_->synced_gate().wait();
  synced_.open();
  for (const auto& listener : on_synced_) listener();
}

void Watch::stop() {
  if (!started()) return;
  scope_.cancel();
  reflector_.reset();
  started_.close();
  synced_.close();
  stopped_.open();
  sink_->begin_list();
  sink_->end_list(sink_->newest_version());
}

io::Task<uint64_t> Watch::refresh() {
  for (;;) {
    co_await started_.wait();
    // Stopped meanwhile.
    if (!started()) continue;
    std::optional<uint64_t> position;
    co_await io::race(p_.loop, io::keep(reflector_->refresh(), position), io::wait_for(stopped_));
    if (position) co_return *position;
  }
}

void Watch::request_relist() {
  if (reflector_) reflector_->request_relist();
}

}  // namespace careen::kube
