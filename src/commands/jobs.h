// What the objects of all controllers ask for, as commands read and follow it on a cluster.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/slot/kind.h"
#include "session/object_watch.h"

namespace careen::app {

struct JobOfKind {
  const controllers::Kind* kind = nullptr;
  controllers::Job job;
  std::string owner() const { return kind->owner_of(job.name); }  // of holds
};

struct ListedJobs {
  std::vector<JobOfKind> jobs;
  std::vector<kube::ApiError> errors;
};
// A cluster that does not know a kind has no objects of it.
io::Task<ListedJobs> list_jobs(KubeSession& session);

// A watch of them.
class JobWatch {
 public:
  JobWatch(KubeSession& session, io::Signal& changed);

  // Resumes when all have been listed.
  io::Task<void> known();
  std::vector<JobOfKind> all() const;
  // Whether a problem with this key is about the watch of a kind.
  static bool is_about(std::string_view problem);

 private:
  std::vector<std::unique_ptr<ObjectWatch>> watches_;  // in the order of the kinds
};

}  // namespace careen::app
