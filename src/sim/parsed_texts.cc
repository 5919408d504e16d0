#include "sim/parsed_texts.h"

#include <cstdint>
#include <utility>

namespace careen::sim {

struct Draft::Home {
  Home() : memory(first, sizeof first), value(json::storage_ptr(&memory)) {}

  Text text{};  // held, so that no other can have its address
  unsigned char first[8 << 10];
  json::monotonic_resource memory;
  json::value value;
};

Draft::Draft() : home_(std::make_shared<Home>()) {}
Draft::Draft(const json::value& object) : Draft() { home_->value = json::value(object, storage()); }
Draft::~Draft() = default;
Draft::Draft(Draft&&) noexcept = default;
Draft& Draft::operator=(Draft&&) noexcept = default;

json::value& Draft::value() { return home_->value; }
json::storage_ptr Draft::storage() { return json::storage_ptr(&home_->memory); }

std::shared_ptr<Draft::Home>& ParsedTexts::place_of(const Text& text) {
  const auto address = reinterpret_cast<uintptr_t>(text.get());
  return recent_[(address >> 4 ^ address >> 15) % recent_.size()];
}

Parsed ParsedTexts::of(const Text& text) {
  if (!text) return nullptr;
  std::shared_ptr<Draft::Home>& place = place_of(text);
  if (!place || place->text != text) {
    Draft draft;
    draft.value() = *sim::parse(*text, draft.storage());
    drop_type(draft.value());
    keep(text, std::move(draft));
  }
  return {place, &place->value};
}

void ParsedTexts::keep(const Text& text, Draft draft) {
  draft.home_->text = text;
  place_of(text) = std::move(draft.home_);
}

}  // namespace careen::sim
