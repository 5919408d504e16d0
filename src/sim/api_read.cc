#include <charconv>

#include "sim/ask.h"
#include "sim/events.h"
#include "sim/selector.h"
#include "sim/table.h"

namespace careen::sim {

using kube::Response;

namespace {

constexpr std::string_view kExpiredList =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list.";

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string base64url(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i += 3) {
    uint32_t bits = 0;
    const size_t n = std::min<size_t>(3, text.size() - i);
    for (size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < n ? static_cast<unsigned char>(text[i + j]) : 0U);
    for (size_t j = 0; j <= n; ++j) out += kBase64[bits >> (18 - 6 * j) & 63U];
  }
  return out;
}

std::string from_base64url(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    int digit = -1;
    if (c >= 'A' && c <= 'Z') digit = c - 'A';
    if (c >= 'a' && c <= 'z') digit = c - 'a' + 26;
    if (c >= '0' && c <= '9') digit = c - '0' + 52;
    if (c == '-') digit = 62;
    if (c == '_') digit = 63;
    if (digit < 0) break;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> count & 255U);
    }
  }
  return out;
}

// Where a list continues: after this key, at this version; -1 for the newest.
struct Continuation {
  int64_t version = 0;
  std::string start;  // relative to the namespace, as the server has it, with the zero byte that makes it "after"
};

std::string continue_token(int64_t version, const std::string& start) {
  const json::object token{{"v", "meta.k8s.io/v1"}, {"rv", version}, {"start", start}};
  return base64url(json::serialize(token));
}

