// What is checked of every write before its object is looked at: the type of its body, and the options of its query.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/query.h"
#include "sim/status.h"

namespace careen::sim {

std::optional<Failure> wrong_body_type(const std::string& content_type);
// The kind of the options is theirs: CreateOptions, UpdateOptions, PatchOptions.
std::optional<Failure> wrong_write_options(const io::Query& query, std::string_view kind, bool applies);

}  // namespace careen::sim
