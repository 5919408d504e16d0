// What tests of notifications share: mail that does as the test says, and a process with a model API server in virtual
// time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/mail.h"
#include "io/metrics.h"
#include "io/query.h"
#include "io/test_http.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "notify/sender.h"
#include "notify/slack_threads.h"
#include "sim/test_api.h"

namespace careen::notify {

class ScriptedMail final : public io::MailClient {
 public:
  io::Task<io::Result<void>> send(io::Mail mail) override {
    mails.push_back(std::move(mail));
    co_return answer;
  }
  std::vector<io::Mail> mails;
  io::Result<void> answer{};
};

// A process and the world around it.
struct TestWorld {
  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::TestApi api{*server};
  std::unique_ptr<io::Loop> loop = time.make_loop();
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  io::Metrics metrics;
  io::Random random{7};
  kube::Client client{*loop, *transport, metrics, random};
  io::ScriptedHttp http{*loop};
  ScriptedMail mail;
  SlackThreads threads{*loop};
  Outside outside{*loop, http, mail, client, threads};
  io::Scope scope{*loop};

  static io::Task<void> store(io::Task<Sent> task, std::optional<Sent>* out) { out->emplace(co_await std::move(task)); }
  // The outcome appears in `out`.
  void begin(const Sender& sender, Message message, std::optional<Sent>& out) {
    scope.spawn(store(sender.send(std::move(message), outside), &out));
  }
  Sent send(const Sender& sender, Message message) {
    std::optional<Sent> out;
    begin(sender, std::move(message), out);
    if (!time.run_until([&] { return out.has_value(); }, io::minutes{10})) {
      return tl::make_unexpected(SendError{SendError::Blame::message, "the send does not end", std::nullopt});
    }
    return *out;
  }
};

}  // namespace careen::notify
