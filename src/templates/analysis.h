// What can be said about a template without data, by following the types through it: the parts of the node it reads,
// and what is certain to fail where it is reached.
#pragma once

#include <string>
#include <vector>

#include "templates/error.h"
#include "templates/syntax.h"

namespace careen::templates {

// The parts of a node that a template needs, so that no more of it has to be kept.
struct NodeFields {
  // Everything: the template uses the node, its spec or its status as such, or in a way that cannot be followed.
  bool whole = false;
  // Otherwise these sections, as JSON pointers such as /metadata/labels or /status/nodeInfo; sorted, each once.
  std::vector<std::string> sections;
};

struct Findings {
  NodeFields fields;
  std::vector<TemplateError> problems;
};

Findings analyse(const Program& program);

}  // namespace careen::templates
