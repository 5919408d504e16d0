// Who may read: the bearer token of a request is shown to the API server (TokenReview), and its user has to be allowed
// the path and verb (SubjectAccessReview), as the original secures its metrics. Answers are remembered for a short
// time; tokens themselves are not kept.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "io/http_server.h"
#include "io/log.h"
#include "io/sync.h"
#include "kube/error.h"
#include "kube/json.h"
#include "web/routes.h"

namespace careen::kube {
class Client;
struct Resource;
}  // namespace careen::kube

namespace careen::web {

struct TokenAuthOptions {
  io::Duration token_known_for = io::minutes{1};
  io::Duration allowed_for = io::minutes{5};
  io::Duration denied_for = io::seconds{30};
  size_t most_remembered = 1000;  // of each
  int most_asked_at_once = 8;
  // Reviews that one address may have under way; more are refused with 429.
  int most_asked_for_a_peer = 16;
  // Tokens made for this audience are good, too, in addition to those for the API server itself.
  std::string audience = {};
};

// Values that are forgotten after their time, or when there are too many: those that end soonest first.
template <class Value>
class ExpiringMap {
 public:
  explicit ExpiringMap(size_t most) : most_(most) {}

  const Value* find(const std::string& key, io::Steady now) const {
    const auto it = entries_.find(key);
    return it == entries_.end() || it->second.until <= now ? nullptr : &it->second.value;
  }
  void put(const std::string& key, Value value, io::Steady now, io::Duration lasts) {
    std::erase_if(entries_, [&](const auto& entry) { return entry.second.until <= now; });
    if (entries_.size() >= most_ && !entries_.contains(key)) drop_first_to_end();
    entries_.insert_or_assign(key, Entry{std::move(value), now + lasts});
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Value value;
    io::Steady until;
  };
  void drop_first_to_end() {
    auto first = entries_.begin();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->second.until < first->second.until) first = it;
    }
    if (first != entries_.end()) entries_.erase(first);
  }
  size_t most_;
  std::map<std::string, Entry> entries_;
};

class TokenAuth {
 public:
  // The client needs the rights to create tokenreviews and subjectaccessreviews, on every replica.
  explicit TokenAuth(kube::Client& client, TokenAuthOptions options = {}, io::Log log = {});

  // Nothing when the request may pass; otherwise the answer: 401, 403, 429, or 500 when the API server could not be
  // asked.
  io::Task<std::optional<io::ServerResponse>> refusal(const io::ServerRequest& request);
  // Whoever may pass. It must outlive the routes that have it.
  Access access();

 private:
  // Null: the token is nobody's.
  using User = std::optional<kube::Json>;

  // Null: not reviewed yet, or too long ago.
  const User* known(const std::string& digest) const;
  io::Task<std::optional<io::ServerResponse>> judge(const io::ServerRequest& request, std::string token);
  io::Task<kube::Result<User>> user_of(std::string token);
  io::Task<kube::Result<User>> review(std::string token, std::string audience);
  io::Task<kube::Result<bool>> allowed(const kube::Json& user, std::string verb, std::string path);
  io::Task<kube::Result<kube::Json>> ask(kube::Resource resource, kube::Json spec);

  io::Loop& loop_;
  kube::Client& client_;
  TokenAuthOptions options_;
  io::Log log_;
  io::Semaphore asking_;
  std::map<std::string, int> under_way_;  // by peer
  ExpiringMap<User> users_;               // by the token's digest
  ExpiringMap<User> strangers_;           // of their own, so that any number of them displaces nobody
  ExpiringMap<bool> decisions_;           // by the digest of user, verb and path
};

}  // namespace careen::web
