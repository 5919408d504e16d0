#include "profiles/node_draft.h"

#include "kube/json.h"

namespace careen::profiles {

using kube::Json;

namespace {

std::optional<std::string_view> view(const kube::Atom* atom) {
  if (!atom) return std::nullopt;
  return atom->view();
}
std::optional<std::string_view> view(const std::string* text) {
  if (!text) return std::nullopt;
  return *text;
}

template <class Map>
std::optional<std::string_view> overlay(const Map& changes, std::string_view key,
                                        std::optional<std::string_view> original) {
  const auto it = changes.find(key);
  if (it == changes.end()) return original;
  if (!it->second) return std::nullopt;
  return *it->second;
}

// Remembers a change, or forgets it when it leads back to what is there.
template <class Map>
void change(Map& changes, std::string_view key, std::optional<std::string_view> original,
            std::optional<std::string_view> wanted) {
  if (original == wanted) {
    if (const auto it = changes.find(key); it != changes.end()) changes.erase(it);
    return;
  }
  changes[std::string(key)] = wanted ? std::optional<std::string>(*wanted) : std::nullopt;
}

template <class Map>
void put(Json& patch, std::string_view field, const Map& changes) {
  for (const auto& [key, value] : changes) patch.set({"metadata", field, key}, value ? Json(*value) : Json(nullptr));
}

}  // namespace

std::optional<std::string_view> NodeDraft::label(std::string_view key) const {
  return overlay(labels_, key, view(base_.label(key)));
}
std::optional<std::string_view> NodeDraft::annotation(std::string_view key) const {
  return overlay(annotations_, key, view(base_.annotation(key)));
}

void NodeDraft::set_label(std::string_view key, std::string_view value) {
  change(labels_, key, view(base_.label(key)), value);
}
void NodeDraft::remove_label(std::string_view key) { change(labels_, key, view(base_.label(key)), std::nullopt); }
void NodeDraft::set_annotation(std::string_view key, std::string_view value) {
  change(annotations_, key, view(base_.annotation(key)), value);
}
void NodeDraft::remove_annotation(std::string_view key) {
  change(annotations_, key, view(base_.annotation(key)), std::nullopt);
}

std::string NodeDraft::merge_patch() const {
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(base_.version));
  put(patch, "labels", labels_);
  put(patch, "annotations", annotations_);
  return patch.dump();
}

NodeDraft::Changes NodeDraft::changes() const { return {labels_, annotations_}; }
void NodeDraft::restore(Changes changes) {
  labels_ = std::move(changes.labels);
  annotations_ = std::move(changes.annotations);
}

}  // namespace careen::profiles
