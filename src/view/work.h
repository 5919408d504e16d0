// What is being done to nodes now: drains, and what each controller does, found by node, as the documents show it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/slot/kind.h"
#include "controllers/slot/picture.h"
#include "drain/key.h"
#include "drain/progress.h"

namespace careen::replica {
class Replica;
}

namespace careen::view {

// As of one moment; the replica may go on meanwhile.
class Work {
 public:
  explicit Work(const replica::Replica& replica);

  struct Part {
    const controllers::Kind& kind;
    std::unique_ptr<controllers::Picture> picture;
  };

  const std::vector<drain::Key>& drains() const { return drains_; }  // by node
  std::vector<drain::Key> drains_of(std::string_view node) const;
  const std::vector<Part>& parts() const { return parts_; }
  // Null when the replica does not host such a controller.
  const controllers::Picture* picture_of(const controllers::Kind& kind) const;

 private:
  std::vector<drain::Key> drains_;
  std::vector<Part> parts_;
};

std::string_view name_of(drain::Progress::Phase phase);
// A Drain; nothing when it has ended.
void append_drain(std::string& out, const drain::Key& key, const drain::Progress& progress);
// Drain[] of those that still run.
void append_drains(std::string& out, const replica::Replica& replica, const std::vector<drain::Key>& keys);

}  // namespace careen::view
