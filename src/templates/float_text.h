// Floating-point numbers as text in Go's formats.
#pragma once

#include <string>

namespace careen::templates {

// verb: one of e E f g G x X b; precision -1: as few digits as tell the number from its neighbours. Begins with a minus
// where the number is negative, never with a plus.
std::string float_text(double value, char verb, int precision);

}  // namespace careen::templates
