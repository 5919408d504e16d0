#include "commands/jobs.h"

#include <algorithm>

#include "kube/cache.h"
#include "replica/controllers.h"

namespace careen::app {

using io::Task;

Task<ListedJobs> list_jobs(KubeSession& session) {
  ListedJobs out;
  for (const controllers::Kind* kind : replica::object_kinds()) {
    const auto objects = co_await list_objects(session, kind->object);
    if (!objects && !objects.error().not_found()) out.errors.push_back(objects.error());
    if (!objects) continue;
    for (const kube::Object& object : *objects) out.jobs.push_back({kind, kind->job_of(object)});
  }
  co_return out;
}

JobWatch::JobWatch(KubeSession& session, io::Signal& changed) {
  for (const controllers::Kind* kind : replica::object_kinds()) {
    watches_.push_back(std::make_unique<ObjectWatch>(session, kind->object, changed));
  }
}

Task<void> JobWatch::known() {
  for (const auto& watch : watches_) co_await watch->known().wait();
}

std::vector<JobOfKind> JobWatch::all() const {
  std::vector<JobOfKind> out;
  const auto& kinds = replica::object_kinds();
  for (size_t index = 0; index < kinds.size(); ++index) {
    watches_[index]->store().for_each(
        [&](const kube::Object& object) { out.push_back({kinds[index], kinds[index]->job_of(object)}); });
  }
  return out;
}

bool JobWatch::is_about(std::string_view problem) {
  const auto& kinds = replica::object_kinds();
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const controllers::Kind* kind) { return problem == "watch " + kind->object.plural; });
}

}  // namespace careen::app
