// The ledger: who has been admitted against a budget and has not been seen to get there yet, in one small object
// (an annotation on a Lease, or on a ConfigMap) written by compare-and-swap. An admission is recorded here before the
// node is written, so a crash, a time-out or a leader that wakes late cannot make anybody forget it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "budget/admission.h"
#include "io/log.h"
#include "io/loop.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"
#include "kube/resource.h"
#include "kube/steady_refusal.h"

namespace careen::io {
class Counter;
class Metrics;
class Problems;
}  // namespace careen::io

namespace careen::kube {
class Client;
}  // namespace careen::kube

namespace careen::budget {

struct LedgerRecord;

struct LedgerOptions {
  std::string ns;
  std::string name = "careen-ledger";
  std::string identity;
  // What the object is: a Lease, or a ConfigMap for roles that allow no Leases.
  kube::Resource resource = kube::resources::leases;
  // Writes start apart, so that many admissions share one: by eight times as long as the last one took, within these.
  io::Duration least_spacing = io::milliseconds{20};
  io::Duration spacing = io::milliseconds{100};
  // Entries that have ended leave with the next write, or alone after this long.
  io::Duration tidy_after = io::seconds{5};
};

class Ledger {
 public:
  static constexpr std::string_view kAnnotation = "careen.dev/ledger";

  struct Entry {
    Admission admission;
    bool recorded = false;   // the stored object has it
    bool inherited = false;  // a predecessor's; unfinished as far as we know
  };

  // Without options the ledger lives in memory only: budgets are exact in this process and no further.
  Ledger(io::Loop& loop, kube::Client& client, io::Problems& problems, io::Log log, io::Metrics& metrics,
         std::optional<LedgerOptions> options);

  // Makes this process the one that writes: epoch + 1, so that late writes of a predecessor conflict, and its
  // unfinished entries become ours (inherited). Tries until it succeeds. Without rights, which only minutes of steady
  // refusal show, it says what is no longer guaranteed and continues in memory.
  io::Task<void> take_over();
  // Writes what is reserved and drops what has ended; runs until cancelled.
  io::Task<void> run();

  // Counts from now on. A second reservation under the same key renews the first.
  void reserve(Admission admission);
  // The record is one annotation, and the API server refuses a large one for ever. So many more admissions fit.
  int64_t room() const;
  bool fits(const std::string& key) const { return has(key) || room() > 0; }
  // Nothing of a predecessor is on its way any more; the entry stays, as ours.
  void settled(const std::string& key);
  // The node is where it was admitted to, or surely will not get there by this admission.
  void finish(const std::string& key);
  // Told of each entry that ends, after it has.
  io::Subscription on_end(std::function<void(const Admission&)> tell) { return ends_.subscribe(std::move(tell)); }
  // Resumes when the entry is recorded; false when it ended meanwhile or another process has taken over.
  io::Task<bool> recorded(std::string key);

  // Notified when a predecessor's entries became ours; for one waiter.
  io::Signal& inherited() { return inherited_; }
  // The same for any number of them: told before anything else happens.
  io::Subscription on_inherited(std::function<void()> tell) { return heirs_.subscribe(std::move(tell)); }

  // All that counts, by Admission::key().
  const std::map<std::string, Entry>& entries() const { return entries_; }
  bool has(const std::string& key) const { return entries_.contains(key); }
  // Another process has taken the ledger over: this one must end.
  bool fenced() const { return fenced_; }
  io::Gate& fenced_gate() { return fenced_gate_; }
  uint64_t epoch() const { return epoch_; }

 private:
  enum class Outcome { written, again, in_memory, fenced };
  void inherit(const Admission& admission);
  io::Task<Outcome> write_once();
  io::Task<Outcome> read_back(uint64_t attempted);
  io::Task<Outcome> recreate();
  void settle(uint64_t write, const std::map<std::string, Admission>& content);
  io::Task<Outcome> adopt();
  void accept(const std::string& answer, const LedgerRecord& record);
  Outcome without_answer(const kube::ApiError& error);
  void go_on_in_memory(const kube::ApiError& error);
  void report_unreachable(const kube::ApiError& error);
  bool is_foreign(const LedgerRecord& record) const;
  void fence(const LedgerRecord& theirs);
  std::string body(const LedgerRecord& record, bool whole) const;
  LedgerRecord snapshot() const;
  bool dirty() const;
  void broadcast();

  io::Loop& loop_;
  kube::Client& client_;
  io::Problems& problems_;
  io::Log log_;
  io::Counter& writes_;
  io::Counter& conflicts_;
  std::optional<LedgerOptions> options_;

  std::map<std::string, Entry> entries_;
  size_t bytes_ = 0;  // of the record with these entries, about
  kube::SteadyRefusal refusals_;
  std::map<std::string, Admission> stored_;  // what the object holds as far as we know
  bool owned_ = false;                       // a write of ours has been accepted
  std::string version_;                      // the object's resourceVersion; empty when it does not exist
  uint64_t epoch_ = 0;
  uint64_t write_ = 0;
  bool in_memory_ = false;  // nothing waits for a record
  bool adopts_ = false;     // it has gone on in memory, and has not been written since
  bool fenced_ = false;
  io::Steady last_write_{};
  io::Duration last_took_ = io::seconds{1};
  io::Signal wake_;
  io::Signal inherited_;
  io::Hub<> heirs_;
  io::Gate changed_;
  io::Hub<Admission> ends_;
  io::Gate fenced_gate_;
  io::Alarm tidy_;
};

}  // namespace careen::budget
