#include "turnstile/silence.h"

#include <fmt/format.h>

#include <utility>

#include "io/loop.h"
#include "io/metrics.h"
#include "io/problems.h"

namespace careen::turnstile {

using io::Task;

Silence::Silence(io::Loop& loop, io::Metrics& metrics, io::Problems& problems, std::function<Task<bool>()> look)
    : loop_(loop),
      problems_(problems),
      shown_(metrics.gauge("careen_limit_webhook_open",
                           "1 while nobody decides about evictions, so that all of them pass.")),
      look_(std::move(look)),
      begun_(loop) {}

Silence::~Silence() { problems_.drop(kProblem); }

Task<void> Silence::run() {
  for (;;) {
    co_await begun_.wait();
    while (since_) {
      co_await io::sleep_for(loop_, kBetweenLooks);
      if (co_await look_()) end();
      show();
    }
  }
}

void Silence::begin(std::string why) {
  why_ = std::move(why);
  if (since_) return;
  since_ = loop_.now();
  begun_.notify();
}

void Silence::end() {
  since_.reset();
  show();
}

bool Silence::open() const { return since_ && loop_.now() - *since_ >= kPatience; }

void Silence::show() {
  shown_.set(open() ? 1 : 0);
  if (!open()) return problems_.clear(kProblem);
  problems_.raise(kProblem, fmt::format("for a minute no replica has decided about evictions, so limits of mode Queue "
                                        "and Enforce only observe what others do: {}",
                                        why_));
}

}  // namespace careen::turnstile
