#include "cli/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "cli/environment.h"
#include "cli/terminal.h"
#include "cli/terminal_table.h"
#include "io/printable.h"

namespace careen::app {

namespace {

// Whole, even if the reader is slow; a reader that is gone ends us by SIGPIPE, as it should.
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
    case Colour::bold_green:
      return "1;32";
    case Colour::yellow:
      return "33";
    case Colour::bold_yellow:
      return "1;33";
    case Colour::plain:
      break;
  }
  return "";
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

Line::Line(std::string_view text) : text_(io::printable(text)), width_(text_width(text_)) {}

Line& Line::operator+=(const Line& more) {
  text_ += more.text_;
  width_ += more.width_;
  return *this;
}

Line Screen::painted(bool colours, Colour colour, std::string_view text) {
  Line line(text);
  const std::string_view code = code_of(colour);
  if (colours && !code.empty() && !line.empty()) line.text_ = fmt::format("\x1b[{}m{}\x1b[0m", code, line.text_);
  return line;
}

Line Screen::paint(Colour colour, std::string_view text) const { return painted(options_.colours, colour, text); }
Line Screen::paint_err(Colour colour, std::string_view text) const {
  return painted(options_.err_colours, colour, text);
}

std::string Screen::erased() {
  if (live_lines_.empty()) return {};
  return fmt::format("\x1b[{}A\r\x1b[J", live_lines_.size());
}

void Screen::print(const std::function<void(std::string_view)>& stream, const Line& text) {
  if (live_lines_.empty()) return stream(text.text() + "\n");
  // The line takes the place of the live ones, which move down.
  options_.out(erased());
  stream(text.text() + "\n");
  std::string below;
  for (const Line& line : live_lines_) below += line.text() + "\n";
  options_.out(below);
}

void Screen::print_marked(const Line& mark, std::string_view text) {
  Line before = mark + " ";
  for (size_t end = 0; end != std::string_view::npos; before = "  ") {
    end = text.find('\n');
    note(before + text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
}

void Screen::line(const Line& text) { print(options_.out, text); }
void Screen::note(const Line& text) { print(options_.err, text); }
void Screen::remark(std::string_view text) { note(paint_err(Colour::dim, text)); }
void Screen::warning(std::string_view text) { print_marked(paint_err(Colour::yellow, "Warning:"), text); }
void Screen::error(std::string_view text) { print_marked(paint_err(Colour::red, "error:"), text); }

void Screen::document(std::string_view text) {
  options_.out(io::escaped_document(text) + (text.ends_with('\n') ? "" : "\n"));
}

void Screen::redraw(std::vector<Line> lines) {
  if (!options_.live || lines == live_lines_) return;
  std::string text = erased();
  for (const Line& line : lines) text += line.text() + "\n";
  live_lines_ = std::move(lines);
  options_.out(text);
}

void Screen::freeze() { live_lines_.clear(); }

// The alternate screen, without a cursor.
void Screen::take_terminal() { options_.out("\x1b[?1049h\x1b[?25l\x1b[2J"); }
void Screen::give_terminal_back() { options_.out("\x1b[?25h\x1b[?1049l"); }

void Screen::fill_terminal(const std::vector<Line>& lines) {
  std::string text = "\x1b[H";
  for (size_t index = 0; index < lines.size(); ++index) {
    text += (index > 0 ? "\r\n" : "") + lines[index].text() + "\x1b[K";
  }
  options_.out(text + "\x1b[J");
}

}  // namespace careen::app
