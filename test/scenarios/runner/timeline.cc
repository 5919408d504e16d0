#include "timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "words.h"

namespace careen::scenarios {

namespace {

// Two lines about the same time show it once.
void print(const Moment& moment, std::string& last_time, std::string& out) {
  const std::string time = format_span(moment.at.time_since_epoch());
  const std::string what = moment.node.empty() ? moment.what : fmt::format("{}  {}", moment.node, moment.what);
  out += fmt::format("  {:<12} {:<9} {}\n", time == last_time ? "" : time, moment.who, what);
  if (moment.repeated > 0) {
    out += fmt::format("  {:<12} {:<9}   {} more {} until {}\n", "", "", moment.repeated,
                       moment.repeated == 1 ? "time" : "times", format_span(moment.last.time_since_epoch()));
  }
  for (const std::string& detail : moment.details) out += fmt::format("  {:<12} {:<9}   {}\n", "", "", detail);
  last_time = time;
}

std::string left_out(size_t count) {
  if (count == 0) return {};
  return fmt::format("  … {} earlier {}\n", count, count == 1 ? "line" : "lines");
}

}  // namespace

void Timeline::add(Moment moment) {
  if (!moments_.empty()) {
    Moment& before = moments_.back();
    if (before.who == moment.who && before.what == moment.what && before.node == moment.node &&
        before.details == moment.details) {
      ++before.repeated;
      before.last = moment.at;
      return;
    }
  }
  moments_.push_back(std::move(moment));
}

std::string Timeline::text() const {
  std::string out, last_time;
  for (const Moment& moment : moments_) print(moment, last_time, out);
  return out;
}

std::string Timeline::latest(const std::set<std::string>& nodes, size_t most) const {
  const bool few = moments_.size() <= most;
  std::vector<const Moment*> chosen;
  for (const Moment& moment : moments_) {
    if (few || nodes.empty() || moment.node.empty() || nodes.contains(moment.node)) chosen.push_back(&moment);
  }
  const size_t others = moments_.size() - chosen.size();
  const size_t first = chosen.size() > most ? chosen.size() - most : 0;
  std::string out = left_out(first), last_time;
  for (size_t i = first; i < chosen.size(); ++i) print(*chosen[i], last_time, out);
  if (others > 0) out += fmt::format("  ({} more about other nodes: --timeline shows them)\n", others);
  return out;
}

std::vector<std::string> reasons_to_move(const Why& why) {
  using Verdict = Why::Verdict;
  std::vector<std::string> out;
  for (const Why& profile : why.children) {
    // The first transition that holds is the one that was taken.
    const auto taken = std::find_if(profile.children.begin(), profile.children.end(),
                                    [](const auto& child) { return child.verdict == Verdict::yes; });
    if (taken == profile.children.end()) continue;
    std::vector<std::string> leaves;
    for (const Why& leaf : taken->children) leaves.push_back(leaf.text);
    // "to in-maintenance if needed && few": where to is said already, and an expression of one check is its name.
    const size_t condition = taken->text.find(" if ");
    const bool several = leaves.size() > 1 && condition != std::string::npos;
    out.push_back(
        fmt::format("because {}{}", several ? taken->text.substr(condition + 4) + ": " : "", fmt::join(leaves, "; ")));
  }
  return out;
}

std::string shortened(const Why& why, std::string_view indent, size_t most) {
  std::istringstream lines(to_text(why));
  std::string out, line;
  for (size_t count = 0; std::getline(lines, line); ++count) {
    if (count == most) return out + fmt::format("{}…\n", indent);
    out += fmt::format("{}{}\n", indent, line);
  }
  return out;
}

}  // namespace careen::scenarios
