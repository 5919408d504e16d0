#include "cli/why_tree.h"

#include "cli/terminal_table.h"
#include "cli/text_wrap.h"

namespace careen::app {

using kube::JsonView;

namespace {

std::string_view verdict_of(JsonView why) { return why["verdict"].text().value_or("note"); }

bool fails(JsonView why) { return verdict_of(why) == "no" || verdict_of(why) == "error"; }

bool some_child_fails(JsonView why) {
  bool found = false;
  why["children"].for_each_element([&](JsonView child) { found = found || fails(child); });
  return found;
}

class Tree {
 public:
  Tree(const Screen& screen, size_t width) : screen_(screen), width_(width), branches_(branches(screen)) {}

  // `first` stands before the first line, `rest` before those that follow; `decisive`: this reason is on the way to
  // the leaves that make the root fail.
  void add(JsonView why, const std::string& first, const std::string& rest, bool decisive) {
    const bool leaf = why["children"].size() == 0;
    add_text(why, first, rest + (leaf ? "  " : std::string(branches_.past)), decisive && leaf);
    add_children(why, rest, decisive);
  }

  void add_children(JsonView why, const std::string& rest, bool decisive) {
    const size_t children = why["children"].size();
    // Where all children hold and the whole does not (a negation), what holds is to blame.
    const bool blame_all = decisive && !some_child_fails(why);
    for (size_t index = 0; index < children; ++index) {
      const JsonView child = why["children"][index];
      const bool last = index + 1 == children;
      add(child, rest + std::string(last ? branches_.last : branches_.middle),
          rest + (last ? "   " : std::string(branches_.past)), blame_all || (decisive && fails(child)));
    }
  }

  std::vector<Line> lines;

 private:
  void add_text(JsonView why, const std::string& first, const std::string& rest, bool highlighted) {
    const Line mark = verdict_mark(screen_, verdict_of(why)) + " ";
    const size_t before = std::max(text_width(first) + 2, text_width(rest));
    const std::vector<std::string> parts =
        wrap(why["text"].text().value_or(""), width_ > before + 20 ? width_ - before : 20);
    for (size_t index = 0; index < parts.size(); ++index) {
      const Line painted = screen_.paint(highlighted ? Colour::bold_red : Colour::plain, parts[index]);
      lines.push_back(index == 0 ? screen_.paint(Colour::dim, first) + mark + painted
                                 : screen_.paint(Colour::dim, rest) + painted);
    }
  }

  const Screen& screen_;
  size_t width_;
  Branches branches_;
};

}  // namespace

Colour verdict_colour(std::string_view verdict) {
  if (verdict == "yes") return Colour::green;
  if (verdict == "no") return Colour::red;
  return verdict == "error" ? Colour::yellow : Colour::dim;
}

Line verdict_mark(const Screen& screen, std::string_view verdict) {
  const bool unicode = screen.unicode();
  const std::string_view mark = verdict == "yes"     ? (unicode ? "✓" : "+")
                                : verdict == "no"    ? (unicode ? "✗" : "x")
                                : verdict == "error" ? "!"
                                                     : (unicode ? "·" : "-");
  return screen.paint(verdict_colour(verdict), mark);
}

Branches branches(const Screen& screen) {
  if (screen.unicode()) return {"├─ ", "└─ ", "│  "};
  return {"|- ", "`- ", "|  "};
}

std::vector<Line> why_lines(JsonView why, const Screen& screen, const std::string& indent, size_t width,
                            std::string_view told) {
  Tree tree(screen, width);
  if (why["children"].size() > 0 && why["text"].text() == told) {
    tree.add_children(why, indent, fails(why));
  } else {
    tree.add(why, indent, indent, fails(why));
  }
  return std::move(tree.lines);
}

}  // namespace careen::app
