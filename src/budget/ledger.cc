#include "budget/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "budget/ledger_record.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "kube/client.h"
#include "kube/error.h"
#include "kube/json.h"
#include "kube/resource.h"

namespace careen::budget {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

constexpr io::Duration kRetry = io::seconds{1};
// Without rights on the object we ask again this often, in case they were granted.
constexpr io::Duration kRetryInMemory = io::minutes{1};

// All annotations of an object together have 256 KiB; the rest is for those of others.
constexpr size_t kMostBytes = 192 << 10;
// What one more admission may need: its node's name has up to 253 characters, and so has each of its leases.
constexpr size_t kRoomForOne = 1 << 10;

// No less than what it adds to the record.
size_t bytes_of(const Admission& admission) {
  size_t bytes = 128 + admission.uid.size() + admission.node.size() + admission.by.size();
  for (const HeldLease& lease : admission.leases) bytes += 80 + lease.key.size();
  for (const std::string& group : admission.groups) bytes += 8 + group.size();
  return bytes;
}

std::string text_at(JsonView object, std::string_view key) { return std::string(object[key].text().value_or("")); }

Json to_json(const std::vector<HeldLease>& leases) {
  Json list = Json::array();
  for (const HeldLease& lease : leases) {
    list.push_back(Json::object({{"key", lease.key}, {"acquired", io::format_rfc3339(lease.acquired)}}));
  }
  return list;
}

Json names_to_json(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(name);
  return list;
}

// The Lease, or the ConfigMap.
struct StoredObject {
  std::string version;
  std::optional<std::string> record;
};

std::optional<StoredObject> read_object(const std::string& body) {
  const auto document = Json::parse(body);
  if (!document) return std::nullopt;
  const JsonView metadata = (*document)["metadata"];
  StoredObject object{text_at(metadata, "resourceVersion"), std::nullopt};
  if (object.version.empty()) return std::nullopt;
  if (const auto record = metadata["annotations"][Ledger::kAnnotation].text()) object.record = std::string(*record);
  return object;
}

}  // namespace

tl::expected<LedgerRecord, std::string> LedgerRecord::parse(std::string_view text) {
  const auto document = Json::parse(text);
  if (!document) return tl::make_unexpected(document.error().message);
  LedgerRecord record;
  const auto epoch = (*document)["epoch"].integer(), write = (*document)["write"].integer();
  if (!epoch || *epoch < 0) return tl::make_unexpected("epoch is missing or no number");
  if (!write || *write < 0) return tl::make_unexpected("write is missing or no number");
  record.epoch = static_cast<uint64_t>(*epoch);
  record.write = static_cast<uint64_t>(*write);
  record.writer = text_at(document->view(), "writer");
  const JsonView admitted = (*document)["admitted"];
  if (!admitted.is_array()) return tl::make_unexpected("admitted is missing or no list");
  bool complete = true;
  admitted.for_each_element([&](JsonView item) {
    Admission admission{text_at(item, "uid"), text_at(item, "node"), text_at(item, "by"),
                        io::parse_rfc3339(text_at(item, "since")).value_or(io::Wall{})};
    admission.counts = item["counts"].boolean().value_or(true);
    admission.drains = item["drains"].boolean().value_or(false);
    item["leases"].for_each_element([&](JsonView lease) {
      const auto acquired = io::parse_rfc3339(text_at(lease, "acquired"));
      if (acquired) admission.leases.push_back({text_at(lease, "key"), *acquired});
    });
    item["groups"].for_each_element([&](JsonView group) {
      if (const auto name = group.text()) admission.groups.emplace_back(*name);
    });
    complete &= !admission.uid.empty() && !admission.node.empty();
    record.admitted.emplace(admission.key(), std::move(admission));
  });
  if (!complete) return tl::make_unexpected("an admission lacks its uid or node");
  return record;
}

