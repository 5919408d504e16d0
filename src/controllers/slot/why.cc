#include "controllers/slot/why.h"

#include "kube/json_writer.h"

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

std::string_view verdict_text(Why::Verdict verdict) {
  switch (verdict) {
    case Why::Verdict::yes:
      return "yes";
    case Why::Verdict::no:
      return "no";
    case Why::Verdict::error:
      return "error";
    case Why::Verdict::note:
      break;
  }
  return "note";
}

}  // namespace

void append_why(std::string& out, const Why& why) {
  kube::Members members(out, '{', '}');
  kube::append_json(members.next("verdict"), verdict_text(why.verdict));
  kube::append_json(members.next("text"), why.text);
  if (why.children.empty()) return;
  kube::Members children(members.next("children"), '[', ']');
  for (const Why& child : why.children) append_why(children.next(), child);
}

std::string to_text(const Why& why) {
  std::string out;
  print(why, 0, out);
  return out;
}

}  // namespace careen
