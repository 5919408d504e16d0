#include "notify/slack_thread_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "io/loop.h"
#include "io/redact.h"
#include "kube/client.h"
#include "kube/json.h"
#include "kube/objects.h"
#include "kube/url.h"
#include "notify/slack_post.h"
#include "notify/slack_threads.h"

namespace careen::notify {

using kube::Json;

namespace {

template <class T>
using Outcome = tl::expected<T, SendError>;

// Others write the Lease too; after this many of their writes in a row it is tried again later.
constexpr int kRounds = 5;

std::string form(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    if (!out.empty()) out += '&';
    kube::append_encoded(out, name);
    out += '=';
    kube::append_encoded(out, value);
  }
  return out;
}

// Slack's own escapes, so that no text becomes a mention or a link.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

// Words of Slack for troubles of its own.
bool is_slacks_trouble(std::string_view error) {
  return error == "ratelimited" || error == "rate_limited" || error == "internal_error" || error == "fatal_error" ||
         error == "service_unavailable" || error == "request_timeout";
}

bool is_about_a_lost_thread(std::string_view error) {
  return error == "thread_not_found" || error == "invalid_thread_ts";
}

// What a Lease says about its thread.
struct ThreadLease {
  std::string version;
  std::string thread;  // empty when there is none
  std::optional<io::Wall> ends;

  static io::Result<ThreadLease> parse(std::string_view text) {
    const auto document = Json::parse(text);
    if (!document) return tl::make_unexpected(document.error());
    const kube::JsonView spec = (*document)["spec"];
    ThreadLease lease{std::string(document->at("/metadata/resourceVersion").text().value_or("")),
                      std::string(spec["holderIdentity"].text().value_or("")), std::nullopt};
    if (lease.version.empty()) return io::fail(io::ErrorKind::protocol, "the answer lacks metadata.resourceVersion");
    const auto begun = io::parse_rfc3339(spec["renewTime"].text().value_or(""));
    const auto duration = spec["leaseDurationSeconds"].integer();
    if (begun && duration) lease.ends = io::add(*begun, io::seconds{*duration});
    return lease;
  }
  bool is_open(io::Wall now) const { return !thread.empty() && ends && now <= *ends; }
};

// The API server takes no less than a second.
int64_t whole_seconds(io::Duration period) {
  return std::clamp<int64_t>(std::chrono::duration_cast<io::seconds>(period).count(), 1,
                             std::numeric_limits<int32_t>::max());
}

class SlackThreadSender final : public Sender {
 public:
  explicit SlackThreadSender(SlackThreadSettings settings)
      : settings_(std::move(settings)),
        lease_key_(kube::object_key(settings_.lease_namespace, settings_.lease_name)),
        endpoint_(fmt::format("slack {}", settings_.channel)) {}

  std::string_view endpoint() const override { return endpoint_; }

  io::Task<Sent> send(Message message, Outside& outside) const override {
    Sent sent = co_await reply_in_thread(std::move(message), outside);
    if (!sent) sent.error().text = io::redact(sent.error().text, {settings_.token});
    co_return sent;
  }

 private:
  io::Task<Sent> reply_in_thread(Message message, Outside& outside) const {
    std::string lost;
    for (;;) {
      const Outcome<std::string> thread = co_await find_thread(message.title, lost, outside);
      if (!thread) co_return tl::make_unexpected(thread.error());
      std::string slack_says;
      const Outcome<std::string> reply = co_await post_message(message.text, *thread, outside, &slack_says);
      if (reply) co_return Sent{};
      if (!is_about_a_lost_thread(slack_says) || !lost.empty()) co_return tl::make_unexpected(reply.error());
      lost = *thread;  // somebody deleted it: a new one, once
    }
  }

  // The open thread unless it is the one that is `lost`, or a new one. It is recorded before anybody replies, so that a
  // reply that fails and is sent again finds it.
  io::Task<Outcome<std::string>> find_thread(std::string title, std::string lost, Outside& outside) const {
    SlackThreads& threads = outside.slack_threads;
    const auto turn = co_await threads.take_turn(lease_key_);
    for (int round = 0; round < kRounds; ++round) {
      const Outcome<std::optional<ThreadLease>> lease = co_await read_lease(outside);
      if (!lease) co_return tl::make_unexpected(lease.error());
      if (*lease && (*lease)->is_open(outside.loop.wall_now()) && (*lease)->thread != lost) {
        threads.recorded(lease_key_);
        co_return (*lease)->thread;
      }
      const Outcome<SlackThreads::Title> opened = co_await open_thread(title, outside);
      if (!opened) co_return tl::make_unexpected(opened.error());
      const auto written = co_await record(*lease, *opened, outside);
      if (written) {
        threads.recorded(lease_key_);
        co_return opened->ts;
      }
      const kube::ApiError& error = written.error();
      const bool overtaken =
          error.conflict() || error.already_exists() || error.ambiguous() || (*lease && error.not_found());
      if (!overtaken) co_return lease_error("cannot be written", error.message);
    }
    co_return lease_error("cannot be written", "others write it all the time");
  }

