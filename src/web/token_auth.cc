#include "web/token_auth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "io/digest.h"
#include "kube/client.h"
#include "kube/resource.h"

namespace careen::web {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

const kube::Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
const kube::Resource kAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", false};
constexpr io::Duration kOneQuestion = io::seconds{5};
constexpr int kAttempts = 2;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// Empty when there is none.
std::string bearer_token(const io::ServerRequest& request) {
  std::string_view value = io::header(request.headers, "authorization");
  const size_t blank = value.find(' ');
  if (blank == std::string_view::npos || lower(value.substr(0, blank)) != "bearer") return {};
  value.remove_prefix(std::min(value.find_first_not_of(' ', blank), value.size()));
  return std::string(value.substr(0, value.find(' ')));
}

io::ServerResponse error_response(int status, std::string_view message) {
  io::ServerResponse response;
  response.status = status;
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  response.body = fmt::format("{}\n", message);
  return response;
}

// Counts a review under its peer for as long as it lasts, also when the answer is no longer wanted.
class UnderWay {
 public:
  UnderWay(std::map<std::string, int>& counts, const std::string& peer)
      : counts_(counts), own_(counts.try_emplace(peer, 0).first) {
    ++own_->second;
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() {
    if (--own_->second == 0) counts_.erase(own_);
  }

 private:
  std::map<std::string, int>& counts_;
  std::map<std::string, int>::iterator own_;
};

std::string_view name_of(const Json& user) { return user["username"].text().value_or(""); }

}  // namespace

TokenAuth::TokenAuth(kube::Client& client, TokenAuthOptions options, io::Log log)
    : loop_(client.loop()),
      client_(client),
      options_(options),
      log_(std::move(log)),
      asking_(loop_, options.most_asked_at_once),
      users_(options.most_remembered),
      strangers_(options.most_remembered),
      decisions_(options.most_remembered) {}

Task<std::optional<io::ServerResponse>> TokenAuth::refusal(const io::ServerRequest& request) {
  std::string token = bearer_token(request);
  if (token.empty()) co_return error_response(401, "Unauthorized");
  if (known(io::sha256(token))) co_return co_await judge(request, std::move(token));
  // Each costs a question: somebody who shows many must not keep all others waiting.
  const auto asked = under_way_.find(request.peer);
  if (asked != under_way_.end() && asked->second >= options_.most_asked_for_a_peer) {
    co_return error_response(429, "too many tokens from this address are being reviewed; try again in a moment");
  }
  const UnderWay counted(under_way_, request.peer);
  co_return co_await judge(request, std::move(token));
}

const TokenAuth::User* TokenAuth::known(const std::string& digest) const {
  const User* user = users_.find(digest, loop_.now());
  return user ? user : strangers_.find(digest, loop_.now());
}

Task<std::optional<io::ServerResponse>> TokenAuth::judge(const io::ServerRequest& request, std::string token) {
  const std::string verb = lower(request.method);
  const std::string path = request.path;
  const auto user = co_await user_of(std::move(token));
  if (!user) {
    log_.error("a token could not be reviewed", "path", path, "error", user.error().message);
    co_return error_response(500, "Authentication failed");
  }
  if (!*user) co_return error_response(401, "Unauthorized");
  const auto decision = co_await allowed(**user, verb, path);
  if (!decision) {
    log_.error("an access could not be reviewed", "user", name_of(**user), "path", path, "error",
               decision.error().message);
    co_return error_response(500, fmt::format("Authorization for user {} failed", name_of(**user)));
  }
  if (!*decision) co_return error_response(403, fmt::format("Authorization denied for user {}", name_of(**user)));
  co_return std::nullopt;
}

Task<kube::Result<TokenAuth::User>> TokenAuth::user_of(std::string token) {
  const std::string key = io::sha256(token);
  if (const User* user = known(key)) co_return *user;
  const auto permit = co_await asking_.acquire();
  // Somebody may have asked the same meanwhile.
  if (const User* user = known(key)) co_return *user;
  auto user = co_await review(token, "");
  if (user && !*user && !options_.audience.empty()) user = co_await review(token, options_.audience);
  if (user) (*user ? users_ : strangers_).put(key, *user, loop_.now(), options_.token_known_for);
  co_return user;
}

Task<kube::Result<TokenAuth::User>> TokenAuth::review(std::string token, std::string audience) {
  Json spec = Json::object({{"token", token}});
  if (!audience.empty()) {
    Json audiences = Json::array();
    audiences.push_back(audience);
    spec.set({"audiences"}, std::move(audiences));
  }
  const auto answer = co_await ask(kTokenReviews, std::move(spec));
  if (!answer) co_return tl::make_unexpected(answer.error());
  const JsonView status = (*answer)["status"];
  if (!status["authenticated"].boolean().value_or(false)) co_return User();
  // An API server that does not look at audiences says nothing of them.
  bool fits = audience.empty();
  status["audiences"].for_each_element([&](JsonView one) { fits = fits || one.text() == audience; });
  if (!fits) co_return User();
  co_return User(std::in_place, status["user"]);
}

Task<kube::Result<bool>> TokenAuth::allowed(const Json& user, std::string verb, std::string path) {
  Json spec = Json::object(
      {{"user", name_of(user)}, {"nonResourceAttributes", Json::object({{"path", path}, {"verb", verb}})}});
  for (const char* part : {"groups", "uid", "extra"}) {
    if (const JsonView value = user[part]; value && !value.is_null()) spec.set({part}, Json(value));
  }
  const std::string key = io::sha256(spec.dump());
  if (const bool* known = decisions_.find(key, loop_.now())) co_return *known;
  const auto permit = co_await asking_.acquire();
  if (const bool* known = decisions_.find(key, loop_.now())) co_return *known;
  const auto review = co_await ask(kAccessReviews, std::move(spec));
  if (!review) co_return tl::make_unexpected(review.error());
  const bool yes = review->at("/status/allowed").boolean().value_or(false);
  decisions_.put(key, yes, loop_.now(), yes ? options_.allowed_for : options_.denied_for);
  co_return yes;
}

Task<kube::Result<Json>> TokenAuth::ask(kube::Resource resource, Json spec) {
  const Json review =
      Json::object({{"apiVersion", resource.group + "/" + resource.version}, {"kind", resource.kind}, {"spec", spec}});
  kube::CallOptions options;
  options.timeout = kOneQuestion;
  options.attempts = kAttempts;
  // It changes nothing.
  options.repeatable = true;
  const auto answer = co_await client_.create(resource, "", review.dump(), std::move(options));
  if (!answer) co_return tl::make_unexpected(answer.error());
  auto parsed = Json::parse(*answer);
  if (!parsed) co_return tl::make_unexpected(kube::to_api_error(parsed.error()));
  co_return std::move(*parsed);
}

Access TokenAuth::access() {
  return Access("a token that the API server knows", [this](io::ServerRequest& request) { return refusal(request); });
}

}  // namespace careen::web
