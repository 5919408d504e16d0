#include "app/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "app/environment.h"
#include "app/terminal.h"

namespace careen::app {

namespace {

// Whole, also if the reader is slow; a reader that is gone ends us by SIGPIPE, as it shall.
std::function<void(std::string_view)> writer(std::FILE* stream) {
  return [stream](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
  };
}

// Where there is no terminal the user may name a width: a pager's, say.
ScreenSize wanted_size() {
  ScreenSize size;
  const std::string columns = read_environment("COLUMNS").value_or("");
  size_t width = 0;
  const auto [end, failed] = std::from_chars(columns.data(), columns.data() + columns.size(), width);
  if (failed == std::errc{} && end == columns.data() + columns.size() && width > 0) size.width = width;
  return size;
}

ScreenSize terminal_size() {
  winsize found{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) return wanted_size();
  return {found.ws_col, found.ws_row};
}

bool speaks_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = read_environment(name);
    if (!value || value->empty()) continue;
    return value->find("UTF-8") != std::string::npos || value->find("utf8") != std::string::npos;
  }
  return false;
}

bool is_dumb() { return read_environment("TERM").value_or("dumb") == "dumb"; }

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::bold:
      return "1";
    case Colour::dim:
      return "2";
    case Colour::red:
      return "31";
    case Colour::bold_red:
      return "1;31";
    case Colour::blue:
      return "34";
    case Colour::green:
      return "32";
    case Colour::yellow:
      return "33";
    case Colour::plain:
      break;
  }
  return "";
}

std::string painted(Colour colour, std::string_view text) {
  const std::string_view code = code_of(colour);
  if (code.empty() || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace

ScreenOptions process_screen() {
  return {.out = writer(stdout),
          .err = writer(stderr),
          .size = terminal_size,
          .live = ::isatty(STDOUT_FILENO) == 1 && !is_dumb(),
          .colours = shows_colours(stdout) && !is_dumb(),
          .err_colours = shows_colours(stderr) && !is_dumb(),
          .unicode = speaks_unicode()};
}

std::string Screen::paint(Colour colour, std::string_view text) const {
  return options_.colours ? painted(colour, text) : std::string(text);
}

std::string Screen::erased() {
  if (live_lines_.empty()) return {};
  return fmt::format("\x1b[{}A\r\x1b[J", live_lines_.size());
}

void Screen::print(const std::function<void(std::string_view)>& stream, std::string text) {
  text += '\n';
  if (live_lines_.empty()) return stream(text);
  // The line takes the place of the live ones, which move down.
  options_.out(erased());
  stream(text);
  std::string below;
  for (const std::string& line : live_lines_) below += line + "\n";
  options_.out(below);
}

void Screen::line(std::string_view text) { print(options_.out, std::string(text)); }
void Screen::note(std::string_view text) { print(options_.err, std::string(text)); }

void Screen::remark(std::string_view text) {
  note(options_.err_colours ? painted(Colour::dim, text) : std::string(text));
}

void Screen::warning(std::string_view text) {
  note(fmt::format("{} {}", options_.err_colours ? painted(Colour::yellow, "Warning:") : "Warning:", text));
}

void Screen::error(std::string_view text) {
  note(fmt::format("{} {}", options_.err_colours ? painted(Colour::red, "error:") : "error:", text));
}

void Screen::redraw(std::vector<std::string> lines) {
  if (!options_.live || lines == live_lines_) return;
  std::string text = erased();
  for (const std::string& line : lines) text += line + "\n";
  live_lines_ = std::move(lines);
  options_.out(text);
}

void Screen::freeze() { live_lines_.clear(); }

}  // namespace careen::app
