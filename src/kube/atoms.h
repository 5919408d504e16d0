// Atoms: strings that are stored once. Label keys and values, namespaces and owners repeat thousands of times in a
// cluster; an Atom is one pointer, compares by pointer, and its text is freed with its last holder. A pool belongs
// to one process (real or simulated) and must outlive its atoms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace careen::kube {

class AtomPool;

class Atom {
 public:
  Atom() = default;  // the empty text
  Atom(const Atom& other) : entry_(other.entry_) { retain(); }
  Atom(Atom&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  Atom& operator=(Atom other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~Atom() { release(); }

  std::string_view view() const;
  // The same number for equal text as long as somebody holds it; for hash tables, not for order.
  uintptr_t id() const { return reinterpret_cast<uintptr_t>(entry_); }
  bool empty() const { return entry_ == nullptr; }
  // Equal text of one pool is the same entry.
  friend bool operator==(const Atom& a, const Atom& b) { return a.entry_ == b.entry_; }
  friend bool operator==(const Atom& a, std::string_view b) { return a.view() == b; }

 private:
  friend class AtomPool;
  struct Entry;
  explicit Atom(Entry* e) : entry_(e) {}
  void retain();
  void release();
  Entry* entry_ = nullptr;
};

class AtomPool {
 public:
  AtomPool();
  ~AtomPool();
  AtomPool(const AtomPool&) = delete;
  AtomPool& operator=(const AtomPool&) = delete;

  Atom intern(std::string_view text);
  // The atom if somebody holds that text; otherwise an empty one.
  Atom find(std::string_view text) const;
  size_t size() const;
  // Bytes of texts and table, without the allocator's own.
  size_t bytes() const;

 private:
  friend class Atom;
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace careen::kube

template <>
struct std::hash<careen::kube::Atom> {
  // Entries are allocated, so their low bits are always the same.
  size_t operator()(const careen::kube::Atom& atom) const noexcept { return atom.id() >> 4; }
};
