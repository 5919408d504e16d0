// The objects of a controller's kind, as commands read and follow them.
#pragma once

#include <string>
#include <vector>

#include "io/subscription.h"
#include "kube/objects.h"
#include "kube/watched.h"
#include "session/kube_session.h"

namespace careen::app {

// All, or those whose labels the selector matches. 404 when the cluster does not know the kind.
io::Task<kube::Result<std::vector<kube::Object>>> list_objects(KubeSession& session, kube::Resource resource,
                                                               std::string label_selector = {});

// A watch of all of them, or of some, which tells when they are known and whenever something has changed. Its problems
// have the key "watch " and the plural of the kind.
class ObjectWatch {
 public:
  ObjectWatch(KubeSession& session, const kube::Resource& resource, io::Signal& changed)
      : ObjectWatch(session, kube::ReflectorOptions{.resource = resource}, changed) {}
  ObjectWatch(KubeSession& session, kube::ReflectorOptions what, io::Signal& changed);

  io::Gate& known() { return objects_.synced_gate(); }
  const kube::Store<kube::Object>& store() const { return objects_.store(); }

 private:
  kube::Watched<kube::Object> objects_;
  io::Subscription changes_;
};

}  // namespace careen::app
