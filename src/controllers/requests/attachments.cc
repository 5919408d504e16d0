#include "controllers/requests/attachments.h"

#include <string>
#include <utility>

#include "controllers/requests/evidence.h"
#include "controllers/slot/host.h"
#include "kube/cache.h"
#include "kube/node.h"

namespace careen::requests {

const kube::Resource kAttachmentResource{"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", false};

namespace {

constexpr size_t kMostVolumes = 100;

std::string node_of_attachment(const kube::Object& one) {
  return std::string(one.document["spec"]["nodeName"].text().value_or(""));
}

void add(std::vector<std::string>& names, std::string name) {
  if (names.size() < kMostVolumes) names.push_back(std::move(name));
}

}  // namespace

Attachments::Attachments(controllers::Watches& watches, std::function<void(std::string_view)> tell)
    : watches_(watches), tell_(std::move(tell)), watched_(watches.objects({.resource = kAttachmentResource})) {
  by_node_ = std::make_unique<kube::Index<kube::Object>>(
      watched_->store(), [](const kube::Object& one) { return std::vector{node_of_attachment(one)}; });
  changes_ = watched_->store().subscribe([this](const kube::Object* before, const kube::Object* after) {
    tell_(node_of_attachment(after ? *after : *before));
  });
  watched_->on_synced([this] { tell_(""); });
}

void Attachments::start() {
  if (std::exchange(started_, true)) return;
  watches_.node_sections("requests", {std::string(kBootIdPointer), std::string(kAttachedPointer)}, [this] {
    sections_known_ = true;
    tell_("");
  });
  watched_->start();
}

Volumes Attachments::on(std::string_view name, const kube::Node* node) const {
  Volumes volumes;
  // A node that was read before its volumes were asked for does not say that it has none.
  volumes.known = sections_known_ && watched_->synced() && node;
  if (!volumes.known) return volumes;
  by_node_->for_each(name, [&](const kube::Object& one) { add(volumes.names, one.name); });
  if (const std::string* const section = node->section(kAttachedPointer)) {
    const auto list = kube::Json::parse(*section);
    if (!list) return volumes;
    list->view().for_each_element([&](kube::JsonView one) {
      add(volumes.names, std::string(one["name"].text().value_or("a volume").substr(0, 253)));
    });
  }
  return volumes;
}

}  // namespace careen::requests
