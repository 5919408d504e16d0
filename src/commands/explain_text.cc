#include "commands/explain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/terminal_table.h"
#include "cli/text_wrap.h"
#include "cli/why_tree.h"
#include "commands/view_words.h"
#include "controllers/slot/kind.h"
#include "replica/controllers.h"

namespace careen::app {

using kube::JsonView;

namespace {

constexpr size_t kTimelineShown = 8;
constexpr size_t kPodsShown = 12;
constexpr size_t kDrainBarWidth = 20;
constexpr size_t kNarrowest = 40;

// Labels that every node has, or that are shown in another way.
bool is_noise(std::string_view key) {
  return key.starts_with("beta.kubernetes.io/") || key.starts_with("kubernetes.io/") ||
         key.starts_with("cloud.sap/maintenance-");
}

class Page {
 public:
  Page(JsonView story, const Screen& screen)
      : story_(story),
        screen_(screen),
        now_(time_of(story["time"]).value_or(io::Wall{})),
        width_(std::max(screen.size().width, kNarrowest)) {}

  std::vector<Line> lines() {
    if (story_["kind"].exists()) return lines_of_object();
    add_header();
    story_["pauses"].for_each_element([this](JsonView pause) {
      add_text("", verdict_mark(screen_, "error") + " ", pause_text(pause, now_), Colour::yellow);
    });
    if (story_["profiles"].size() == 0) {
      blank();
      add_text("", "", "No profile concerns this node.");
    }
    story_["profiles"].for_each_element([this](JsonView profile) { add_profile(profile); });
    story_["drains"].for_each_element([this](JsonView drain) { add_drain(drain); });
    add_objects();
    add_limits();
    add_pending();
    add_timeline();
    return std::move(lines_);
  }

 private:
  void blank() { lines_.emplace_back(); }

  // Of one that is about no node of this cluster, and tells everything itself.
  std::vector<Line> lines_of_object() {
    std::string kind = shown(story_["kind"]);
    std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return std::tolower(c); });
    Line header = screen_.paint(Colour::bold, kind + "/" + shown(story_["name"])) + "  ";
    header += shown(story_["phase"]);
    lines_.push_back(std::move(header));
    constexpr std::pair<const char*, const char*> kFacts[] = {
        {"cluster", "cluster"}, {"nodeName", "node"}, {"host", "host"}};
    for (const auto& [key, name] : kFacts) {
      if (story_[key].exists()) add_fact("  ", name, shown(story_[key]));
    }
    for (const auto& [key, name] : {std::pair{"deleting", "deleted"}, std::pair{"heldSince", "held"}}) {
      if (story_[key].exists()) add_fact("  ", name, "since " + when_text(story_[key], now_));
    }
    if (const std::string error = shown(story_["error"]); !error.empty()) {
      add_text("  ", verdict_mark(screen_, "error") + " ", error, Colour::yellow);
    }
    blank();
    const auto tree = why_lines(story_["why"], screen_, "", width_);
    lines_.insert(lines_.end(), tree.begin(), tree.end());
    return std::move(lines_);
  }

  // `head` once, then the text in as many lines as it needs.
  void add_text(const std::string& indent, const Line& head, const std::string& text, Colour colour = Colour::plain) {
    const size_t before = text_width(indent) + head.width();
    const size_t room = width_ > before + kNarrowest / 2 ? width_ - before : kNarrowest / 2;
    bool first = true;
    for (const std::string& part : wrap(text, room)) {
      const Line start = first ? indent + head : Line(std::string(before, ' '));
      lines_.push_back(start + screen_.paint(colour, part));
      first = false;
    }
  }

  // A name and a value in two columns.
  void add_fact(const std::string& indent, const std::string& name, const std::string& text,
                Colour colour = Colour::plain) {
    constexpr size_t kColumn = 12;
    add_text(indent, screen_.paint(Colour::dim, pad(name, kColumn)), text, colour);
  }

