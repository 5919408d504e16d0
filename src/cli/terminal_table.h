// Text for people at a terminal, in the style they know from kubectl: tables, ages, and lines that fit the width.
// All are pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::app {

using Row = std::vector<std::string>;

// A line for each row, columns aligned and three spaces apart; an empty cell is shown as "-".
std::vector<std::string> table_lines(const Row& header, const std::vector<Row>& rows);

// As kubectl prints ages: 41s, 2m5s, 3h, 4d6h.
std::string age_text(io::Duration age);

// In characters, not bytes, as a Screen shows the text.
size_t text_width(std::string_view text);
// Of its first characters.
size_t bytes_of(std::string_view text, size_t characters);
// The text, or its beginning with "…" at the end, in at most `width` characters.
std::string fit(std::string_view text, size_t width);
std::string pad(std::string_view text, size_t width);
// 1 pod, 2 pods
std::string count_text(size_t count, std::string_view thing);

}  // namespace careen::app