tl::expected<Continuation, Failure> read_token(std::string_view text) {
  const auto wrong = [](const std::string& why) {
    return tl::unexpected(bad_request("invalid continue token: continue key is not valid: " + why));
  };
  if (const size_t wrong_at = text.find_first_not_of(kBase64); wrong_at != std::string_view::npos) {
    return wrong("illegal base64 data at input byte " + std::to_string(wrong_at));
  }
  const std::string decoded = from_base64url(text);
  const auto token = parse(decoded);
  if (!token || !token->is_object()) return wrong(go_syntax_error(decoded));
  if (const std::string_view encoded = text_at(*token, "v"); encoded != "meta.k8s.io/v1") {
    return wrong("server does not recognize this encoded version " + std::string(encoded));
  }
  const auto version = integer_at(*token, {"rv"});
  if (!version || *version == 0) return wrong("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  Continuation out{*version, std::string(text_at(*token, "start"))};
  if (out.start.empty()) return wrong("encoded start key empty (version meta.k8s.io/v1)");
  if (out.start[0] == '/') out.start.erase(0, 1);
  return out;
}

Failure too_large(uint64_t wanted, uint64_t current) {
  Failure failure{.code = 504, .reason = "Timeout"};
  failure.message =
      "Timeout: Too large resource version: " + std::to_string(wanted) + ", current: " + std::to_string(current);
  failure.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  failure.retry_after = 1;
  return failure;
}

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

FieldErrors wrong_list_options(const Query& query) {
  FieldErrors errors;
  const std::string_view match = query["resourceVersionMatch"];
  const std::string_view version = query["resourceVersion"];
  if (query.has("sendInitialEvents")) {
    errors.push_back(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  if (match.empty()) return errors;
  if (version.empty()) {
    errors.push_back(
        forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  }
  if (!query["continue"].empty()) {
    errors.push_back(forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (match != "Exact" && match != "NotOlderThan") {
    errors.push_back(not_supported("resourceVersionMatch", quoted(match), {"Exact", "NotOlderThan", ""}));
  }
  if (match == "Exact" && version == "0") {
    errors.push_back(
        forbidden("resourceVersionMatch", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
  }
  return errors;
}

}  // namespace

// As a client of this resource sees it: its version of the API, and without kind in lists of built-in kinds.
void ApiServer::show(std::string& into, const Resource& resource, std::string_view key, const Text& stored,
                     bool in_list) const {
  const Text text = fresh(*resource.collection, std::string(key), stored);
  const std::string_view rest = std::string_view(*text).substr(resource.collection->head.size());
  if (resource.is_events_v1()) {
    Scratch memory;
    json::value event = event_to_v1(*sim::parse(*text, memory.storage()));
    if (in_list) {
      event.get_object().stable_erase(event.get_object().find("kind"));
      event.get_object().stable_erase(event.get_object().find("apiVersion"));
    }
    into += json::serialize(event);
  } else if (in_list && !resource.custom) {
    into += "{";
    into += rest;
  } else if (resource.storage) {
    into += *text;
  } else {
    into += resource.head();
    into += rest;
  }
}

std::string ApiServer::shown(const Resource& resource, std::string_view key, const Text& stored, bool in_list) const {
  std::string out;
  show(out, resource, key, stored, in_list);
  return out;
}

// The version a read is answered with.
ApiServer::Either<uint64_t> ApiServer::version_to_read(const Ask& ask) const {
  const std::string_view wanted = ask.query["resourceVersion"];
  if (wanted.empty()) return store_.version();
  const auto version = whole_number(wanted);
  if (!version) {
    return tl::unexpected(bad_request("invalid resource version: resourceVersion: Invalid value: " + quoted(wanted) +
                                      ": strconv.ParseUint: parsing " + quoted(wanted) + ": invalid syntax"));
  }
  if (*version > store_.version()) return tl::unexpected(too_large(*version, store_.version()));
  if (ask.query["resourceVersionMatch"] == "Exact") {
    if (*version >= store_.forgotten()) return *version;
    return tl::unexpected(
        Failure{.code = 410, .reason = "Expired", .message = "The resourceVersion for the provided list is too old."});
  }
  // A replica that is behind waits until it has seen what it was asked for.
  const uint64_t seen = ask.caller.sees.value_or(store_.version());
  return std::max({std::min(seen, store_.version()), *version, store_.forgotten()});
}

Response ApiServer::get(const Ask& ask) const {
  const auto at = version_to_read(ask);
  if (!at) return to_response(at.error());
  const Text known = store_.read(*ask.resource->collection, ask.key(), *at);
  if (!known) return to_response(not_found(*ask.resource, ask.name));
  std::string body = shown(*ask.resource, ask.key(), known, false);
  if (wants_table(ask.request->accept)) {
    Table table(*ask.resource, ask.query["includeObject"], loop_.wall_now());
    table.add(body);
    return answer_with(200, table.text(text_at(*parse(body), {"metadata", "resourceVersion"}), "", std::nullopt));
  }
  return answer_with(200, std::move(body));
}

Response ApiServer::list(const Ask& ask) {
  const Resource& resource = *ask.resource;
  const Query& query = ask.query;
  const auto selector = Selector::parse(query["labelSelector"], query["fieldSelector"], resource);
  if (!selector) return to_response(bad_request(selector.error()));
  size_t limit = SIZE_MAX;
  if (std::string_view text = query["limit"]; !text.empty() && text != "0") {
    const bool negative = text.starts_with('-');
    const auto number = whole_number(text.substr(negative ? 1 : 0));
    if (!number) {
      return to_response(bad_request("strconv.ParseInt: parsing " + quoted(text) + ": invalid syntax"));
    }
    if (!negative) limit = *number;
  }
  if (const auto wrong = wrong_list_options(query); !wrong.empty()) {
    return to_response(invalid_options("ListOptions", wrong));
  }

  // Keys of this namespace begin so; the token leaves it out.
  const std::string prefix = resource.namespaced && !ask.ns.empty() ? ask.ns + "/" : std::string();
  std::string from = prefix;
  uint64_t at = store_.version();
  if (const std::string_view token = query["continue"]; !token.empty()) {
    if (!query["resourceVersion"].empty() && query["resourceVersion"] != "0") {
      return to_response(bad_request("specifying resource version is not allowed when using continue"));
    }
    const auto next = read_token(token);
    if (!next) return to_response(next.error());
    if (next->version > 0 && static_cast<uint64_t>(next->version) < store_.forgotten()) {
      return to_response({.code = 410,
                          .reason = "Expired",
                          .message = std::string(kExpiredList),
                          .continue_token = continue_token(-1, next->start)});
    }
    if (next->version > 0) at = std::min<uint64_t>(at, static_cast<uint64_t>(next->version));
    from = prefix + next->start;
  } else {
    const auto version = version_to_read(ask);
    if (!version) return to_response(version.error());
    at = *version;
    // The cache that answers these knows no pages.
    if (query["resourceVersion"] == "0") limit = SIZE_MAX;
  }

  const bool table_wanted = wants_table(ask.request->accept);
  std::optional<Table> table;
  if (table_wanted) table.emplace(resource, query["includeObject"], loop_.wall_now());
  std::string items;
  std::string last;
  size_t taken = 0;
  size_t remaining = 0;
  bool more = false;
  const auto counted = query["continue"].empty() ? remaining_.end() : remaining_.find(query["continue"]);
  const auto take = [&](const std::string& key, const Text& text) {
    if (!prefix.empty() && !std::string_view(key).starts_with(prefix)) return false;
    if (taken == limit) {
      more = true;
      if (!selector->empty()) return false;
      if (counted != remaining_.end()) {
        remaining = counted->second - taken;
        return false;
      }
      ++remaining;
      return true;
    }
    if (!selector->matches_text(text, [this](const Text& one) { return parsed(one); })) return true;
    if (table) {
      table->add(shown(resource, key, text, false));
    } else {
      if (taken) items += ',';
      show(items, resource, key, text, true);
    }
    last = key;
    ++taken;
    return true;
  };
  if (const std::string_view node = selector->wanted("spec.nodeName"); !node.empty() && resource.collection == pods_) {
    store_.visit_among(pods_->on_node.keys(node), *pods_, at, from, take);
  } else {
    store_.visit(*resource.collection, at, from, take);
  }

  std::string token;
  if (more) {
    token = continue_token(static_cast<int64_t>(at), "/" + last.substr(prefix.size()) + std::string(1, '\0'));
    if (remaining_.size() > 64) remaining_.clear();
    if (selector->empty()) remaining_[token] = remaining;
  }
  const std::optional<size_t> told = more && selector->empty() ? std::optional<size_t>(remaining) : std::nullopt;
  if (table) return answer_with(200, table->text(std::to_string(at), token, told));
  std::string body = "{\"kind\":\"" + resource.list_kind + "\",\"apiVersion\":\"" + resource.api_version() +
                     "\",\"metadata\":{\"resourceVersion\":\"" + std::to_string(at) + "\"";
  if (more || resource.custom) body += ",\"continue\":\"" + token + "\"";
  if (told) body += ",\"remainingItemCount\":" + std::to_string(*told);
  body += "},\"items\":[";
  body += items;
  body += "]}";
  return answer_with(200, std::move(body));
}

}  // namespace careen::sim
