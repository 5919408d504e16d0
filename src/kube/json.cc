#include "kube/json.h"

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>

namespace careen::kube {

namespace json = boost::json;

namespace {

// Deeper than any object the API server accepts is meant to be, shallow enough for the stack.
constexpr size_t kDeepest = 256;

json::value* member_of(json::value& value, std::string_view key) {
  return value.is_object() ? value.get_object().if_contains(key) : nullptr;
}

}  // namespace

bool JsonView::is_null() const { return value_ && value_->is_null(); }
bool JsonView::is_object() const { return value_ && value_->is_object(); }
bool JsonView::is_array() const { return value_ && value_->is_array(); }
bool JsonView::is_string() const { return value_ && value_->is_string(); }

JsonView JsonView::operator[](std::string_view key) const {
  return is_object() ? JsonView(value_->get_object().if_contains(key)) : JsonView();
}

JsonView JsonView::operator[](size_t index) const {
  return is_array() ? JsonView(value_->get_array().if_contains(index)) : JsonView();
}

JsonView JsonView::at(std::string_view pointer) const {
  if (!value_) return {};
  json::error_code failed;
  const json::value* found = value_->find_pointer(pointer, failed);
  return failed ? JsonView() : JsonView(found);
}

std::optional<std::string_view> JsonView::text() const {
  if (!is_string()) return std::nullopt;
  return std::string_view(value_->get_string());
}

std::optional<int64_t> JsonView::integer() const {
  if (!value_) return std::nullopt;
  json::error_code failed;
  const auto number = value_->is_number() ? value_->to_number<int64_t>(failed) : int64_t{};
  if (failed || !value_->is_number()) return std::nullopt;
  return number;
}

std::optional<double> JsonView::number() const {
  if (!value_ || !value_->is_number()) return std::nullopt;
  return value_->to_number<double>();
}

std::optional<bool> JsonView::boolean() const {
  if (!value_ || !value_->is_bool()) return std::nullopt;
  return value_->get_bool();
}

size_t JsonView::size() const {
  if (is_object()) return value_->get_object().size();
  return is_array() ? value_->get_array().size() : 0;
}

void JsonView::for_each_member(const std::function<void(std::string_view, JsonView)>& visit) const {
  if (!is_object()) return;
  for (const auto& member : value_->get_object()) visit(member.key(), JsonView(&member.value()));
}

void JsonView::for_each_element(const std::function<void(JsonView)>& visit) const {
  if (!is_array()) return;
  for (const json::value& element : value_->get_array()) visit(JsonView(&element));
}

std::string JsonView::dump() const { return value_ ? json::serialize(*value_) : "null"; }

bool operator==(JsonView a, JsonView b) {
  if (!a.value_ || !b.value_) return a.value_ == b.value_;
  return *a.value_ == *b.value_;
}

Json::Json() : value_(std::make_unique<json::value>()) {}
Json::Json(bool value) : value_(std::make_unique<json::value>(value)) {}
Json::Json(int64_t value) : value_(std::make_unique<json::value>(value)) {}
Json::Json(double value) : value_(std::make_unique<json::value>(value)) {}
Json::Json(std::string_view value) : value_(std::make_unique<json::value>(json::string_view(value))) {}
Json::Json(JsonView part)
    : value_(part ? std::make_unique<json::value>(*part.value_) : std::make_unique<json::value>()) {}
Json::Json(std::unique_ptr<json::value> value) : value_(std::move(value)) {}
Json::Json(const Json& other) : Json(other.view()) {}
// What was moved from is null, not broken.
Json::Json(Json&& other) noexcept : Json() { std::swap(value_, other.value_); }
Json& Json::operator=(Json other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}
Json::~Json() = default;

Json Json::object(std::initializer_list<std::pair<std::string_view, Json>> members) {
  json::object object;
  object.reserve(members.size());
  for (const auto& [key, value] : members) object.insert_or_assign(key, *value.value_);
  return Json(std::make_unique<json::value>(std::move(object)));
}

Json Json::array(std::initializer_list<Json> elements) {
  json::array array;
  array.reserve(elements.size());
  for (const Json& element : elements) array.push_back(*element.value_);
  return Json(std::make_unique<json::value>(std::move(array)));
}

io::Result<Json> Json::parse(std::string_view text) {
  json::parse_options options;
  options.max_depth = kDeepest;
  json::stream_parser parser({}, options);
  json::error_code failed;
  const size_t read = parser.write_some(text.data(), text.size(), failed);
  if (!failed && read < text.size()) failed = json::error::extra_data;
  if (!failed) parser.finish(failed);
  if (failed) {
    return io::fail(io::ErrorKind::invalid, "not JSON at byte " + std::to_string(read) + " of " +
                                                std::to_string(text.size()) + ": " + failed.message());
  }
  return Json(std::make_unique<json::value>(parser.release()));
}

Json& Json::set(std::initializer_list<std::string_view> path, Json value) {
  json::value* at = value_.get();
  for (const std::string_view key : path) {
    if (!at->is_object()) at->emplace_object();
    at = &at->get_object()[key];
  }
  *at = std::move(*value.value_);
  return *this;
}

Json& Json::remove(std::initializer_list<std::string_view> path) {
  json::value* parent = nullptr;
  json::value* at = value_.get();
  std::string_view last;
  for (const std::string_view key : path) {
    parent = at;
    at = member_of(*at, key);
    if (!at) return *this;
    last = key;
  }
  if (parent) parent->get_object().stable_erase(last);
  return *this;
}

Json& Json::push_back(Json element) {
  if (value_->is_null()) value_->emplace_array();
  if (!value_->is_array()) {
    std::fputs("careen: bug: push_back to JSON that is no array\n", stderr);
    std::abort();
  }
  value_->get_array().push_back(std::move(*element.value_));
  return *this;
}

}  // namespace careen::kube
