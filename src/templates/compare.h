// Equality and order of values as the comparison functions of templates define them.
#pragma once

#include "templates/value.h"

namespace careen::templates {

// Throws FunctionFailure where the values cannot be compared.
bool equal(const Value& a, const Value& b);
bool less(const Value& a, const Value& b);

}  // namespace careen::templates
