#include "kube/objects.h"

#include "kube/sorted.h"

namespace careen::kube {

std::string object_key(std::string_view ns, std::string_view name) {
  if (ns.empty()) return std::string(name);
  std::string key;
  key.reserve(ns.size() + 1 + name.size());
  key += ns;
  key += '/';
  key += name;
  return key;
}

const std::string* Lease::annotation(std::string_view key) const { return find_sorted(annotations, key); }

bool Lease::same_facts(const Lease& other) const {
  return name == other.name && ns == other.ns && uid == other.uid && holder == other.holder &&
         acquired == other.acquired && renewed == other.renewed && duration_seconds == other.duration_seconds &&
         transitions == other.transitions && annotations == other.annotations && deleting == other.deleting;
}

const Atom* Namespace::label(std::string_view key) const { return find_sorted(labels, key); }

const std::string* Namespace::annotation(std::string_view key) const { return find_sorted(annotations, key); }

bool Namespace::same_facts(const Namespace& other) const {
  return name == other.name && uid == other.uid && labels == other.labels && annotations == other.annotations &&
         deleting == other.deleting;
}

std::string Object::text() const {
  Json whole = document;
  whole.set({"metadata", "resourceVersion"}, std::to_string(version));
  return whole.dump();
}

}  // namespace careen::kube
