#include "io/problems.h"

namespace careen::io {

void Problems::raise(std::string_view key, std::string_view message) {
  auto [it, fresh] = open_.try_emplace(std::string(key), message);
  if (!fresh && it->second == message) return;
  it->second = message;
  log_.error(message, "problem", key);
  if (listener_) listener_(it->first, &it->second);
}

void Problems::clear(std::string_view key) {
  if (take_out(key)) log_.info("the problem is gone", "problem", key);
}

void Problems::drop(std::string_view key) { take_out(key); }

bool Problems::take_out(std::string_view key) {
  const auto it = open_.find(key);
  if (it == open_.end()) return false;
  const std::string gone = it->first;
  open_.erase(it);
  if (listener_) listener_(gone, nullptr);
  return true;
}

}  // namespace careen::io