  void add_header() {
    const bool ready = story_["ready"].boolean().value_or(false);
    const bool cordoned = story_["cordoned"].boolean().value_or(false);
    const std::string name = "node/" + shown(story_["node"]);
    Line header = screen_.paint(Colour::bold, name) + "  ";
    header += ready ? screen_.paint(Colour::green, "ready") : screen_.paint(Colour::red, "not ready");
    if (cordoned) header += ", " + screen_.paint(Colour::yellow, "cordoned");
    lines_.push_back(std::move(header));
    std::string labels;
    story_["labels"].for_each_member([&](std::string_view key, JsonView value) {
      if (is_noise(key)) return;
      labels += fmt::format("{}{}={}", labels.empty() ? "" : ", ", key, shown(value));
    });
    if (!labels.empty()) add_fact("  ", "labels", labels);
    if (story_["taints"].size() > 0) add_fact("  ", "taints", list_text(story_["taints"], 10));
    story_["holds"].for_each_element([this](JsonView hold) {
      add_fact("  ", "held by",
               fmt::format("{} since {}: {}", shown(hold["owner"]), when_text(hold["since"], now_),
                           list_text(hold["items"], 10)));
    });
  }

  void add_profile(JsonView profile) {
    blank();
    const std::string name = shown(profile["name"]);
    std::string state = shown(profile["state"]);
    if (profile["since"].exists()) state += " since " + when_text(profile["since"], now_);
    add_text("", screen_.paint(Colour::dim, "profile") + " " + screen_.paint(Colour::bold, name) + ": ", state);
    if (const std::string summary = shown(profile["summary"]); !summary.empty()) add_text("  ", "", summary);
    if (const std::string error = shown(profile["error"]); !error.empty()) {
      add_text("  ", verdict_mark(screen_, "error") + " ", error, Colour::yellow);
    }
    if (profile["wake"].exists()) add_fact("  ", "next change", when_text(profile["wake"], now_));
    profile["transitions"].for_each_element([this](JsonView transition) { add_transition(transition); });
  }

  void add_transition(JsonView transition) {
    const bool passed = transition["passed"].boolean().value_or(false);
    const std::string blocked = shown(transition["blocked"]);
    const std::string_view verdict = transition["error"].exists() ? "error" : passed && blocked.empty() ? "yes" : "no";
    const std::string arrow = screen_.unicode() ? "→" : "->";
    const std::string target = fmt::format("{} {}", arrow, shown(transition["target"]));
    const std::string expression = shown(transition["expression"]);
    add_text("  ", verdict_mark(screen_, verdict) + " " + screen_.paint(Colour::bold, target) + " ",
             expression.empty() ? "" : "if " + expression);
    const auto tree = why_lines(transition["why"], screen_, "    ", width_, expression);
    lines_.insert(lines_.end(), tree.begin(), tree.end());
    const std::string error = shown(transition["error"]);
    if (!error.empty()) add_fact("    ", "error", error, Colour::yellow);
    if (!blocked.empty()) add_fact("    ", "but", blocked, Colour::bold_red);
    if (const std::string then = shown(transition["triggers"]); !then.empty()) add_fact("    ", "then", then);
  }

  void add_drain(JsonView drain) {
    blank();
    const int64_t total = count_of(drain["total"]), left = count_of(drain["left"]);
    add_text("", screen_.paint(Colour::bold, "drain") + " ",
             fmt::format("for {}: {} since {}", shown(drain["owner"]), shown(drain["phase"]),
                         when_text(drain["begun"], now_)));
    const double share = static_cast<double>(count_of(drain["percent"])) / 100;
    lines_.push_back("  " + bar_text(screen_, kDrainBarWidth, share, Colour::green) +
                     fmt::format(" {} %, {} of {} left", count_of(drain["percent"]), left,
                                 count_text(static_cast<size_t>(total), "pod")));
    add_pods(drain["pods"], left);
    drain["errors"].for_each_element(
        [this](JsonView error) { add_text("  ", verdict_mark(screen_, "error") + " ", shown(error), Colour::yellow); });
  }