  io::Task<Outcome<std::optional<ThreadLease>>> read_lease(Outside& outside) const {
    const auto answer =
        co_await outside.kube.get(kube::resources::leases, settings_.lease_namespace, settings_.lease_name);
    if (!answer && answer.error().not_found()) co_return std::nullopt;
    if (!answer) co_return lease_error("cannot be read", answer.error().message);
    auto lease = ThreadLease::parse(*answer);
    if (!lease) co_return lease_error("cannot be read", lease.error().message);
    co_return std::optional<ThreadLease>(std::move(*lease));
  }

  // Posts the title, unless one is there that only lacks its record.
  io::Task<Outcome<SlackThreads::Title>> open_thread(const std::string& title, Outside& outside) const {
    const SlackThreads::Title* known = outside.slack_threads.unrecorded(lease_key_);
    if (known != nullptr && outside.loop.wall_now() <= io::add(known->posted, settings_.period)) co_return *known;
    const Outcome<std::string> ts = co_await post_message(title, "", outside);
    if (!ts) co_return tl::make_unexpected(ts.error());
    SlackThreads::Title posted{*ts, outside.loop.wall_now()};
    outside.slack_threads.remember(lease_key_, posted);
    co_return posted;
  }

  // Makes the Lease name the thread, unless somebody has written it since it was read.
  io::Task<kube::Result<std::string>> record(const std::optional<ThreadLease>& found, const SlackThreads::Title& title,
                                             Outside& outside) const {
    const std::string time = io::format_micro_time(title.posted);
    Json spec = Json::object(
        {{"holderIdentity", title.ts}, {"renewTime", time}, {"leaseDurationSeconds", whole_seconds(settings_.period)}});
    if (found) {
      const Json patch =
          Json::object({{"metadata", Json::object({{"resourceVersion", found->version}})}, {"spec", spec}});
      co_return co_await outside.kube.patch(kube::resources::leases, settings_.lease_namespace, settings_.lease_name,
                                            kube::PatchType::merge, patch.dump());
    }
    spec.set({"acquireTime"}, time);
    const Json lease = Json::object(
        {{"apiVersion", "coordination.k8s.io/v1"},
         {"kind", "Lease"},
         {"metadata", Json::object({{"name", settings_.lease_name}, {"namespace", settings_.lease_namespace}})},
         {"spec", spec}});
    co_return co_await outside.kube.create(kube::resources::leases, settings_.lease_namespace, lease.dump());
  }

  // Slack's name for the message. A reply when `thread` is not empty. `slack_says` gets the word with which it refuses.
  io::Task<Outcome<std::string>> post_message(std::string text, std::string thread, Outside& outside,
                                              std::string* slack_says = nullptr) const {
    std::string body = form({{"token", settings_.token}, {"channel", settings_.channel}, {"text", escaped(text)}});
    if (!thread.empty()) body += "&" + form({{"thread_ts", thread}});
    const auto response = co_await post(outside, outside.slack_api + "/chat.postMessage",
                                        "application/x-www-form-urlencoded", std::move(body));
    if (!response) co_return tl::make_unexpected(response.error());
    if (auto error = overload(*response)) co_return tl::make_unexpected(std::move(*error));
    const auto answer = Json::parse(response->body);
    if (response->status != 200 || !answer) {
      co_return slack_error(SendError::Blame::message, fmt::format("expected status 200 and JSON, got status {}: {}",
                                                                   response->status, excerpt(response->body)));
    }
    if ((*answer)["ok"].boolean() != true) {
      const std::string why((*answer)["error"].text().value_or("without a reason"));
      if (slack_says) *slack_says = why;
      if (!is_slacks_trouble(why)) co_return slack_error(SendError::Blame::message, excerpt(why));
      co_return slack_error(SendError::Blame::endpoint, why, asked_pause(*response));
    }
    const auto ts = (*answer)["ts"].text();
    if (!ts || ts->empty()) co_return slack_error(SendError::Blame::message, "its answer lacks the message's ts");
    co_return std::string(*ts);
  }

  tl::unexpected<SendError> slack_error(SendError::Blame blame, std::string_view why,
                                        std::optional<io::Duration> retry_after = std::nullopt) const {
    return tl::make_unexpected(SendError{
        blame, fmt::format("Slack did not take a message for channel {}: {}", settings_.channel, why), retry_after});
  }
  // Slack is not to blame.
  tl::unexpected<SendError> lease_error(std::string_view what, std::string_view why) const {
    return tl::make_unexpected(SendError{
        SendError::Blame::message, fmt::format("the Lease {} of a Slack thread {}: {}", lease_key_, what, why), {}});
  }

  SlackThreadSettings settings_;
  std::string lease_key_;
  std::string endpoint_;
};

}  // namespace

std::unique_ptr<Sender> make_slack_thread_sender(SlackThreadSettings settings) {
  return std::make_unique<SlackThreadSender>(std::move(settings));
}

}  // namespace careen::notify
