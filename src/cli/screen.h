// What a command shows: lines that stay, and below them, on a terminal, a few live lines that are redrawn in place.
// Where there is no terminal the live lines are not shown at all. Everything that commands print goes through here, so
// that names and messages from the cluster cannot control the terminal: they become a Line first.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace careen::app {

struct ScreenSize {
  size_t width = 80, height = 24;
};

struct ScreenOptions {
  std::function<void(std::string_view)> out, err;
  std::function<ScreenSize()> size = [] { return ScreenSize{}; };
  bool live = false;     // out is a terminal
  bool colours = false;  // on out
  bool err_colours = false;
  bool unicode = false;  // block characters can be shown
};

// Of this process: stdout and stderr.
ScreenOptions process_screen();

enum class Colour { plain, bold, dim, red, bold_red, green, bold_green, yellow, bold_yellow, blue };

// A line that is ready to be shown. Any text becomes one, on one line and without what would command the terminal;
// colours are around such a text, and only a Screen puts them there.
class Line {
 public:
  Line() = default;
  Line(std::string_view text);
  Line(const std::string& text) : Line(std::string_view(text)) {}
  Line(const char* text) : Line(std::string_view(text)) {}

  bool empty() const { return text_.empty(); }
  // In characters, colours not counted.
  size_t width() const { return width_; }
  // As the terminal gets it.
  const std::string& text() const { return text_; }

  Line& operator+=(const Line& more);
  friend Line operator+(Line first, const Line& more) { return std::move(first += more); }
  friend bool operator==(const Line&, const Line&) = default;

 private:
  friend class Screen;
  std::string text_;
  size_t width_ = 0;
};

class Screen {
 public:
  explicit Screen(ScreenOptions options) : options_(std::move(options)) {}

  bool live() const { return options_.live; }
  bool unicode() const { return options_.unicode; }
  ScreenSize size() const { return options_.size(); }
  // The text in that colour, if colours are shown.
  Line paint(Colour colour, std::string_view text) const;
  Line paint_err(Colour colour, std::string_view text) const;

  // A line on stdout; the others on stderr, with "Warning: " and "error: " as kubectl has them.
  void line(const Line& text);
  void note(const Line& text);
  // Of little weight: where something comes from.
  void remark(std::string_view text);
  // These may have several lines; all but the first are indented, so that none is taken for what careen itself says.
  void warning(std::string_view text);
  void error(std::string_view text);
  // A text of many lines on stdout, in an encoding of its own such as JSON: see io::escaped_document.
  void document(std::string_view text);

  // Replaces the live lines; each must fit the width.
  void redraw(std::vector<Line> lines);
  // What they show now stays.
  void freeze();

  // The whole terminal, until it is given back; then what was there before is there again.
  void take_terminal();
  void fill_terminal(const std::vector<Line>& lines);
  void give_terminal_back();

 private:
  static Line painted(bool colours, Colour colour, std::string_view text);
  std::string erased();
  void print(const std::function<void(std::string_view)>& stream, const Line& text);
  void print_marked(const Line& mark, std::string_view text);

  ScreenOptions options_;
  std::vector<Line> live_lines_;
};

}  // namespace careen::app