  void add_pods(JsonView pods, int64_t left) {
    const Branches drawn = branches(screen_);
    const size_t count = std::min(pods.size(), kPodsShown);
    const bool more = left > static_cast<int64_t>(count);
    for (size_t index = 0; index < count; ++index) {
      const JsonView pod = pods[index];
      const std::string stage = shown(pod["stage"]);
      const bool held = stage == "blocked" || stage == "failed" || pod["budget"].exists();
      const bool last = index + 1 == count && !more;
      const Line branch = screen_.paint(Colour::dim, last ? drawn.last : drawn.middle);
      const Line mark = verdict_mark(screen_, held ? "no" : "note");
      const auto since = time_of(pod["since"]);
      const std::string age = since ? " for " + age_text(now_ - *since) : "";
      const std::string text =
          fmt::format("{}/{}: {}{}: {}", shown(pod["namespace"]), shown(pod["name"]), stage, age, shown(pod["reason"]));
      add_text("  ", branch + mark + " ", text, held ? Colour::bold_red : Colour::plain);
    }
    if (more) {
      const auto rest = static_cast<size_t>(left) - count;
      lines_.push_back("  " + screen_.paint(Colour::dim, drawn.last) + fmt::format("{} more", rest));
    }
  }

  void add_objects() {
    for (const controllers::Kind* kind : replica::object_kinds()) add_objects(*kind);
  }

  void add_objects(const controllers::Kind& kind) {
    story_[kind.section].for_each_element([&](JsonView object) {
      blank();
      std::string text = shown(object["phase"]);
      if (object["percent"].exists()) text += fmt::format(", {} %", count_of(object["percent"]));
      if (object["pending"].exists()) {
        text += fmt::format(", {} left", count_text(static_cast<size_t>(count_of(object["pending"])), "pod"));
      }
      if (object["since"].exists()) text += " since " + when_text(object["since"], now_);
      const std::string name = std::string(kind.name) + "/" + shown(object["name"]);
      add_text("", screen_.paint(Colour::bold, name) + ": ", text);
      if (const std::string reason = shown(object["reason"]); !reason.empty()) add_fact("  ", "reason", reason);
      if (const std::string waits = shown(object["waits"]); !waits.empty()) add_fact("  ", "waits", waits);
      const std::string error = shown(object["error"]);
      if (!error.empty()) add_text("  ", verdict_mark(screen_, "error") + " ", error, Colour::yellow);
    });
  }

  void add_limits() {
    if (story_["limits"].size() == 0) return;
    blank();
    lines_.push_back(screen_.paint(Colour::bold, "limits over all actors"));
    story_["limits"].for_each_element([this](JsonView reason) {
      const auto tree = why_lines(reason, screen_, "  ", width_);
      lines_.insert(lines_.end(), tree.begin(), tree.end());
    });
  }

  void add_pending() {
    if (story_["pending"].size() == 0) return;
    blank();
    lines_.push_back(screen_.paint(Colour::bold, "notifications that are not sent yet"));
    story_["pending"].for_each_element([this](JsonView pending) {
      const std::string error = shown(pending["error"]);
      add_text("  ", verdict_mark(screen_, error.empty() ? "note" : "error") + " ",
               fmt::format("{} of profile {}, due {}, {}{}{}", shown(pending["instance"]), shown(pending["profile"]),
                           when_text(pending["since"], now_),
                           count_text(static_cast<size_t>(count_of(pending["attempts"])), "attempt"),
                           error.empty() ? "" : ": ", error));
    });
  }

  void add_timeline() {
    const JsonView timeline = story_["timeline"];
    const size_t size = timeline.size();
    if (size == 0) return;
    blank();
    lines_.push_back(screen_.paint(Colour::bold, "recently"));
    for (size_t index = size - std::min(size, kTimelineShown); index < size; ++index) {
      const JsonView entry = timeline[index];
      const auto at = time_of(entry["time"]);
      const std::string time = at ? io::format_rfc3339(std::chrono::floor<io::seconds>(*at)) : "";
      add_text("  ", screen_.paint(Colour::dim, time) + "  ", shown(entry["text"]),
               shown(entry["kind"]) == "error" ? Colour::yellow : Colour::plain);
    }
  }

  JsonView story_;
  const Screen& screen_;
  io::Wall now_;
  size_t width_;
  std::vector<Line> lines_;
};

}  // namespace

std::vector<Line> explain_lines(JsonView story, const Screen& screen) { return Page(story, screen).lines(); }

}  // namespace careen::app
