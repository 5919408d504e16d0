// Which of the requests that wait is sent next. A fixed number is on the way at a time; one that hangs gives up its
// slot to another, up to the same number again. A namespace with several that hang, or whose last one went unanswered,
// has only a few slots and comes last, so that a webhook which never answers holds up its own pods and nobody else's.
// No clock, no I/O.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace careen::drain {

class Slots {
 public:
  // So many of a namespace that hang leave it in doubt, and while it is, no more than these are on their way.
  static constexpr int kInDoubt = 8;

  explicit Slots(int most) : most_(most) {}

  // It waits from now on. One pod waits, or is on its way, once.
  void add(const std::string& pod, const std::string& ns);
  // Takes a slot for the pod that is to go next; nothing when there is none.
  std::optional<std::string> next();
  // It has been on its way for too long.
  void hangs(std::string_view pod);
  // It waits no more, or is on its way no more.
  enum class End { answered, unanswered, withdrawn };
  void remove(std::string_view pod, End end);
  // Those that wait, in the order of their coming.
  std::vector<std::string> waiting() const;
  // Nothing waits, is on its way, or is remembered.
  bool empty() const { return namespaces_.empty(); }
  // What was unanswered counts no more.
  void forget();

 private:
  struct Waiting {
    uint64_t place = 0;
    std::string pod;
  };
  struct Namespace {
    std::deque<Waiting> waiting;
    int in_flight = 0;
    int hanging = 0;          // of these
    bool unanswered = false;  // the last one

    bool in_doubt() const { return unanswered || hanging >= kInDoubt; }
    bool may_go() const { return !waiting.empty() && (!in_doubt() || in_flight < kInDoubt); }
    bool idle() const { return waiting.empty() && in_flight == 0; }
  };
  struct Flight {
    std::string ns;
    bool sent = false;
    bool hangs = false;
  };
  bool has_slot() const;

  int most_;
  int in_flight_ = 0;
  int hanging_ = 0;  // of these
  uint64_t places_ = 0;
  std::map<std::string, Namespace, std::less<>> namespaces_;
  std::map<std::string, Flight, std::less<>> pods_;
};

}  // namespace careen::drain
