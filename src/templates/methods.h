// The methods of times, taints and resource lists that templates can call.
#pragma once

#include <span>
#include <string_view>

#include "templates/value.h"

namespace careen::templates {

// Whether the method wants one text as its argument; all others want none.
bool method_takes_text(std::string_view name);
// The value has the method and is no pointer, the argument is there if it is wanted.
Value call_method(const Value& receiver, std::string_view name, std::span<const Value> arguments);
// The type of what the call gives.
const Type& method_result(const Type& type, std::string_view name);

}  // namespace careen::templates
