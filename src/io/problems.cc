#include "io/problems.h"

namespace careen::io {

Problems::~Problems() {
  if (!whole_) return;
  for (const auto& [key, message] : open_) whole_->drop(named(key));
}

std::string Problems::named(std::string_view text) const { return subject_ + ": " + std::string(text); }

void Problems::raise(std::string_view key, std::string_view message) {
  auto [it, fresh] = open_.try_emplace(std::string(key), message);
  if (!fresh && it->second == message) return;
  it->second = message;
  if (whole_) {
    whole_->raise(named(key), named(message));
  } else {
    log_.error(message, "problem", key);
  }
  if (listener_) listener_(it->first, &it->second);
}

void Problems::clear(std::string_view key) {
  if (!take_out(key)) return;
  if (whole_) {
    whole_->clear(named(key));
  } else {
    log_.info("the problem is gone", "problem", key);
  }
}

void Problems::drop(std::string_view key) {
  if (take_out(key) && whole_) whole_->drop(named(key));
}

bool Problems::take_out(std::string_view key) {
  const auto it = open_.find(key);
  if (it == open_.end()) return false;
  const std::string gone = it->first;
  open_.erase(it);
  if (listener_) listener_(gone, nullptr);
  return true;
}

}  // namespace careen::io
