#include "kube/node_sections.h"

#include <algorithm>
#include <array>

namespace careen::kube {

namespace {

constexpr size_t kMostKeys = 3;

constexpr std::array<std::string_view, 3> kWhole{"/metadata", "/spec", "/status"};

// What a Node holds without loss, so that a section would only hold it once more.
constexpr std::array<std::string_view, 9> kHeldAnyway{
    "/metadata/annotations", "/metadata/creationTimestamp", "/metadata/finalizers", "/metadata/labels",
    "/metadata/name",        "/metadata/resourceVersion",   "/metadata/uid",        "/status/nodeInfo/kubeletVersion",
    "/spec/unschedulable",
};

bool is_inside(std::string_view pointer, std::string_view part) {
  return pointer.starts_with(part) && (pointer.size() == part.size() || pointer[part.size()] == '/');
}

std::string first_keys(std::string_view pointer) {
  size_t end = 0;
  for (size_t keys = 0; keys < kMostKeys && end < pointer.size(); ++keys) {
    end = std::min(pointer.find('/', end + 1), pointer.size());
  }
  return std::string(pointer.substr(0, end));
}

bool is_held_anyway(std::string_view pointer) {
  return std::any_of(kHeldAnyway.begin(), kHeldAnyway.end(),
                     [&](std::string_view held) { return is_inside(pointer, held); });
}

}  // namespace

std::vector<std::string> pointer_keys(std::string_view pointer) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      keys.emplace_back();
    } else if (keys.empty()) {
      return {};
    } else if (pointer[i] == '~' && i + 1 < pointer.size() && (pointer[i + 1] == '0' || pointer[i + 1] == '1')) {
      keys.back() += pointer[++i] == '0' ? '~' : '/';
    } else {
      keys.back() += pointer[i];
    }
  }
  return keys;
}

NodeSections::NodeSections(const std::set<std::string>& pointers) {
  std::set<std::string> wanted;
  for (const std::string& pointer : pointers) {
    if (pointer.empty()) {
      wanted.insert(kWhole.begin(), kWhole.end());
    } else if (pointer.front() == '/' && !is_held_anyway(pointer)) {
      wanted.insert(first_keys(pointer));
    }
  }
  for (const std::string& pointer : wanted) {
    const bool is_covered = std::any_of(wanted.begin(), wanted.end(), [&](const std::string& other) {
      return other.size() < pointer.size() && is_inside(pointer, other);
    });
    if (!is_covered) pointers_.push_back(pointer);
  }
  for (size_t i = 0; i < pointers_.size(); ++i) add_branch(i);
}

void NodeSections::add_branch(size_t pointer) {
  std::vector<Branch>* level = &branches_;
  Branch* last = nullptr;
  for (std::string& key : pointer_keys(pointers_[pointer])) {
    auto found = std::find_if(level->begin(), level->end(), [&](const Branch& branch) { return branch.key == key; });
    if (found == level->end()) found = level->insert(level->end(), Branch{std::move(key), std::nullopt, {}});
    last = &*found;
    level = &last->below;
  }
  last->pointer = pointer;
}

}  // namespace careen::kube
