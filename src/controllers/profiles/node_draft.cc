#include "controllers/profiles/node_draft.h"

#include <algorithm>

#include "kube/node_document.h"

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

bool NodeDraft::has_finalizer(std::string_view key) const {
  return std::find(finalizers().begin(), finalizers().end(), key) != finalizers().end();
}
void NodeDraft::add_finalizer(std::string_view key) {
  if (has_finalizer(key)) return;
  Finalizers wanted = finalizers();
  wanted.emplace_back(key);
  set_finalizers(std::move(wanted));
}
void NodeDraft::remove_finalizer(std::string_view key) {
  Finalizers wanted = finalizers();
  std::erase(wanted, key);
  set_finalizers(std::move(wanted));
}
void NodeDraft::set_finalizers(Finalizers wanted) {
  finalizers_.reset();
  if (wanted != base_.finalizers) finalizers_ = std::move(wanted);
}

void NodeDraft::set_unschedulable(bool value) {
  unschedulable_.reset();
  if (value != base_.unschedulable) unschedulable_ = value;
}

drain::Holds NodeDraft::holds() const {
  const auto text = annotation(drain::kHoldsAnnotation);
  if (!text) return {};
  // One that cannot be read counts as none.
  return drain::Holds::parse(*text).value_or(drain::Holds{});
}

void NodeDraft::cordon(const std::string& owner, io::Wall since, bool begun) {
  kube::AtomPool atoms;
  // What is let go and held again in one write has been held all along.
  const drain::Holds held = drain::holds_of(base_);
  const auto known = held.by_owner.find(owner);
  if (known != held.by_owner.end()) since = known->second.since;
  apply(drain::hold(as_held(atoms), owner, {"", since, {.cordon = true}, begun}, atoms));
}
void NodeDraft::release_cordon(const std::string& owner) {
  kube::AtomPool atoms;
  apply(drain::release(as_held(atoms), owner, atoms));
}
void NodeDraft::uncordon(std::string_view owner_prefix) {
  kube::AtomPool atoms;
  apply(drain::uncordon(as_held(atoms), owner_prefix, atoms));
}

// As far as cordons go: profiles hold nothing else.
kube::Node NodeDraft::as_held(kube::AtomPool& atoms) const {
  kube::Node node;
  node.name = base_.name;
  node.unschedulable = unschedulable();
  if (const auto text = annotation(drain::kHoldsAnnotation)) {
    node.annotations.emplace_back(atoms.intern(drain::kHoldsAnnotation), *text);
  }
  return node;
}

void NodeDraft::apply(const drain::NodeChange& change) {
  if (change.unschedulable) set_unschedulable(*change.unschedulable);
  for (const auto& [key, value] : change.annotations) {
    if (value) {
      set_annotation(key, *value);
    } else {
      remove_annotation(key);
    }
  }
}

std::string NodeDraft::merge_patch() const {
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(base_.version));
  put_changes(patch);
  return patch.dump();
}

// As a merge patch has them: null for what goes. Lists are replaced as a whole.
void NodeDraft::put_changes(Json& into) const {
  put(into, "labels", labels_);
  put(into, "annotations", annotations_);
  if (finalizers_) {
    Json list;
    for (const std::string& finalizer : *finalizers_) list.push_back(finalizer);
    into.set({"metadata", "finalizers"}, std::move(list));
  }
  if (unschedulable_) into.set({"spec", "unschedulable"}, *unschedulable_ ? Json(true) : Json(nullptr));
}

Json NodeDraft::document() const { return document(kube::node_document(base_)); }

Json NodeDraft::document(Json document) const {
  put_changes(document);
  for (const auto& [key, value] : labels_) {
    if (!value) document.remove({"metadata", "labels", key});
  }
  for (const auto& [key, value] : annotations_) {
    if (!value) document.remove({"metadata", "annotations", key});
  }
  if (finalizers_ && finalizers_->empty()) document.remove({"metadata", "finalizers"});
  document.set({"spec", "unschedulable"}, unschedulable());
  return document;
}

NodeDraft::Changes NodeDraft::changes() const { return {labels_, annotations_, finalizers_, unschedulable_}; }
void NodeDraft::restore(Changes changes) {
  labels_ = std::move(changes.labels);
  annotations_ = std::move(changes.annotations);
  finalizers_ = std::move(changes.finalizers);
  unschedulable_ = changes.unschedulable;
}

}  // namespace careen::profiles
