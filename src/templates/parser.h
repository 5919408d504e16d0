// Reads the text of a template into its tree, and refuses at once what Go's text/template refuses at parsing.
#pragma once

#include <span>
#include <string_view>

#include "templates/syntax.h"

namespace careen::templates {

// Throws TemplateFailure.
Program parse_program(std::string_view text);

}  // namespace careen::templates