std::string LedgerRecord::text() const {
  Json list = Json::array();
  for (const auto& [key, admission] : admitted) {
    Json item = Json::object({{"uid", admission.uid},
                              {"node", admission.node},
                              {"by", admission.by},
                              {"since", io::format_rfc3339(admission.since)}});
    if (!admission.counts) item.set({"counts"}, false);
    if (admission.drains) item.set({"drains"}, true);
    if (!admission.leases.empty()) item.set({"leases"}, to_json(admission.leases));
    if (!admission.groups.empty()) item.set({"groups"}, names_to_json(admission.groups));
    list.push_back(std::move(item));
  }
  return Json::object({{"epoch", static_cast<int64_t>(epoch)},
                       {"writer", writer},
                       {"write", static_cast<int64_t>(write)},
                       {"admitted", std::move(list)}})
      .dump();
}

Ledger::Ledger(io::Loop& loop, kube::Client& client, io::Problems& problems, io::Log log, io::Metrics& metrics,
               std::optional<LedgerOptions> options)
    : loop_(loop),
      client_(client),
      problems_(problems),
      log_(std::move(log)),
      writes_(metrics.counter("careen_ledger_writes_total", "Accepted writes of the budget ledger.")),
      conflicts_(metrics.counter("careen_ledger_conflicts_total", "Ledger writes that another writer came before.")),
      options_(std::move(options)),
      in_memory_(!options_),
      wake_(loop),
      inherited_(loop),
      changed_(loop),
      fenced_gate_(loop),
      tidy_(loop, [this] { wake_.notify(); }) {}

void Ledger::reserve(Admission admission) {
  const auto [it, added] = entries_.try_emplace(admission.key());
  Entry& entry = it->second;
  if (!added) bytes_ -= bytes_of(entry.admission);
  bytes_ += bytes_of(admission);
  entry.admission = std::move(admission);
  entry.inherited = false;
  // Also if the object has it already: whoever has taken over since then may have settled that one, and only a write
  // finds out.
  entry.recorded = false;
  wake_.notify();
}

void Ledger::inherit(const Admission& admission) {
  if (entries_.try_emplace(admission.key(), Entry{admission, false, true}).second) bytes_ += bytes_of(admission);
}

void Ledger::settled(const std::string& key) {
  if (const auto it = entries_.find(key); it != entries_.end()) it->second.inherited = false;
}

int64_t Ledger::room() const {
  if (!options_) return std::numeric_limits<int32_t>::max();
  return bytes_ < kMostBytes ? static_cast<int64_t>((kMostBytes - bytes_) / kRoomForOne) : 0;
}

void Ledger::finish(const std::string& key) {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return;
  bytes_ -= bytes_of(entry->second.admission);
  const Admission ended = std::move(entry->second.admission);
  entries_.erase(entry);
  broadcast();
  ends_.tell(ended);
  if (options_ && !tidy_.pending()) tidy_.set(loop_.now() + options_->tidy_after);
}

Task<bool> Ledger::recorded(std::string key) {
  for (;;) {
    const auto it = entries_.find(key);
    if (fenced_ || it == entries_.end()) co_return false;
    if (it->second.recorded || in_memory_) co_return true;
    co_await changed_.wait();
  }
}

void Ledger::broadcast() {
  changed_.open();
  changed_.close();
}

LedgerRecord Ledger::snapshot() const {
  LedgerRecord record{epoch_, options_->identity, write_ + 1, {}};
  for (const auto& [key, entry] : entries_) record.admitted.emplace(key, entry.admission);
  return record;
}

bool Ledger::dirty() const {
  for (const auto& [key, entry] : entries_) {
    if (!entry.recorded) return true;
  }
  return false;
}

