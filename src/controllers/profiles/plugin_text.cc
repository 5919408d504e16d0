#include "controllers/profiles/plugin_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/suggest.h"
#include "controllers/profiles/schedule.h"

namespace careen::profiles {

namespace {

using kube::Json;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kGap = 2;
constexpr std::string_view kExtension = "+";

struct Listed {
  std::string_view kind;   // check
  std::string_view place;  // instances.check
  const config::PluginDoc* doc;
};

std::vector<Listed> list(const PluginRegistry& registry) {
  std::vector<Listed> all;
  for (const auto& [type, plugin] : registry.checks) all.push_back({"check", "instances.check", &plugin.doc});
  for (const auto& [type, plugin] : registry.notifies) all.push_back({"notification", "instances.notify", &plugin.doc});
  for (const config::PluginDoc& doc : schedule_docs()) all.push_back({"schedule", "schedule, in a notification", &doc});
  for (const auto& [type, plugin] : registry.triggers) all.push_back({"trigger", "instances.trigger", &plugin.doc});
  return all;
}

class Paint {
 public:
  explicit Paint(Colour colour) : on_(colour == Colour::yes) {}
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string name(std::string_view text) const { return wrap("36", text); }

 private:
  std::string wrap(std::string_view code, std::string_view text) const {
    return on_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  bool on_;
};

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  if (out.size() < width) out.append(width - out.size(), ' ');
  return out;
}

// The words in lines that begin at column `from`; the first line is begun already.
std::string filled(std::string_view text, std::size_t from) {
  std::string out;
  std::size_t column = from;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > from && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(from, ' ');
      column = from;
    } else if (column > from) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

struct Row {
  std::string name;
  std::string type;
  std::string absent;  // what happens without it
  std::string text;
};

void add_rows(const std::vector<config::KeyDoc>& keys, const std::string& indentation, std::vector<Row>& rows) {
  for (const config::KeyDoc& key : keys) {
    std::string absent(key.required ? "required" : "");
    if (!key.otherwise.empty()) absent = fmt::format("default {}", key.otherwise);
    std::string text(key.text);
    if (key.type == config::KeyType::choice) text += fmt::format(": {}", config::describe_type(key));
    if (key.secret) text += " (secret)";
    const std::string mark(key.extension ? kExtension : "");
    rows.push_back({indentation + std::string(key.name) + mark,
                    key.type == config::KeyType::choice ? "choice" : config::describe_type(key), absent, text});
    add_rows(key.keys, indentation + "  ", rows);
  }
}

std::size_t widest(const std::vector<Row>& rows, std::string Row::* column) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, (row.*column).size());
  return width;
}

bool has_extension(const std::vector<config::KeyDoc>& keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [](const config::KeyDoc& key) { return key.extension || has_extension(key.keys); });
}

std::string keys_text(const std::vector<config::KeyDoc>& keys, const Paint& paint) {
  if (keys.empty()) return "  none\n";
  std::vector<Row> rows;
  add_rows(keys, "", rows);
  const std::size_t name = widest(rows, &Row::name) + kGap, type = widest(rows, &Row::type) + kGap,
                    absent = widest(rows, &Row::absent) + (widest(rows, &Row::absent) > 0 ? kGap : 0);
  std::string out;
  for (const Row& row : rows) {
    out += "  " + paint.name(padded(row.name, name)) + padded(row.type, type) + paint.dim(padded(row.absent, absent)) +
           filled(row.text, 2 + name + type + absent) + "\n";
  }
  if (has_extension(keys)) out += "\n  + careen's own: maintenance-controller ignores it\n";
  return out;
}

std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out += "  " + std::string(text.substr(0, end));
    out += "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string page(const Listed& listed, const Paint& paint) {
  return fmt::format("{} ({})\n  {}\n\n{}\n{}\n{} {}\n{}", paint.bold(listed.doc->type), listed.kind,
                     filled(listed.doc->summary, 2), paint.bold("Keys"), keys_text(listed.doc->keys, paint),
                     paint.bold("Example"), paint.dim(fmt::format("(below {})", listed.place)),
                     indented(listed.doc->example));
}

Json keys_json(const std::vector<config::KeyDoc>& keys);

Json key_json(const config::KeyDoc& key) {
  Json json = Json::object({{"name", key.name},
                            {"type", config::describe_type(key)},
                            {"description", key.text},
                            {"required", key.required}});
  if (!key.otherwise.empty()) json.set({"default"}, key.otherwise);
  if (key.secret) json.set({"secret"}, true);
  if (key.extension) json.set({"extension"}, true);
  for (std::string_view choice : key.choices) {
    Json choices(json["choices"]);
    json.set({"choices"}, std::move(choices.push_back(choice)));
  }
  if (!key.keys.empty()) json.set({"keys"}, keys_json(key.keys));
  return json;
}

Json keys_json(const std::vector<config::KeyDoc>& keys) {
  Json list = Json::array();
  for (const config::KeyDoc& key : keys) list.push_back(key_json(key));
  return list;
}

}  // namespace

std::string plugin_table(const PluginRegistry& registry, Colour colour) {
  const Paint paint(colour);
  const std::vector<Listed> all = list(registry);
  std::size_t kind = std::string_view("KIND").size(), type = std::string_view("TYPE").size();
  for (const Listed& listed : all) {
    kind = std::max(kind, listed.kind.size());
    type = std::max(type, listed.doc->type.size());
  }
  std::string out = paint.bold(padded("KIND", kind + kGap) + padded("TYPE", type + kGap) + "SUMMARY") + "\n";
  for (const Listed& listed : all) {
    out += padded(listed.kind, kind + kGap) + paint.name(padded(listed.doc->type, type + kGap)) +
           filled(listed.doc->summary, kind + type + 2 * kGap) + "\n";
  }
  return out;
}

std::optional<std::string> plugin_page(const PluginRegistry& registry, std::string_view type, Colour colour) {
  std::string out;
  for (const Listed& listed : list(registry)) {
    if (listed.doc->type == type) out += (out.empty() ? "" : "\n") + page(listed, Paint(colour));
  }
  if (out.empty()) return std::nullopt;
  return out;
}

std::string suggest_plugin(const PluginRegistry& registry, std::string_view type) {
  std::vector<std::string_view> types;
  for (const Listed& listed : list(registry)) types.push_back(listed.doc->type);
  return config::did_you_mean(type, types);
}

kube::Json plugins_json(const PluginRegistry& registry, std::string_view type) {
  Json all = Json::array();
  for (const Listed& listed : list(registry)) {
    if (!type.empty() && listed.doc->type != type) continue;
    all.push_back(Json::object({{"kind", listed.kind},
                                {"type", listed.doc->type},
                                {"summary", listed.doc->summary},
                                {"keys", keys_json(listed.doc->keys)},
                                {"example", listed.doc->example}}));
  }
  return all;
}

}  // namespace careen::profiles
