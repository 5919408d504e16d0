#include "controllers/slot/why.h"

namespace careen {

namespace {
void print(const Why& why, size_t depth, std::string& out) {
  static constexpr char kMarks[] = {'+', '-', '!', ' '};
  out.append(depth * 2, ' ');
  out += kMarks[static_cast<size_t>(why.verdict)];
  out += ' ';
  out += why.text;
  out += '\n';
  for (const Why& child : why.children) print(child, depth + 1, out);
}
}  // namespace

std::string to_text(const Why& why) {
  std::string out;
  print(why, 0, out);
  return out;
}

}  // namespace careen
