#include "sim/parsed_texts.h"

#include <utility>

namespace careen::sim {

struct Draft::Home {
  Home() : memory(first, sizeof first), value(json::storage_ptr(&memory)) {}

  Text text{};  // held, so that no other can have its address
  unsigned char first[8 << 10];
  json::monotonic_resource memory;
  json::value value;
};

namespace {

// As many objects as are on the move at once in a large plan.
constexpr size_t kMostKept = 3000;

}  // namespace

Draft::Draft() : home_(std::make_shared<Home>()) {}
Draft::Draft(const json::value& object) : Draft() { home_->value = json::value(object, storage()); }
Draft::~Draft() = default;
Draft::Draft(Draft&&) noexcept = default;
Draft& Draft::operator=(Draft&&) noexcept = default;

json::value& Draft::value() { return home_->value; }
json::storage_ptr Draft::storage() { return json::storage_ptr(&home_->memory); }

Parsed ParsedTexts::of(const Text& text) {
  if (!text) return nullptr;
  if (const auto known = places_.find(text.get()); known != places_.end()) {
    recent_.splice(recent_.begin(), recent_, known->second);
    return {recent_.front(), &recent_.front()->value};
  }
  Draft draft;
  draft.value() = *sim::parse(*text, draft.storage());
  drop_type(draft.value());
  return keep(text, std::move(draft));
}

Parsed ParsedTexts::keep(const Text& text, Draft draft) {
  draft.home_->text = text;
  recent_.push_front(std::move(draft.home_));
  places_.emplace(text.get(), recent_.begin());
  if (recent_.size() > kMostKept) forget(Text(recent_.back()->text));
  return {recent_.front(), &recent_.front()->value};
}

void ParsedTexts::forget(const Text& text) {
  const auto known = places_.find(text.get());
  if (known == places_.end()) return;
  recent_.erase(known->second);
  places_.erase(known);
}

}  // namespace careen::sim