std::string Ledger::body(const LedgerRecord& record, bool whole) const {
  Json document = Json::object();
  if (whole) {
    document.set({"apiVersion"}, options_->resource.api_version()).set({"kind"}, options_->resource.kind);
    document.set({"metadata", "name"}, options_->name).set({"metadata", "namespace"}, options_->ns);
  }
  if (!version_.empty()) document.set({"metadata", "resourceVersion"}, version_);
  document.set({"metadata", "annotations", kAnnotation}, record.text());
  // Who leads, for people who look at Leases.
  if (options_->resource.kind == "Lease") document.set({"spec", "holderIdentity"}, options_->identity);
  return document.dump();
}

void Ledger::settle(uint64_t write, const std::map<std::string, Admission>& content) {
  write_ = write;
  stored_ = content;
  owned_ = true;
  for (auto& [key, entry] : entries_) {
    const auto known = stored_.find(key);
    // One that was reserved again after this write began waits for the next.
    entry.recorded = known != stored_.end() && known->second == entry.admission;
  }
  if (adopts_) log_.info("the budget ledger is written again");
  in_memory_ = adopts_ = false;
  refusals_.granted();
  problems_.clear("ledger");
  broadcast();
}

void Ledger::accept(const std::string& answer, const LedgerRecord& record) {
  const auto object = read_object(answer);
  version_ = object ? object->version : "";
  writes_.add();
  settle(record.write, record.admitted);
}

void Ledger::go_on_in_memory(const kube::ApiError& error) {
  in_memory_ = adopts_ = true;
  problems_.raise("ledger", fmt::format("the budget ledger ({} {}/{}) cannot be written: {}; limits are exact within "
                                        "this process, but a leader that takes over may admit beyond them",
                                        options_->resource.kind, options_->ns, options_->name, error.message));
  tidy_.set(loop_.now() + kRetryInMemory);
  broadcast();
}

void Ledger::report_unreachable(const kube::ApiError& error) {
  if (error.not_leader()) return;  // the election tells
  problems_.raise("ledger", fmt::format("the budget ledger ({} {}/{}) cannot be reached: {}; nothing new is admitted "
                                        "until it can be",
                                        options_->resource.kind, options_->ns, options_->name, error.message));
}

// Writes carry the version they were computed from, so another writer can only have come after us.
bool Ledger::is_foreign(const LedgerRecord& record) const {
  return record.writer != options_->identity || record.epoch != epoch_;
}

void Ledger::fence(const LedgerRecord& theirs) {
  fenced_ = true;
  log_.error("another process has taken the budget ledger over; this one stops", "epoch", epoch_, "their epoch",
             theirs.epoch, "by", theirs.writer);
  fenced_gate_.open();
  broadcast();
}

// Without rights it continues in memory; any other trouble, and a refusal that has not lasted yet, may pass, and until
// then nothing is admitted that is not recorded.
Ledger::Outcome Ledger::without_answer(const kube::ApiError& error) {
  if (refusals_.missing(error, loop_.now())) {
    go_on_in_memory(error);
    return Outcome::in_memory;
  }
  in_memory_ = false;
  report_unreachable(error);
  return Outcome::again;
}

// After a conflict or an answer that never came: what does the object hold?
Task<Ledger::Outcome> Ledger::read_back(uint64_t attempted) {
  const auto answer = co_await client_.get(options_->resource, options_->ns, options_->name);
  if (!answer) {
    if (answer.error().not_found()) co_return co_await recreate();
    co_return without_answer(answer.error());
  }
  const auto object = read_object(*answer);
  if (!object) co_return Outcome::again;
  version_ = object->version;
  const auto record = object->record ? LedgerRecord::parse(*object->record)
                                     : tl::make_unexpected(std::string("the annotation is missing"));
  if (!record) {
    // Somebody damaged it. Only what we know is left; the next write puts it back.
    log_.warn("the budget ledger was damaged; it is written anew", "cause", record.error());
    stored_.clear();
    for (auto& [key, entry] : entries_) entry.recorded = false;
    co_return Outcome::again;
  }
  if (is_foreign(*record)) {
    fence(*record);
    co_return Outcome::fenced;
  }
  if (record->write == attempted) {
    writes_.add();
    settle(attempted, record->admitted);
    co_return Outcome::written;
  }
  stored_ = record->admitted;
  for (auto& [key, entry] : entries_) entry.recorded = false;
  co_return Outcome::again;
}

