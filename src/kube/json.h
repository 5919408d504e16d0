// JSON documents of any shape: custom resources, patches, annotations that hold JSON. Json owns a document, JsonView
// looks at a part of it; reading what is absent or of another type gives "nothing", never an error. Boost.JSON does
// the work but stays out of this header.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result.h"

namespace boost::json {
class value;
}

namespace careen::kube {

// A value inside a document, or nothing. Valid until the document changes or goes.
class JsonView {
 public:
  JsonView() = default;
  explicit JsonView(const boost::json::value* value) : value_(value) {}

  bool exists() const { return value_ != nullptr; }
  explicit operator bool() const { return exists(); }
  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;

  // The member, the element; nothing when there is none.
  JsonView operator[](std::string_view key) const;
  JsonView operator[](const char* key) const { return (*this)[std::string_view(key)]; }
  JsonView operator[](size_t index) const;
  // By JSON pointer: at("/spec/nodeName"), "~1" for a slash in a key.
  JsonView at(std::string_view pointer) const;

  // The value if it is of that type.
  std::optional<std::string_view> text() const;
  std::optional<int64_t> integer() const;
  std::optional<double> number() const;  // integers too
  std::optional<bool> boolean() const;

  // Of an object or array; 0 otherwise.
  size_t size() const;
  void for_each_member(const std::function<void(std::string_view key, JsonView value)>& visit) const;
  void for_each_element(const std::function<void(JsonView value)>& visit) const;

  std::string dump() const;
  // Members in any order, numbers by value.
  friend bool operator==(JsonView a, JsonView b);

 private:
  friend class Json;
  const boost::json::value* value_ = nullptr;
};

class Json {
 public:
  Json();                                                            // null
  Json(std::nullptr_t) : Json() {}                                   // NOLINT: literals read as JSON
  Json(bool value);                                                  // NOLINT
  Json(int value) : Json(static_cast<int64_t>(value)) {}             // NOLINT
  Json(int64_t value);                                               // NOLINT
  Json(double value);                                                // NOLINT
  Json(std::string_view value);                                      // NOLINT
  Json(const char* value) : Json(std::string_view(value)) {}         // NOLINT
  Json(const std::string& value) : Json(std::string_view(value)) {}  // NOLINT
  explicit Json(JsonView part);                                      // a copy of that part; null for nothing
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();

  // Json::object({{"metadata", Json::object({{"name", "x"}})}})
  static Json object(std::initializer_list<std::pair<std::string_view, Json>> members = {});
  static Json array(std::initializer_list<Json> elements = {});
  // One document; nesting is bounded. The error names the position.
  static io::Result<Json> parse(std::string_view text);

  JsonView view() const { return JsonView(value_.get()); }
  JsonView operator[](std::string_view key) const { return view()[key]; }
  JsonView operator[](const char* key) const { return view()[key]; }
  JsonView at(std::string_view pointer) const { return view().at(pointer); }
  std::string dump() const { return view().dump(); }
  friend bool operator==(const Json& a, const Json& b) { return a.view() == b.view(); }

  // Sets a member, making objects on the way (and in place of what is none): set({"metadata", "labels", "a/b"}, "x").
  Json& set(std::initializer_list<std::string_view> path, Json value);
  // Removes a member, if it is there.
  Json& remove(std::initializer_list<std::string_view> path);
  // Appends to an array; a null becomes one.
  Json& push_back(Json element);

 private:
  explicit Json(std::unique_ptr<boost::json::value> value);
  std::unique_ptr<boost::json::value> value_;
};

}  // namespace careen::kube
