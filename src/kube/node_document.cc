#include "kube/node_document.h"

#include "kube/node_sections.h"

namespace careen::kube {

namespace {

void put_section(Json& document, std::string_view pointer, const std::string& text) {
  auto part = Json::parse(text);
  if (!part) return;  // the decoder copies parts unread; what is broken inside counts as absent
  const std::vector<std::string> keys = pointer_keys(pointer);
  if (keys.size() == 1) document.set({keys[0]}, std::move(*part));
  if (keys.size() == 2) document.set({keys[0], keys[1]}, std::move(*part));
  if (keys.size() == 3) document.set({keys[0], keys[1], keys[2]}, std::move(*part));
}

Json taints_of(const Node& node) {
  Json taints = Json::array();
  for (const Taint& taint : node.taints) {
    Json one = Json::object({{"key", taint.key.view()}, {"effect", taint.effect.view()}});
    if (!taint.value.empty()) one.set({"value"}, taint.value.view());
    if (!taint.time_added.empty()) one.set({"timeAdded"}, taint.time_added.view());
    taints.push_back(std::move(one));
  }
  return taints;
}

Json conditions_of(const Node& node) {
  Json conditions = Json::array();
  for (const NodeCondition& condition : node.conditions) {
    conditions.push_back(Json::object({{"type", condition.type.view()}, {"status", condition.status.view()}}));
  }
  return conditions;
}

template <class Pairs>
Json texts_of(const Pairs& pairs) {
  Json texts = Json::object();
  for (const auto& [key, value] : pairs) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Atom>) {
      texts.set({key.view()}, value.view());
    } else {
      texts.set({key.view()}, value);
    }
  }
  return texts;
}

void put_metadata(Json& document, const Node& node) {
  document.set({"metadata", "name"}, node.name);
  document.set({"metadata", "uid"}, node.uid);
  document.set({"metadata", "resourceVersion"}, std::to_string(node.version));
  document.set({"metadata", "labels"}, texts_of(node.labels));
  document.set({"metadata", "annotations"}, texts_of(node.annotations));
  if (node.created != io::Wall{}) {
    document.set({"metadata", "creationTimestamp"}, io::format_rfc3339(node.created));
  }
  if (node.finalizers.empty()) return;
  Json finalizers = Json::array();
  for (const std::string& finalizer : node.finalizers) finalizers.push_back(finalizer);
  document.set({"metadata", "finalizers"}, std::move(finalizers));
}

}  // namespace

Json node_document(const Node& node) {
  Json document = Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
  // A field that the struct holds only in part is replaced by a section that has all of it; one that it holds in full
  // is not.
  if (!node.taints.empty()) document.set({"spec", "taints"}, taints_of(node));
  document.set({"status", "conditions"}, conditions_of(node));
  for (const auto& [pointer, text] : node.sections) put_section(document, pointer.view(), text);
  put_metadata(document, node);
  document.set({"spec", "unschedulable"}, node.unschedulable);
  document.set({"status", "nodeInfo", "kubeletVersion"}, node.kubelet_version.view());
  return document;
}

}  // namespace careen::kube
