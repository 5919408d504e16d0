// A check expression as a tree of reasons: its operators with their verdicts, its leaves the checks with their facts.
#pragma once

#include <span>
#include <vector>

#include "controllers/profiles/expression.h"
#include "controllers/profiles/outcome.h"
#include "controllers/slot/why.h"

namespace careen::profiles {

// What is to stand below the expression's own line: the operands of the outermost &&, or the one tree there is.
// checks[i] is what the check of leaves[i] said. An operator whose operands include an error has no other verdict
// unless the rest decides it.
std::vector<Why> explain_expression(const CheckExpression& expression, std::span<const CheckOutcome> checks);

}  // namespace careen::profiles
