#include "notify/slack_sender.h"

#include <fmt/format.h>

#include <vector>

#include "io/redact.h"
#include "kube/json.h"
#include "notify/slack_post.h"

namespace careen::notify {

namespace {

// A shorter last part of a hook's path is a word rather than a secret.
constexpr size_t kShortestToken = 8;

// The hook whole, its path with the query, and the token that the path ends with.
std::vector<std::string> secrets_of(const std::string& hook) {
  std::vector<std::string> secrets{hook};
  const size_t scheme = hook.find("://");
  if (scheme == std::string::npos) return secrets;
  const size_t host = scheme + 3;
  if (const size_t path = hook.find_first_of("/?", host); path != std::string::npos) {
    secrets.push_back(hook.substr(path));
    const std::string token = hook.substr(hook.find_last_of("/=") + 1);
    if (token.size() >= kShortestToken) secrets.push_back(token);
  }
  if (const size_t at = hook.find('@', host); at != std::string::npos) secrets.push_back(hook.substr(host, at - host));
  return secrets;
}

class SlackSender final : public Sender {
 public:
  explicit SlackSender(SlackSettings settings)
      : settings_(std::move(settings)),
        secrets_(secrets_of(settings_.hook)),
        endpoint_(fmt::format("{} {}", authority(settings_.hook), settings_.channel)) {}

  std::string_view endpoint() const override { return endpoint_; }

  io::Task<Sent> send(Message message, Outside& outside) const override {
    Sent sent = co_await post_text(std::move(message.text), outside);
    if (!sent) sent.error().text = io::redact(sent.error().text, secrets_);
    co_return sent;
  }

 private:
  io::Task<Sent> post_text(std::string text, Outside& outside) const {
    const kube::Json body = kube::Json::object({{"text", text}, {"channel", settings_.channel}});
    const auto response = co_await post(outside, settings_.hook, "application/json", body.dump());
    if (!response) co_return tl::make_unexpected(response.error());
    // The body decides, whatever the status: so do Slack's look-alikes that hooks may point to.
    if (response->body == "ok") co_return Sent{};
    if (auto error = overload(*response)) co_return tl::make_unexpected(std::move(*error));
    co_return tl::make_unexpected(SendError{
        SendError::Blame::message,
        fmt::format(
            "the Slack hook at {} did not take a message for channel {}: expected the answer \"ok\", got status "
            "{}: {}",
            authority(settings_.hook), settings_.channel, response->status, excerpt(response->body)),
        std::nullopt});
  }

  SlackSettings settings_;
  std::vector<std::string> secrets_;
  std::string endpoint_;
};

}  // namespace

std::unique_ptr<Sender> make_slack_sender(SlackSettings settings) {
  return std::make_unique<SlackSender>(std::move(settings));
}

}  // namespace careen::notify
