// What the API server's answer to an eviction or deletion means for the pod. A pure function.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/time.h"
#include "kube/error.h"

namespace careen::drain {

struct Answer {
  enum class Kind {
    accepted,
    gone,         // it was gone before, or another pod has its name now
    over_budget,  // a disruption budget forbids it at the moment
    several,      // more than one budget covers it
    unsupported,  // the server does not know of evictions
    refused,      // not now: a webhook that moves a virtual machine first, an overloaded server, a namespace that ends
    not_leader,   // not sent: this replica must not write
    unsure,       // it may have happened
    failed,       // anything else
  };
  Kind kind = Kind::accepted;
  std::string cause;                        // the server's words; empty when it went well
  std::optional<io::Duration> retry_after;  // asked for by the server
  // It may have been counted against its budget. The server does so before it looks whether it is the right pod.
  bool counted = true;
  // The server's last word, at which kubectl drain gives up.
  bool final = false;
};
std::string_view result_of(Answer::Kind kind);  // the label of the metric; empty for what is not counted

Answer answer_of(const kube::Result<std::string>& response);

// How long to wait before the next attempt, after `in_a_row` answers of that kind.
io::Duration pause_after(const Answer& answer, int in_a_row);

}  // namespace careen::drain