// The object is gone: it is rebuilt from what this process knows.
Task<Ledger::Outcome> Ledger::recreate() {
  version_.clear();
  const LedgerRecord record = snapshot();
  const auto answer = co_await client_.create(options_->resource, options_->ns, body(record, true));
  if (answer) {
    accept(*answer, record);
    co_return Outcome::written;
  }
  co_return answer.error().already_exists() ? Outcome::again : without_answer(answer.error());
}

Task<Ledger::Outcome> Ledger::write_once() {
  last_write_ = loop_.now();
  const LedgerRecord record = snapshot();
  if (version_.empty()) co_return co_await read_back(record.write);
  const auto answer = co_await client_.patch(options_->resource, options_->ns, options_->name, kube::PatchType::merge,
                                             body(record, false));
  last_took_ = loop_.now() - last_write_;
  if (answer) {
    accept(*answer, record);
    co_return Outcome::written;
  }
  const kube::ApiError& error = answer.error();
  if (error.conflict() || error.ambiguous() || error.not_found()) {
    conflicts_.add();
    co_return co_await read_back(record.write);
  }
  co_return without_answer(error);
}

// Reads what is stored, makes it ours and writes it under a new epoch; under the same one if it has been ours all
// along and only the rights on it were missing for a while.
Task<Ledger::Outcome> Ledger::adopt() {
  const auto answer = co_await client_.get(options_->resource, options_->ns, options_->name);
  last_write_ = loop_.now();
  if (!answer) {
    if (answer.error().not_found()) {
      if (!owned_) ++epoch_;
      co_return co_await recreate();
    }
    co_return without_answer(answer.error());
  }
  const auto object = read_object(*answer);
  if (!object) co_return Outcome::again;
  version_ = object->version;
  if (object->record) {
    const auto found = LedgerRecord::parse(*object->record);
    if (!found) {
      log_.warn("the budget ledger is damaged; it is written anew from the nodes", "cause", found.error());
    } else if (!owned_) {
      for (const auto& [key, admission] : found->admitted) inherit(admission);
      epoch_ = std::max(epoch_, found->epoch);
      inherited_.notify();
      heirs_.tell();
    } else if (is_foreign(*found)) {
      fence(*found);
      co_return Outcome::fenced;
    }
  }
  if (!owned_) ++epoch_;
  const LedgerRecord record = snapshot();
  const auto written = co_await client_.patch(options_->resource, options_->ns, options_->name, kube::PatchType::merge,
                                              body(record, false));
  if (written) {
    accept(*written, record);
    co_return Outcome::written;
  }
  // After a conflict, or no answer: read again, with an epoch higher still.
  if (written.error().conflict()) co_return Outcome::again;
  co_return without_answer(written.error());
}

Task<void> Ledger::take_over() {
  if (!options_) co_return;
  while (co_await adopt() == Outcome::again) co_await io::sleep_for(loop_, kRetry);
}

Task<void> Ledger::run() {
  if (!options_) co_return;
  while (!fenced_) {
    co_await wake_.wait();
    const io::Duration apart = std::clamp(8 * last_took_, options_->least_spacing, options_->spacing);
    const io::Steady earliest = last_write_ + (in_memory_ ? kRetryInMemory : apart);
    if (loop_.now() < earliest) co_await io::sleep_until(loop_, earliest);
    const bool untidy = stored_.size() > entries_.size();
    if (!dirty() && !untidy && !adopts_) continue;
    tidy_.cancel();
    const Outcome outcome = adopts_ ? co_await adopt() : co_await write_once();
    if (outcome == Outcome::again) {
      co_await io::sleep_for(loop_, kRetry);
      wake_.notify();
    } else if (dirty()) {
      wake_.notify();
    }
  }
}

}  // namespace careen::budget
