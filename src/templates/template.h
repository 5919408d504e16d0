// Message templates: the language of Go's text/template over the data of a message, with the node under its Go field
// names. A template is parsed and checked once, when the configuration is loaded, and rendered for each message.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "io/result.h"
#include "templates/analysis.h"
#include "templates/data.h"
#include "templates/error.h"

namespace careen::templates {

class Template {
 public:
  // Refuses what Go refuses at parsing.
  static tl::expected<Template, TemplateError> parse(std::string_view text);

  // What parses but is certain to fail where it is reached: unknown fields and the like. Each says whether every
  // message comes to it.
  const std::vector<TemplateError>& problems() const;
  // What of the node it needs.
  const NodeFields& fields() const;

  // The message; or why there is none, beginning with line and column. Bounded in time and length.
  io::Result<std::string> render(const TemplateData& data) const;

 private:
  struct Parsed;
  explicit Template(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}

  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace careen::templates
