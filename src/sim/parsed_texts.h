// The values of the texts that were read last. Many look at one version of an object, one after the other: who comes
// first parses it, and the others find it here. What is held stays; nothing else is remembered for long.
#pragma once

#include <array>
#include <memory>

#include "sim/object_store.h"
#include "sim/value.h"

namespace careen::sim {

using Parsed = std::shared_ptr<const json::value>;

class ParsedTexts {
 public:
  // Null of null.
  Parsed of(const Text& text);

 private:
  struct Entry;
  std::array<std::shared_ptr<const Entry>, 256> recent_;  // each has one place
};

}  // namespace careen::sim
