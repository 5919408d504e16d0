// Which volumes are attached to which node: the node's own word, and VolumeAttachments. They are watched only once some
// limit asks for nodes to be freed of them.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "controllers/requests/decide.h"
#include "io/subscription.h"
#include "kube/index.h"
#include "kube/objects.h"
#include "kube/resource.h"
#include "kube/watched.h"

namespace careen::controllers {
class Watches;
}

namespace careen::requests {

extern const kube::Resource kAttachmentResource;  // volumeattachments.storage.k8s.io v1
// As a section of the node: NodeSections.
inline constexpr std::string_view kAttachedPointer = "/status/volumesAttached";

class Attachments {
 public:
  // `tell`: something has changed on that node, or, with an empty name, on any.
  Attachments(controllers::Watches& watches, std::function<void(std::string_view node)> tell);

  // Has no effect from the second time on.
  void start();
  bool started() const { return started_; }
  // The node may be null.
  Volumes on(std::string_view name, const kube::Node* node) const;

 private:
  controllers::Watches& watches_;
  std::function<void(std::string_view)> tell_;
  std::unique_ptr<kube::Watched<kube::Object>> watched_;
  std::unique_ptr<kube::Index<kube::Object>> by_node_;
  io::Subscription changes_;
  bool started_ = false, sections_known_ = false;
};

}  // namespace careen::requests
