// The values of the texts that were read or written last. Many look at one version of an object, one after the other:
// whoever comes first parses it unless it was kept when it was written, and the others find it here. What is held
// stays; nothing else is remembered for long.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

#include "sim/object_store.h"
#include "sim/value.h"

namespace careen::sim {

// An object without kind and apiVersion, as the server keeps it.
using Parsed = std::shared_ptr<const json::value>;

// An object in the making, in memory of its own. What is stored is kept as it is, so that nobody has to parse it.
class Draft {
 public:
  Draft();
  explicit Draft(const json::value& object);
  ~Draft();
  Draft(Draft&&) noexcept;
  Draft& operator=(Draft&&) noexcept;

  json::value& value();
  const json::value& value() const { return const_cast<Draft*>(this)->value(); }
  // For what becomes part of it.
  json::storage_ptr storage();

 private:
  friend class ParsedTexts;
  struct Home;
  std::shared_ptr<Home> home_;
};

class ParsedTexts {
 public:
  // Null of null.
  Parsed of(const Text& text);
  // What the text says; not to be changed any more.
  Parsed keep(const Text& text, Draft draft);
  // The object has another text now.
  void forget(const Text& text);

 private:
  using Recent = std::list<std::shared_ptr<Draft::Home>>;  // the latest one first
  Recent recent_;
  std::unordered_map<const std::string*, Recent::iterator> places_;
};

}  // namespace careen::sim
