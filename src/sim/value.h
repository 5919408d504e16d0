// Short ways into JSON values for the model API server: look a member up, read its text, make objects on the way.
#pragma once

#include <boost/json.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace careen::sim {

namespace json = boost::json;

// Null when there is none.
const json::value* member(const json::value& value, std::string_view key);
json::value* member(json::value& value, std::string_view key);
const json::value* find(const json::value& value, std::initializer_list<std::string_view> path);
json::value* find(json::value& value, std::initializer_list<std::string_view> path);

// The text of that member, or nothing.
std::string_view text_at(const json::value& value, std::string_view key);
std::string_view text_at(const json::object& object, std::string_view key);
std::string_view text_at(const json::value& value, std::initializer_list<std::string_view> path);
// That member is true.
bool is_true(const json::value& value, std::string_view key);
std::optional<int64_t> integer_at(const json::value& value, std::initializer_list<std::string_view> path);

// The member as an object, made if it is none.
json::object& object_at(json::object& parent, std::string_view key);
void set_if_missing(json::object& object, std::string_view key, json::value value);
// Without kind and apiVersion: the server keeps objects so.
void drop_type(json::value& object);
// Equal: what == says, but quick where members come in the same order, as those of two versions of an object do.
bool same(const json::value& a, const json::value& b);

// Takes out the elements for which that holds.
template <class Predicate>
void remove_elements(json::array& array, const Predicate& gone) {
  for (size_t i = array.size(); i > 0; --i) {
    if (gone(std::as_const(array)[i - 1])) array.erase(array.begin() + static_cast<ptrdiff_t>(i - 1));
  }
}

// Where that text occurs from `from` on, or npos. JSON is full of quotes: std::string's way, from one first character
// to the next, is slow on it.
size_t find_text(std::string_view in, std::string_view text, size_t from = 0);

// In Go's words: string, number, bool, array, object, null.
std::string_view go_kind(const json::value& value);

// Memory for the values of one request, gone with it. An ordinary object fits without any allocation.
class Scratch {
 public:
  Scratch() : memory_(first_, sizeof first_) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  json::storage_ptr storage() { return &memory_; }

 private:
  unsigned char first_[16 << 10];
  json::monotonic_resource memory_;
};

std::optional<json::value> parse(std::string_view text, json::storage_ptr storage = {});
// What Go's decoder says of text that is no JSON.
std::string go_syntax_error(std::string_view text);
std::string quoted(std::string_view text);
// With U+FFFD in place of every byte that is no UTF-8, as Go writes strings.
std::string as_utf8(std::string_view text);

}  // namespace careen::sim
