#include <charconv>

#include "sim/ask.h"
#include "sim/events.h"
#include "sim/selector.h"
#include "sim/table.h"

namespace careen::sim {

using kube::Request;
using kube::Response;

namespace {

// When the client sets no limit, as long as the server lets a watch last at least.
constexpr io::Duration kLongest = io::minutes{30};

std::string expired(uint64_t wanted, uint64_t oldest) {
  return to_text(
      {.code = 410,
       .reason = "Expired",
       .message = "too old resource version: " + std::to_string(wanted) + " (" + std::to_string(oldest) + ")"});
}

FieldErrors wrong_watch_options(const Query& query) {
  FieldErrors errors;
  const std::string_view match = query["resourceVersionMatch"];
  if (query.has("sendInitialEvents")) {
    if (match != "NotOlderThan") {
      errors.push_back(
          forbidden("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
    }
  } else if (!match.empty()) {
    errors.push_back(forbidden("resourceVersionMatch",
                               "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (!query["continue"].empty()) errors.push_back(forbidden("continue", "continue is forbidden for watch"));
  return errors;
}

}  // namespace

class HistoryWatch final : public Watch {
 public:
  struct Start {
    const Resource* resource = nullptr;
    std::string prefix{};  // of keys
    Selector selector{};
    uint64_t from = 0;
    bool initial = false;      // all objects first
    bool initial_end = false;  // and a bookmark that says so
    bool bookmarks = false;
    bool table = false;
    std::string include_object{};
    io::Steady ends{};
  };
  HistoryWatch(const ApiServer& server, Start start)
      : server_(server), resource_(*start.resource), start_(std::move(start)), seen_(start_.from) {}

  void read(std::string& into, uint64_t up_to) override {
    if (over_) return;
    const ObjectStore& store = server_.store_;
    if (seen_ < store.forgotten() && !(start_.initial && !told_initial_)) {
      line(into, "ERROR", expired(seen_, store.forgotten()));
      over_ = true;
      return;
    }
    if (start_.initial && !told_initial_) tell_initial(into);
    const Collection& collection = *resource_.collection;
    const uint64_t newest = std::min(up_to, store.version());
    // Every stream reads after every change, and hardly any is about this collection.
    if (collection.history.empty() || collection.history.back().version <= seen_) {
      seen_ = std::max(seen_, newest);
      return;
    }
    for (auto past = after(collection, seen_); past != collection.history.end() && past->version <= newest; ++past) {
      tell(into, *past);
    }
    seen_ = std::max(seen_, newest);
  }

  void bookmark(std::string& into) override {
    if (start_.bookmarks && !over_) tell_bookmark(into, false);
  }
  bool ended() const override { return over_ || server_.loop_.now() >= start_.ends; }
  io::Steady ends_at() const override { return start_.ends; }
  const std::string& collection() const override { return resource_.collection->path; }

 private:
  static void begin_line(std::string& into, std::string_view type) {
    into += "{\"type\":\"";
    into += type;
    into += "\",\"object\":";
  }
  static void line(std::string& into, std::string_view type, std::string_view object) {
    begin_line(into, type);
    into += object;
    into += "}\n";
  }

  void show(std::string& into, std::string_view type, const std::string& key, const Text& text) {
    if (start_.table) {
      Table table(resource_, start_.include_object, server_.loop_.wall_now());
      const std::string object = server_.shown(resource_, key, text, false);
      table.add(object);
      const std::string version(text_at(*parse(object), {"metadata", "resourceVersion"}));
      // The columns are sent once.
      line(into, type, table.text(version, "", std::nullopt, !told_columns_));
      told_columns_ = true;
      return;
    }
    begin_line(into, type);
    into.reserve(into.size() + text->size() + 64);
    server_.show(into, resource_, key, text, false);
    into += "}\n";
  }

  void tell_initial(std::string& into) {
    told_initial_ = true;
    server_.store_.visit(*resource_.collection, seen_, start_.prefix, [&](const std::string& key, const Text& text) {
      if (!key.starts_with(start_.prefix)) return false;
      if (matches(text)) show(into, "ADDED", key, text);
      return true;
    });
    if (start_.initial_end && start_.bookmarks) tell_bookmark(into, true);
  }

  bool matches(const Text& text) const {
    return text && start_.selector.matches_text(text, [this](const Text& one) { return server_.parsed(one); });
  }

  void tell(std::string& into, const Past& past) {
    if (!past.key.starts_with(start_.prefix)) return;
    const bool was = matches(past.before);
    const bool is = !past.deleted && matches(past.object);
    if (is) {
      show(into, was ? "MODIFIED" : "ADDED", past.key, past.object);
    } else if (was) {
      show(into, "DELETED", past.key, past.deleted ? past.object : departed(past));
    }
  }

  // It no longer matches: watchers see it as it was when it did, at the version of the change.
  static Text departed(const Past& past) {
    json::value object = *parse(*past.before);
    object.at("metadata").get_object()["resourceVersion"] = std::to_string(past.version);
    return std::make_shared<const std::string>(json::serialize(object));
  }

  void tell_bookmark(std::string& into, bool end_of_initial) {
    if (end_of_initial) return line(into, "BOOKMARK", bookmark_text(std::to_string(seen_), true));
    // One comes every minute, and only its version is new.
    constexpr std::string_view kVersion = "\"resourceVersion\":\"";
    if (bookmark_.empty()) {
      bookmark_ = bookmark_text("", false);
      bookmark_version_ = bookmark_.find(kVersion) + kVersion.size();
    }
    std::string text = bookmark_;
    line(into, "BOOKMARK", text.insert(bookmark_version_, std::to_string(seen_)));
  }

  std::string bookmark_text(const std::string& version, bool end_of_initial) const {
    json::value object = json::object();
    if (resource_.type) conform(object, *resource_.type);
    json::object& meta = object_at(object.get_object(), "metadata");
    meta["resourceVersion"] = version;
    if (end_of_initial) meta["annotations"] = {{"k8s.io/initial-events-end", "true"}};
    if (resource_.is_events_v1()) object = event_to_v1(std::move(object));
    return resource_.head() + json::serialize(object).substr(1);
  }

  const ApiServer& server_;
  const Resource resource_;  // a copy: its definition may go
  Start start_;
  uint64_t seen_;
  std::string bookmark_{};       // without a version
  size_t bookmark_version_ = 0;  // where that goes
  bool told_initial_ = false;
  bool told_columns_ = false;
  bool over_ = false;
};

ApiServer::Opened ApiServer::watch(const Request& request, const Caller& caller) {
  const auto refuse = [](const Failure& failure) { return Opened{to_response(failure), nullptr}; };
  const auto ask = understand(request, caller);
  if (!ask) return {ask.error(), nullptr};
  ++counts_["WATCH " + ask->resource->plural];
  const Query& query = ask->query;
  if (const auto wrong = wrong_watch_options(query); !wrong.empty())
    return refuse(invalid_options("ListOptions", wrong));
  auto selector = Selector::parse(query["labelSelector"], query["fieldSelector"], *ask->resource);
  if (!selector) return refuse(bad_request(selector.error()));

  HistoryWatch::Start start;
  start.resource = ask->resource;
  start.selector = std::move(*selector);
  start.prefix = ask->resource->namespaced && !ask->ns.empty() ? ask->ns + "/" : std::string();
  if (!ask->name.empty()) {
    auto named = Selector::parse(query["labelSelector"], "metadata.name=" + ask->name, *ask->resource);
    if (named) start.selector = std::move(*named);
  }
  const std::string_view from = query["resourceVersion"];
  const uint64_t seen = std::min(caller.sees.value_or(store_.version()), store_.version());
  // Old replicas serve what is still known.
  start.from = std::max(seen, store_.forgotten());
  if (!from.empty() && from != "0") {
    const auto end = std::from_chars(from.data(), from.data() + from.size(), start.from);
    if (end.ec != std::errc() || end.ptr != from.data() + from.size()) {
      return refuse({.message = "resourceVersion: Invalid value: " + quoted(from) + ": strconv.ParseUint: parsing " +
                                quoted(from) + ": invalid syntax"});
    }
  } else if (from.empty()) {
    // Without a version it starts with what is true now.
    start.from = store_.version();
    start.initial = true;
  } else {
    start.initial = true;
  }
  if (query.has("sendInitialEvents")) {
    start.initial = start.initial_end = is_on(query, "sendInitialEvents");
    if (start.initial && !from.empty() && from != "0") start.from = std::max(start.from, seen);
  }
  start.bookmarks = is_on(query, "allowWatchBookmarks");
  start.table = wants_table(request.accept);
  start.include_object = query["includeObject"];
  int64_t seconds = 0;
  const std::string_view limit = query["timeoutSeconds"];
  std::from_chars(limit.data(), limit.data() + limit.size(), seconds);
  start.ends = loop_.now() + (seconds > 0 ? io::Duration(io::seconds{seconds}) : kLongest);
  Opened opened;
  opened.head.status = 200;
  opened.watch = std::make_unique<HistoryWatch>(*this, std::move(start));
  return opened;
}

}  // namespace careen::sim
