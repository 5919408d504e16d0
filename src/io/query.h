// Text in URLs, encoded and decoded, and the query of a request: names with any number of values, as HTML forms write
// them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace careen::io {

// Appends the text with everything escaped that means something in a URL.
void append_encoded(std::string& out, std::string_view text);
// What is not properly encoded is taken as it is.
std::string url_decoded(std::string_view text, bool plus_is_space);

class Query {
 public:
  // "a=1&b=two%20words&verbose"
  explicit Query(std::string_view raw = {});

  bool has(std::string_view name) const { return values_.contains(name); }
  std::set<std::string> all(std::string_view name) const;
  // Its first value; empty when absent.
  std::string_view operator[](std::string_view name) const;

 private:
  std::multimap<std::string, std::string, std::less<>> values_;
};

}  // namespace careen::io
