// How PodStore keeps one pod: 112 bytes, of which most point to texts that many pods share. A pod's name mostly begins
// with its owner's, so only the rest is kept.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "kube/atoms.h"
#include "kube/pod_store.h"

namespace careen::kube {

// A text in 16 bytes; what is longer than 15 lies on the heap.
class SmallText {
 public:
  SmallText() = default;
  explicit SmallText(std::string_view text);
  SmallText(SmallText&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  SmallText& operator=(SmallText&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SmallText();
  std::string_view view() const;
  size_t heap_bytes() const;

 private:
  struct Far {
    char* text;
    uint32_t length;
  };
  static constexpr char kFar = 0x7F;
  Far far() const {
    Far f;
    std::memcpy(&f, bytes_.data(), sizeof(f.text) + sizeof(f.length));
    return f;
  }
  alignas(8) std::array<char, 16> bytes_{};  // the last one: the length, or kFar
};

using SlotId = uint32_t;
inline constexpr SlotId kNoSlot = UINT32_MAX;

struct PodRecord {
  std::array<uint8_t, 16> uid{};
  uint64_t version = 0;
  Atom ns, node;
  Atom owner;             // "Kind/name" of the controller; each on a line after that, the other owners
  Atom labels;            // "key\0value\0", sorted by key
  Atom finalizers;        // separated by commas
  SmallText rest;         // of the name; a UID that is no UUID follows after a NUL
  uint32_t deletion = 0;  // seconds since 1970; 0 for none
  uint32_t grace = 0;     // seconds that end then, plus one; 0 for none
  int32_t priority = 0;
  uint32_t hash = 0;         // of namespace and name
  uint8_t owner_prefix = 0;  // this many characters of the name are the owner's name
  PodPhase phase : 4 = PodPhase::unknown;
  enum class Use : uint8_t { free, staged, live } use : 2 = Use::free;
  bool odd_uid : 1 = false;
  bool listed : 1 = false;
  PodFlags flags;
  // The list of pods on the same node; of a free slot: the next free one.
  SlotId next = kNoSlot, previous = kNoSlot;

  std::string_view owner_kind() const;
  std::string_view owner_name() const;
  std::string_view other_owners() const;
  std::string_view name_rest() const;
  std::string name() const;
  bool named(std::string_view wanted_ns, std::string_view wanted_name) const;
  bool same_name(const PodRecord& other) const;
  std::string uid_text() const;
  bool same_uid(const PodRecord& other) const;
  // Equal but for the version and the place in the store; of the same name.
  bool same_facts(const PodRecord& other) const;
  Pod view() const;
};
static_assert(sizeof(PodRecord) <= 112);

uint32_t hash_of_name(std::string_view ns, std::string_view name);
// `scratch` is reused from call to call.
PodRecord make_record(const PodFacts& facts, AtomPool& atoms, std::string& scratch);

}  // namespace careen::kube
