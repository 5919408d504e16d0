// Why: the tree of reasons behind a decision. Logs, events, explanations and plans print this one tree.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace careen {

struct Why {
  enum class Verdict { yes, no, error, note };
  // What programs ask about a reason. Its text is for people, and may change.
  enum class Code { none, paused, no_place };
  Verdict verdict = Verdict::note;
  std::string text;
  std::vector<Why> children;
  Code code = Code::none;

  Why& add(Verdict child_verdict, std::string child_text, Code child_code = Code::none) {
    children.push_back({child_verdict, std::move(child_text), {}, child_code});
    return children.back();
  }
};

// One line a reason, indented by depth: "+ yes", "- no", "! error", "  note".
std::string to_text(const Why& why);
// As documents have it.
void append_why(std::string& out, const Why& why);

}  // namespace careen
