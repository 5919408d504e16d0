// What the decoders share: an unread JSON object and small readers on simdjson's on-demand parser. Only the decoders'
// .cc files include it. simdjson's errors travel as its exceptions inside a decoder and become values in guarded().
#pragma once

#include <simdjson.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "io/result.h"

namespace careen::kube {

class RawObject {
 public:
  explicit RawObject(simdjson::ondemand::object unread) : object(unread) {}
  simdjson::ondemand::object object;
};

namespace raw {

using simdjson::ondemand::array;
using simdjson::ondemand::object;
using simdjson::ondemand::value;
using Key = simdjson::ondemand::raw_json_string;

// nullopt for a value of another type; what is broken throws.
template <class T>
std::optional<T> if_type(simdjson::simdjson_result<T> result) {
  T out;
  const auto error = std::move(result).get(out);
  if (error == simdjson::INCORRECT_TYPE || error == simdjson::NUMBER_OUT_OF_RANGE || error == simdjson::NUMBER_ERROR) {
    return std::nullopt;
  }
  if (error) throw simdjson::simdjson_error(error);
  return out;
}

inline std::optional<std::string_view> text(value& v) { return if_type(v.get_string()); }
inline std::optional<bool> boolean(value& v) {
  // get_bool() says INCORRECT_TYPE only for what does not begin like a boolean.
  return v.type().value() == simdjson::ondemand::json_type::boolean ? if_type(v.get_bool()) : std::nullopt;
}
inline std::optional<int64_t> integer(value& v) {
  return v.type().value() == simdjson::ondemand::json_type::number ? if_type(v.get_int64()) : std::nullopt;
}

// visit(Key, value&) for each member. Keys are compared as they are written: the API server escapes no key that
// we look for.
template <class F>
void each_field(object o, F&& visit) {
  for (auto field : o) {
    simdjson::ondemand::value v = field.value();
    visit(field.key().value(), v);
  }
}
// The same for a value that may be something else (null, most often): nothing is visited then.
template <class F>
void each_field(value& v, F&& visit) {
  if (auto o = if_type(v.get_object())) each_field(*o, std::forward<F>(visit));
}
// visit(std::string_view key, std::string_view text) for each member that is a string.
template <class F>
void each_text(value& v, F&& visit) {
  auto o = if_type(v.get_object());
  if (!o) return;
  for (auto field : *o) {
    const std::string_view key = field.unescaped_key();
    simdjson::ondemand::value member = field.value();
    if (auto t = text(member)) visit(key, *t);
  }
}
// visit(value&) for each element.
template <class F>
void each_element(value& v, F&& visit) {
  auto a = if_type(v.get_array());
  if (!a) return;
  for (auto element : *a) {
    simdjson::ondemand::value e = element.value();
    visit(e);
  }
}

inline std::optional<uint64_t> version(std::string_view digits) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// What all objects' metadata has. The views live until the parser's next document.
struct Meta {
  std::string_view name, ns, uid, version_text, created, deleted;
  uint64_t version = 0;
};

// Reads the common fields into `meta`; visit(Key, value&) gets the others.
template <class F>
void each_meta_field(value& v, Meta& meta, F&& visit) {
  each_field(v, [&](Key key, value& field) {
    const auto into = [&field](std::string_view& place) {
      if (auto t = text(field)) place = *t;
    };
    if (key == "name") return into(meta.name);
    if (key == "namespace") return into(meta.ns);
    if (key == "uid") return into(meta.uid);
    if (key == "resourceVersion") return into(meta.version_text);
    if (key == "creationTimestamp") return into(meta.created);
    if (key == "deletionTimestamp") return into(meta.deleted);
    visit(key, field);
  });
}

// Checks what no object may lack.
inline io::Result<bool> complete(Meta& meta) {
  if (meta.name.empty()) return io::fail(io::ErrorKind::invalid, "an object without a name");
  const auto number = version(meta.version_text);
  if (!number) {
    return io::fail(io::ErrorKind::invalid, "object " + std::string(meta.name) + " has the resource version \"" +
                                                std::string(meta.version_text.substr(0, 40)) +
                                                "\", which is no number");
  }
  meta.version = *number;
  return true;
}

// Runs fn() -> io::Result<…>, and turns what simdjson throws into an error value.
template <class F>
auto guarded(const char* what, F&& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const simdjson::simdjson_error& e) {
    return io::fail(io::ErrorKind::protocol, std::string(what) + " is not readable JSON: " + e.what());
  }
}

// fn(RawObject&) on a text of its own.
template <class F>
auto on_text(const char* what, std::string_view json, F&& fn) {
  return guarded(what, [&] {
    const simdjson::padded_string copy(json);
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document = parser.iterate(copy);
    RawObject raw(document.get_object());
    return fn(raw);
  });
}

}  // namespace raw
}  // namespace careen::kube
