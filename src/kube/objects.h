// Lease, Namespace and the object of any other kind, with the fields careen uses and no others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/time.h"
#include "kube/atoms.h"
#include "kube/json.h"

namespace careen::kube {

// What every object has and an answer to a write is read for.
struct Identity {
  std::string name;
  std::string ns;  // empty for cluster-scoped objects
  std::string uid;
  uint64_t version = 0;
};

// "namespace/name", or the name alone.
std::string object_key(std::string_view ns, std::string_view name);

struct Lease {
  std::string name;
  std::string ns;
  std::string uid;
  uint64_t version = 0;
  std::string holder;  // empty when nobody holds it
  std::optional<io::Wall> acquired;
  std::optional<io::Wall> renewed;
  std::optional<int32_t> duration_seconds;
  std::optional<int32_t> transitions;
  std::vector<std::pair<Atom, std::string>> annotations;  // sorted by key
  bool deleting = false;

  std::string key() const { return object_key(ns, name); }
  // nullptr when absent; the value may be empty.
  const std::string* annotation(std::string_view key) const;
  bool same_facts(const Lease& other) const;
};

struct Namespace {
  std::string name;
  std::string uid;
  uint64_t version = 0;
  std::vector<std::pair<Atom, Atom>> labels;              // sorted by key
  std::vector<std::pair<Atom, std::string>> annotations;  // sorted by key
  bool deleting = false;

  const std::string& key() const { return name; }
  const Atom* label(std::string_view key) const;
  const std::string* annotation(std::string_view key) const;
  bool same_facts(const Namespace& other) const;
};

// An object of a kind careen has no struct for. The document lacks managedFields and resourceVersion: `version` is
// the latter.
struct Object {
  std::string name;
  std::string ns;
  std::string uid;
  uint64_t version = 0;
  Json document;

  std::string key() const { return object_key(ns, name); }
  bool same_facts(const Object& other) const { return uid == other.uid && document == other.document; }
  // The whole as JSON text with its resourceVersion, for an update.
  std::string text() const;
};

}  // namespace careen::kube
