#include "budget/claim.h"

#include "budget/admission.h"

namespace careen::budget {

std::string_view name_of(Claim::Stage stage) {
  switch (stage) {
    case Claim::Stage::admitted:
      return "admitted";
    case Claim::Stage::begun:
      return "begun";
    case Claim::Stage::out:
      break;
  }
  return "out";
}

Claim claim_of(const Admission& admission) {
  const bool begun = admission.drains || !admission.leases.empty();
  return {.who = admission.by,
          .node = admission.node,
          .uid = admission.uid,
          .since = admission.since,
          .stage = begun ? Claim::Stage::begun : Claim::Stage::admitted};
}

}  // namespace careen::budget
