// Writes JSON documents piece by piece into a text: objects and arrays with their commas, and the values that careen's
// documents have. Whatever the bytes of a text are, the document stays valid.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "kube/json_text.h"

namespace careen::kube {

// Writes `{"key":…,"key":…}`, and the same for arrays without keys; closed when it goes.
class Members {
 public:
  Members(std::string& out, char open, char close) : out_(out), close_(close) { out_ += open; }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() { out_ += close_; }
  // What is appended to it next is the element, or the value of that key.
  std::string& next() {
    if (!first_) out_ += ',';
    first_ = false;
    return out_;
  }
  std::string& next(std::string_view key) {
    append_json_text(next(), key);
    out_ += ':';
    return out_;
  }

 private:
  std::string& out_;
  char close_;
  bool first_ = true;
};

inline void append_json(std::string& out, std::string_view text) { append_json_text(out, text); }
inline void append_json(std::string& out, const std::string& text) { append_json_text(out, text); }
inline void append_json(std::string& out, const char* text) { append_json_text(out, text); }
inline void append_json(std::string& out, bool yes) { out += yes ? "true" : "false"; }
inline void append_json(std::string& out, int number) { out += std::to_string(number); }
inline void append_json(std::string& out, int64_t number) { out += std::to_string(number); }
inline void append_json(std::string& out, size_t number) { out += std::to_string(number); }
inline void append_json(std::string& out, io::Wall time) { append_json_text(out, io::format_rfc3339(time)); }
// A number that JSON cannot write is a text: "NaN", "+Inf", "-Inf".
void append_json(std::string& out, double number);
template <class T>
void append_json(std::string& out, const std::vector<T>& values) {
  Members array(out, '[', ']');
  for (const T& value : values) append_json(array.next(), value);
}
template <class Value, class Compare>
void append_json(std::string& out, const std::map<std::string, Value, Compare>& values) {
  Members object(out, '{', '}');
  for (const auto& [key, value] : values) append_json(object.next(key), value);
}

}  // namespace careen::kube
