// What a command shows: lines that stay, and below them, on a terminal, a few live lines that are redrawn in place.
// Where there is no terminal the live lines are not shown at all.
#pragma once

#include <functional>
#include <string>
#include <string_view>
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

enum class Colour { plain, bold, dim, red, bold_red, green, yellow, blue };

class Screen {
 public:
  explicit Screen(ScreenOptions options) : options_(std::move(options)) {}

  bool live() const { return options_.live; }
  bool unicode() const { return options_.unicode; }
  ScreenSize size() const { return options_.size(); }
  // The text in that colour, if colours are shown.
  std::string paint(Colour colour, std::string_view text) const;

  // A line on stdout; the others on stderr, with "Warning: " and "error: " as kubectl has them.
  void line(std::string_view text);
  void note(std::string_view text);
  // Of little weight: where something comes from.
  void remark(std::string_view text);
  void warning(std::string_view text);
  void error(std::string_view text);

  // Replaces the live lines; each must fit the width.
  void redraw(std::vector<std::string> lines);
  // Commands to the terminal, or a whole screen, as they are.
  void control(std::string_view text) { options_.out(text); }
  // What they show now stays.
  void freeze();

 private:
  std::string erased();
  void print(const std::function<void(std::string_view)>& stream, std::string text);

  ScreenOptions options_;
  std::vector<std::string> live_lines_;
};

}  // namespace careen::app
