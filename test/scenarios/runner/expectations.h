// The kinds of expectations there are: what must be seen. A new kind is a function that reads its value, and a line in
// the table of expectations.cc. Names of nodes are expectations, too: `node-1..3: operational`.
#pragma once

#include <span>
#include <string_view>

#include "reading.h"
#include "stage.h"

namespace careen::scenarios {

using Check = std::function<Verdict(const Stage&, const Mark& since)>;

// Of many things that were seen instead, an answer shows at most this many.
inline constexpr size_t kMostShown = 6;

struct ExpectationKind {
  std::string_view name;
  Check (*read)(const Value& value, Reading& reading);
};
std::span<const ExpectationKind> expectation_kinds();

// A map of expectations, or a sentence that counts nodes.
std::vector<Expectation> read_expectations(const Value& value, Reading& reading);
// The same for what must not be: each holds as long as what is written does not.
std::vector<Expectation> read_forbidden(const Value& value, Reading& reading);

// On nodes (expectations_nodes.cc).
Check read_named(const std::vector<std::string>& names, const Value& value, Reading& reading);
Check read_all(const Value& value, Reading& reading);
Check read_any(const Value& value, Reading& reading);
Check read_none(const Value& value, Reading& reading);
Check read_count(const Value& value, Reading& reading);
Check read_forbidden_count(const Value& value, Reading& reading);
Check read_order(const Value& value, Reading& reading);
Check read_object(const Value& value, Reading& reading);
// On what careen did (expectations_deeds.cc).
Check read_event(const Value& value, Reading& reading);
Check read_writes(const Value& value, Reading& reading);
Check read_log(const Value& value, Reading& reading);
// On the world outside, and what careen shares with it (expectations_outside.cc).
Check read_message(const Value& value, Reading& reading);
Check read_queries(const Value& value, Reading& reading);
Check read_lease(const Value& value, Reading& reading);
// On drains, what they do to pods, and the objects that ask for them (expectations_drains.cc).
Check read_maintenance(const Value& value, Reading& reading);
Check read_pods_there(const Value& value, Reading& reading);
Check read_evictions(const Value& value, Reading& reading);
Check read_budgets_kept(const Value& value, Reading& reading);
// On careen itself (expectations_careen.cc).
Check read_metrics(const Value& value, Reading& reading);
Check read_problems(const Value& value, Reading& reading);
Check read_config(const Value& value, Reading& reading);
Check read_leader(const Value& value, Reading& reading);
Check read_replicas(const Value& value, Reading& reading);
Check read_why(const Value& value, Reading& reading);
Check read_info(const Value& value, Reading& reading);

}  // namespace careen::scenarios
