#include "controllers/profiles/message_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controllers/profiles/outbox.h"
#include "io/problems.h"

namespace careen::profiles {

namespace {
std::string ration_problem(const std::string& node) { return "messages node/" + node; }
}  // namespace

MessageTurns::MessageTurns(io::Loop& loop, io::Problems& problems, Deliveries& deliveries,
                           std::function<void(const std::string& node)> again)
    : loop_(loop), problems_(problems), deliveries_(deliveries), again_(std::move(again)), alarm_(loop, [this] {
        call_those_due();
      }) {}

bool MessageTurns::has_turn(const std::string& node, const std::string& uid, const std::string& message) {
  using Turn = Deliveries::Turn;
  if (deliveries_.turn(uid, message) == Turn::given) return true;
  const auto later = ration_.take(node, loop_.now());
  deliveries_.set_turn(uid, message, later ? Turn::waits : Turn::given);
  if (!later) return true;
  problems_.raise(ration_problem(node),
                  fmt::format("node {} has sent very many messages; the rest of them waits, and one goes every {}",
                              node, io::format_duration(ration_.pace())));
  waiting_[node] = *later;
  set_alarm();
  return false;
}

void MessageTurns::end(const std::string& node) {
  if (waiting_.erase(node) > 0) problems_.clear(ration_problem(node));
}

void MessageTurns::call_those_due() {
  const io::Steady now = loop_.now();
  for (const auto& [node, when] : std::map(waiting_)) {
    if (when > now) continue;
    // Should it wait for something else.
    waiting_[node] = now + ration_.pace();
    again_(node);
  }
  set_alarm();
}

void MessageTurns::set_alarm() {
  const auto sooner = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto first = std::min_element(waiting_.begin(), waiting_.end(), sooner);
  if (first != waiting_.end()) alarm_.set(first->second);
}

}  // namespace careen::profiles
