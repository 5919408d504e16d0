#include "drain/slots.h"

#include <algorithm>
#include <tuple>

namespace careen::drain {

void Slots::add(const std::string& pod, const std::string& ns) {
  if (!pods_.try_emplace(pod, Flight{ns}).second) return;
  namespaces_[ns].waiting.push_back({++places_, pod});
}

bool Slots::has_slot() const { return in_flight_ - std::min(hanging_, most_) < most_; }

std::optional<std::string> Slots::next() {
  if (!has_slot()) return std::nullopt;
  const auto rank = [](const Namespace& one) {
    return std::tuple(one.in_doubt(), one.in_flight, one.waiting.front().place);
  };
  Namespace* chosen = nullptr;
  for (auto& [name, one] : namespaces_) {
    if (one.may_go() && (!chosen || rank(one) < rank(*chosen))) chosen = &one;
  }
  if (!chosen) return std::nullopt;
  const std::string pod = std::move(chosen->waiting.front().pod);
  chosen->waiting.pop_front();
  ++chosen->in_flight;
  ++in_flight_;
  pods_.find(pod)->second.sent = true;
  return pod;
}

void Slots::hangs(std::string_view pod) {
  const auto known = pods_.find(pod);
  if (known == pods_.end() || !known->second.sent || known->second.hangs) return;
  known->second.hangs = true;
  ++namespaces_.find(known->second.ns)->second.hanging;
  ++hanging_;
}

void Slots::remove(std::string_view pod, End end) {
  const auto known = pods_.find(pod);
  if (known == pods_.end()) return;
  const auto ns = namespaces_.find(known->second.ns);
  if (known->second.sent) {
    --ns->second.in_flight;
    --in_flight_;
    if (end != End::withdrawn) ns->second.unanswered = end == End::unanswered;
  } else {
    std::erase_if(ns->second.waiting, [&](const Waiting& one) { return one.pod == pod; });
  }
  if (known->second.hangs) {
    --ns->second.hanging;
    --hanging_;
  }
  if (ns->second.idle() && !ns->second.unanswered) namespaces_.erase(ns);
  pods_.erase(known);
}

std::vector<std::string> Slots::waiting() const {
  std::vector<Waiting> all;
  for (const auto& [name, one] : namespaces_) all.insert(all.end(), one.waiting.begin(), one.waiting.end());
  std::sort(all.begin(), all.end(), [](const Waiting& a, const Waiting& b) { return a.place < b.place; });
  std::vector<std::string> pods;
  for (Waiting& one : all) pods.push_back(std::move(one.pod));
  return pods;
}

void Slots::forget() {
  std::erase_if(namespaces_, [](const auto& entry) { return entry.second.idle(); });
}

}  // namespace careen::drain
