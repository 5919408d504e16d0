#include "plan/node_story.h"

#include "controllers/profiles/drains.h"
#include "controllers/profiles/names.h"
#include "drain/holds.h"
#include "sim/value.h"

namespace careen::plan {

namespace {

// The value of an annotation as it stands in the node's text, with its quotes and escapes; empty when it is not there.
// Reading every node whole would take longer than everything else a plan does.
std::string_view raw_annotation(std::string_view node, std::string_view name) {
  const std::string start = "\"" + std::string(name) + "\":\"";
  const size_t at = sim::find_text(node, start);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + start.size() - 1;
  for (size_t end = begin + 1; end < node.size(); ++end) {
    if (node[end] == '\\') {
      ++end;
    } else if (node[end] == '"') {
      return node.substr(begin, end + 1 - begin);
    }
  }
  return {};
}

std::string text_of(std::string_view raw) {
  const auto value = sim::parse(raw);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool is_same(const sim::Text& before, const sim::Text& after, std::string_view name) {
  return before && raw_annotation(*before, name) == raw_annotation(*after, name);
}

}  // namespace

NodeStory read_story(const std::string& node) {
  NodeStory story;
  if (const auto raw = raw_annotation(node, profiles::kDataAnnotation); !raw.empty()) {
    if (auto data = profiles::parse_node_data(text_of(raw))) story.profiles = std::move(data->profiles);
  }
  const auto raw = raw_annotation(node, drain::kHoldsAnnotation);
  if (raw.empty()) return story;
  const auto holds = drain::Holds::parse(text_of(raw));
  if (!holds) return story;
  for (const auto& [profile, data] : story.profiles) {
    const auto hold = holds->by_owner.find(profiles::beginner_name(profile));
    if (hold != holds->by_owner.end()) story.begun[profile] = hold->second.since;
  }
  return story;
}

void follow_stories(sim::ApiServer& api, std::function<void(const std::string& node, const NodeStory&)> listener) {
  api.observe([listener = std::move(listener)](const sim::Change& change) {
    if (change.collection != "/api/v1/nodes") return;
    if (change.type == sim::Change::Type::deleted) return listener(change.name, {});
    if (is_same(change.before, change.object, profiles::kDataAnnotation) &&
        is_same(change.before, change.object, drain::kHoldsAnnotation)) {
      return;
    }
    listener(change.name, read_story(*change.object));
  });
}

}  // namespace careen::plan
