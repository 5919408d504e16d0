#include "cli/terminal_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/printable.h"

namespace careen::app {

size_t text_width(std::string_view text) {
  size_t width = 0;
  for (; !text.empty(); text.remove_prefix(io::first_character(text).length)) ++width;
  return width;
}

size_t bytes_of(std::string_view text, size_t characters) {
  size_t bytes = 0;
  while (characters-- > 0 && bytes < text.size()) bytes += io::first_character(text.substr(bytes)).length;
  return bytes;
}

std::string fit(std::string_view text, size_t width) {
  if (text_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  return std::string(text.substr(0, bytes_of(text, width - 1))) + "…";
}

std::string pad(std::string_view text, size_t width) {
  const size_t own = text_width(text);
  return std::string(text) + std::string(own < width ? width - own : 0, ' ');
}

std::string count_text(size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::vector<std::string> table_lines(const Row& header, const std::vector<Row>& rows) {
  constexpr size_t kGap = 3;
  const auto cell = [](const Row& row, size_t column) -> std::string_view {
    return column >= row.size() || row[column].empty() ? "-" : std::string_view(row[column]);
  };
  std::vector<size_t> widths;
  for (size_t column = 0; column < header.size(); ++column) {
    size_t widest = text_width(header[column]);
    for (const Row& row : rows) widest = std::max(widest, text_width(cell(row, column)));
    widths.push_back(widest + kGap);
  }
  std::vector<std::string> lines;
  const auto add = [&](const Row& row) {
    std::string line;
    for (size_t column = 0; column < header.size(); ++column) {
      const bool last = column + 1 == header.size();
      line += last ? std::string(cell(row, column)) : pad(cell(row, column), widths[column]);
    }
    lines.push_back(std::move(line));
  };
  add(header);
  for (const Row& row : rows) add(row);
  return lines;
}

std::string age_text(io::Duration age) {
  const int64_t seconds = std::max<int64_t>(0, std::chrono::floor<io::seconds>(age).count());
  const int64_t minutes = seconds / 60, hours = seconds / 3600, days = hours / 24;
  const auto two = [](int64_t large, char unit, int64_t small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", large, unit) : fmt::format("{}{}{}{}", large, unit, small, small_unit);
  };
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (hours < 3) return fmt::format("{}m", minutes);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return fmt::format("{}d", days);
  if (days < 8 * 365) return two(days / 365, 'y', days % 365, 'd');
  return fmt::format("{}y", days / 365);
}

}  // namespace careen::app
