#include "kube/atoms.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

namespace careen::kube {

// The text follows the entry in the same allocation.
struct Atom::Entry {
  AtomPool::Table* table;
  uint32_t holders;
  uint32_t length;
  uint32_t hash;

  static constexpr size_t kTextOffset = sizeof(void*) + 3 * sizeof(uint32_t);
  static size_t bytes_for(size_t length) { return std::max(sizeof(Entry), kTextOffset + length); }
  char* text() { return reinterpret_cast<char*>(this) + kTextOffset; }
  std::string_view view() { return {text(), length}; }
};

// Open addressing with linear probing; an erased place is closed by moving its followers up, so that a pool that
// sees millions of texts come and go never fills with markers.
struct AtomPool::Table {
  std::vector<Atom::Entry*> places = std::vector<Atom::Entry*>(kSmallest, nullptr);
  size_t used = 0;
  size_t text_bytes = 0;

  static constexpr size_t kSmallest = 64;

  size_t mask() const { return places.size() - 1; }

  Atom::Entry** find(std::string_view text, uint32_t hash) {
    size_t i = hash & mask();
    while (places[i] && (places[i]->hash != hash || places[i]->view() != text)) i = (i + 1) & mask();
    return &places[i];
  }

  void resize(size_t size) {
    std::vector<Atom::Entry*> old(size, nullptr);
    old.swap(places);
    for (Atom::Entry* entry : old) {
      if (!entry) continue;
      size_t i = entry->hash & mask();
      while (places[i]) i = (i + 1) & mask();
      places[i] = entry;
    }
  }

  void erase(Atom::Entry* entry) {
    size_t hole = entry->hash & mask();
    while (places[hole] != entry) hole = (hole + 1) & mask();
    for (size_t i = (hole + 1) & mask(); places[i]; i = (i + 1) & mask()) {
      const size_t home = places[i]->hash & mask();
      if (((i - home) & mask()) < ((i - hole) & mask())) continue;
      places[hole] = places[i];
      hole = i;
    }
    places[hole] = nullptr;
    --used;
    text_bytes -= Atom::Entry::bytes_for(entry->length);
    if (places.size() > kSmallest && used < places.size() / 8) resize(places.size() / 4);
  }
};

std::string_view Atom::view() const { return entry_ ? entry_->view() : std::string_view{}; }

void Atom::retain() {
  if (entry_) ++entry_->holders;
}

void Atom::release() {
  if (!entry_ || --entry_->holders > 0) return;
  entry_->table->erase(entry_);
  ::operator delete(entry_);
}

AtomPool::AtomPool() : table_(std::make_unique<Table>()) {}

AtomPool::~AtomPool() {
  if (table_->used == 0) return;
  std::fprintf(stderr, "careen: bug: %zu atoms outlive their pool\n", table_->used);
  std::abort();
}

Atom AtomPool::intern(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > std::numeric_limits<uint32_t>::max()) {
    std::fprintf(stderr, "careen: bug: an atom of %zu bytes\n", text.size());
    std::abort();
  }
  const auto hash = static_cast<uint32_t>(std::hash<std::string_view>{}(text));
  Atom::Entry** place = table_->find(text, hash);
  if (*place) {
    ++(*place)->holders;
    return Atom{*place};
  }
  if ((table_->used + 1) * 4 > table_->places.size() * 3) {
    table_->resize(table_->places.size() * 2);
    place = table_->find(text, hash);
  }
  const size_t bytes = Atom::Entry::bytes_for(text.size());
  auto* entry = new (::operator new(bytes)) Atom::Entry{table_.get(), 1, static_cast<uint32_t>(text.size()), hash};
  std::memcpy(entry->text(), text.data(), text.size());
  *place = entry;
  ++table_->used;
  table_->text_bytes += bytes;
  return Atom{entry};
}

Atom AtomPool::find(std::string_view text) const {
  if (text.empty()) return {};
  Atom::Entry* entry = *table_->find(text, static_cast<uint32_t>(std::hash<std::string_view>{}(text)));
  if (!entry) return {};
  ++entry->holders;
  return Atom{entry};
}

size_t AtomPool::size() const { return table_->used; }

size_t AtomPool::bytes() const { return table_->text_bytes + table_->places.size() * sizeof(Atom::Entry*); }

}  // namespace careen::kube
