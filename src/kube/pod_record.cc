#include "kube/pod_record.h"

#include <algorithm>
#include <limits>

namespace careen::kube {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool is_dash_place(size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

// False when the text is not a UUID exactly as to_text() prints it.
bool from_text(std::string_view text, std::array<uint8_t, 16>& out) {
  if (text.size() != 36) return false;
  size_t nibble = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_dash_place(i)) {
      if (text[i] != '-') return false;
      continue;
    }
    const int digit = hex_digit(text[i]);
    if (digit < 0) return false;
    uint8_t& byte = out[nibble / 2];
    byte = static_cast<uint8_t>(nibble % 2 == 0 ? digit << 4 : byte | digit);
    ++nibble;
  }
  return true;
}

std::string to_text(const std::array<uint8_t, 16>& uid) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (const uint8_t byte : uid) {
    if (is_dash_place(text.size())) text += '-';
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

uint32_t to_seconds_since_1970(io::Wall time) {
  const auto seconds = std::chrono::floor<io::seconds>(time).time_since_epoch().count();
  // Zero means "not deleted".
  return static_cast<uint32_t>(std::clamp<int64_t>(seconds, 1, std::numeric_limits<uint32_t>::max()));
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

}  // namespace

SmallText::SmallText(std::string_view text) {
  if (text.size() < bytes_.size()) {
    std::copy(text.begin(), text.end(), bytes_.begin());
    bytes_.back() = static_cast<char>(text.size());
    return;
  }
  const Far f{static_cast<char*>(::operator new(text.size())), static_cast<uint32_t>(text.size())};
  std::copy(text.begin(), text.end(), f.text);
  std::memcpy(bytes_.data(), &f, sizeof(f.text) + sizeof(f.length));
  bytes_.back() = kFar;
}

SmallText::~SmallText() {
  if (bytes_.back() == kFar) ::operator delete(far().text);
}

std::string_view SmallText::view() const {
  if (bytes_.back() != kFar) return {bytes_.data(), static_cast<size_t>(bytes_.back())};
  return {far().text, far().length};
}

size_t SmallText::heap_bytes() const { return bytes_.back() == kFar ? far().length : 0; }

std::string_view PodRecord::owner_kind() const {
  const std::string_view controller = first_line(owner.view());
  return controller.substr(0, controller.find('/'));
}

std::string_view PodRecord::owner_name() const {
  const std::string_view controller = first_line(owner.view());
  const size_t slash = controller.find('/');
  return slash == std::string_view::npos ? std::string_view{} : controller.substr(slash + 1);
}

std::string_view PodRecord::other_owners() const {
  const std::string_view text = owner.view();
  return text.substr(std::min(first_line(text).size() + 1, text.size()));
}

std::string_view PodRecord::name_rest() const {
  const std::string_view text = rest.view();
  return odd_uid ? text.substr(0, text.find('\0')) : text;
}

std::string PodRecord::name() const {
  std::string text(owner_prefix == 0 ? std::string_view{} : owner_name().substr(0, owner_prefix));
  return text += name_rest();
}

bool PodRecord::named(std::string_view wanted_ns, std::string_view wanted_name) const {
  if (ns.view() != wanted_ns || wanted_name.size() < owner_prefix) return false;
  if (wanted_name.substr(owner_prefix) != name_rest()) return false;
  return owner_prefix == 0 || wanted_name.substr(0, owner_prefix) == owner_name().substr(0, owner_prefix);
}

bool PodRecord::same_name(const PodRecord& other) const {
  if (hash != other.hash || ns != other.ns) return false;
  if (owner == other.owner) return owner_prefix == other.owner_prefix && name_rest() == other.name_rest();
  return other.named(ns.view(), name());
}

std::string PodRecord::uid_text() const {
  if (!odd_uid) return to_text(uid);
  const std::string_view text = rest.view();
  return std::string(text.substr(text.find('\0') + 1));
}

bool PodRecord::same_uid(const PodRecord& other) const {
  if (odd_uid != other.odd_uid) return false;
  return odd_uid ? uid_text() == other.uid_text() : uid == other.uid;
}

bool PodRecord::same_facts(const PodRecord& other) const {
  return same_uid(other) && node == other.node && owner == other.owner && labels == other.labels &&
         finalizers == other.finalizers && deletion == other.deletion && grace == other.grace &&
         priority == other.priority && phase == other.phase && flags == other.flags;
}

Pod PodRecord::view() const {
  Pod pod;
  pod.ns = ns.view();
  pod.name = name();
  pod.uid = uid_text();
  pod.version = version;
  pod.node = node.view();
  pod.owner_kind = owner_kind();
  pod.owner_name = owner_name();
  pod.other_owners = other_owners();
  pod.label_set = labels.view();
  pod.finalizers = finalizers.view();
  if (deletion != 0) pod.deletion = io::Wall{io::seconds{deletion}};
  if (grace != 0) pod.deletion_grace = io::seconds{grace - 1};
  pod.priority = priority;
  pod.phase = phase;
  pod.flags = flags;
  return pod;
}

uint32_t hash_of_name(std::string_view ns, std::string_view name) {
  const size_t h = std::hash<std::string_view>{}(ns) * 31 + std::hash<std::string_view>{}(name);
  return static_cast<uint32_t>(h ^ (h >> 32));
}

PodRecord make_record(const PodFacts& facts, AtomPool& atoms, std::string& scratch) {
  PodRecord record;
  record.version = facts.version;
  record.ns = atoms.intern(facts.ns);
  record.node = atoms.intern(facts.node);
  record.hash = hash_of_name(facts.ns, facts.name);
  record.priority = facts.priority;
  record.phase = facts.phase;
  record.flags = facts.flags;
  if (facts.deletion) record.deletion = to_seconds_since_1970(*facts.deletion);
  if (facts.deletion_grace) {
    const int64_t seconds = std::chrono::duration_cast<io::seconds>(*facts.deletion_grace).count();
    record.grace = static_cast<uint32_t>(std::clamp<int64_t>(seconds, 0, std::numeric_limits<uint32_t>::max() - 1) + 1);
  }

  if (!facts.owner_kind.empty() || !facts.others.empty()) {
    scratch.clear();
    if (!facts.owner_kind.empty()) scratch.assign(facts.owner_kind).append("/").append(facts.owner_name);
    for (const auto& [kind, name] : facts.others) scratch.append("\n").append(kind).append("/").append(name);
    record.owner = atoms.intern(scratch);
    const std::string_view owner = record.owner_name();
    const auto limit = std::min<size_t>({owner.size(), facts.name.size(), 255});
    const auto differ =
        std::mismatch(facts.name.begin(), facts.name.begin() + static_cast<ptrdiff_t>(limit), owner.begin());
    record.owner_prefix = static_cast<uint8_t>(differ.first - facts.name.begin());
  }

  const std::string_view rest = facts.name.substr(record.owner_prefix);
  if (from_text(facts.uid, record.uid)) {
    record.rest = SmallText(rest);
  } else {
    record.uid = {};
    record.odd_uid = true;
    scratch.assign(rest).append(1, '\0').append(facts.uid);
    record.rest = SmallText(scratch);
  }

  if (!facts.labels.empty()) {
    auto sorted = facts.labels;
    std::sort(sorted.begin(), sorted.end());
    scratch.clear();
    for (const auto& [key, value] : sorted) scratch.append(key).append(1, '\0').append(value).append(1, '\0');
    record.labels = atoms.intern(scratch);
  }

  if (!facts.finalizers.empty()) {
    scratch.clear();
    for (const std::string_view finalizer : facts.finalizers) {
      scratch.append(scratch.empty() ? "" : ",").append(finalizer);
    }
    record.finalizers = atoms.intern(scratch);
  }
  return record;
}

}  // namespace careen::kube
