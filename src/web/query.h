// The query of a request, decoded: names with any number of values, as HTML forms write them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace careen::web {

class Query {
 public:
  // "a=1&b=two%20words&verbose"; what is not properly encoded is taken as it stands.
  explicit Query(std::string_view raw);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::set<std::string> all(std::string_view name) const;
  // One of its values; empty when absent.
  std::string_view get(std::string_view name) const;

 private:
  std::multimap<std::string, std::string, std::less<>> values_;
};

}  // namespace careen::web
