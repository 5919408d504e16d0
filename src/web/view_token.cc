#include "web/view_token.h"

#include <algorithm>
#include <optional>
#include <string>

#include "kube/base64.h"

namespace careen::web {

using kube::Json;
using kube::JsonView;

namespace {

constexpr int kSeconds = 600;

// What a JSON web token says: its second part, in the alphabet for URLs and without padding.
std::optional<Json> claims_of(std::string_view token) {
  constexpr size_t kGroup = 4;
  const size_t first = token.find('.');
  if (first == std::string_view::npos) return std::nullopt;
  const size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  std::string part(token.substr(first + 1, second - first - 1));
  std::replace(part.begin(), part.end(), '-', '+');
  std::replace(part.begin(), part.end(), '_', '/');
  while (part.size() % kGroup != 0) part += '=';
  const auto text = kube::base64_decode(part);
  if (!text) return std::nullopt;
  auto claims = Json::parse(*text);
  if (!claims) return std::nullopt;
  return std::move(*claims);
}

}  // namespace

Json view_token_request(std::string_view pod, std::string_view uid) {
  Json bound = Json::object({{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod}});
  bound.set({"uid"}, uid);
  return Json::object({{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}})
      .set({"spec", "audiences"}, Json::array({kViewAudience}))
      .set({"spec", "expirationSeconds"}, kSeconds)
      .set({"spec", "boundObjectRef"}, std::move(bound));
}

bool is_for_the_view_alone(std::string_view token) {
  const auto claims = claims_of(token);
  if (!claims) return false;
  const JsonView audience = (*claims)["aud"];
  if (audience.text()) return audience.text() == kViewAudience;
  int others = 0, ours = 0;
  audience.for_each_element([&](JsonView one) { ++(one.text() == kViewAudience ? ours : others); });
  return ours > 0 && others == 0;
}

}  // namespace careen::web
