// Executes the tree of a template over the data of a message.
#pragma once

#include <string>

#include "templates/data.h"
#include "templates/syntax.h"

namespace careen::templates {

// Throws TemplateFailure: where the template fails as it would in Go, and where it does not come to an end within
// bounds (output, steps, templates inside each other).
std::string execute(const Program& program, const TemplateData& data);

}  // namespace careen::templates
