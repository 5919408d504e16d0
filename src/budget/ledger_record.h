// The ledger as it is stored: the text of the annotation, with the epoch and the write that it is from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "budget/admission.h"

namespace careen::budget {

struct LedgerRecord {
  uint64_t epoch = 0;                         // grows with every leader
  std::string writer;                         // that leader's identity
  uint64_t write = 0;                         // grows with every write of a process
  std::map<std::string, Admission> admitted;  // by Admission::key()

  static tl::expected<LedgerRecord, std::string> parse(std::string_view text);
  std::string text() const;
};

}  // namespace careen::budget
