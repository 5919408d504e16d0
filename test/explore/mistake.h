// Which mistake careen makes in this program. explore itself is linked with careen as it is and knows none;
// explore_mistaken is linked with copies of a few sources in which mistakes.py has put some.
#pragma once

#include <string>
#include <vector>

namespace careen::explore {

// Their names; empty when careen is as it is.
std::vector<std::string> mistakes();
// From now on this one; "" for none.
void make_mistake(const std::string& name);

}  // namespace careen::explore
