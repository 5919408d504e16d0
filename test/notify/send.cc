// Sends what a test asks for through the real clients and senders, for run.py. Reads one JSON document a line:
//   {"mail": {...}, "ca_file": "..."}, {"slack": {...}} or {"slackThread": {...}, "api": "http://..."}
// and answers each with a line {"ok": true} or {"ok": false, "error": ..., "kind"|"blame": ..., "retry_after": ...},
// with the longest time the event loop stood still. The Lease of a thread lives in a model API server inside.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "io/http.h"
#include "io/mail.h"
#include "io/metrics.h"
#include "io/real_loop.h"
#include "io/sync.h"
#include "kube/client.h"
#include "kube/json.h"
#include "notify/mail_sender.h"
#include "notify/slack_sender.h"
#include "notify/slack_thread_sender.h"
#include "notify/slack_threads.h"
#include "sim/test_api.h"

namespace {

using namespace careen;
using kube::Json;
using kube::JsonView;

std::string text(JsonView object, const char* key) { return std::string(object[key].text().value_or("")); }

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
io::Task<void> store(io::Task<T> task, std::optional<T>* out) {
  out->emplace(co_await std::move(task));
}

// Notices when the loop does not turn.
struct Heartbeat {
  explicit Heartbeat(io::RealLoop& l) : loop(l), beat(l, [this] { tick(); }) { beat.set(last + period); }
  void tick() {
    longest = std::max(longest, loop.now() - last);
    last = loop.now();
    beat.set(last + period);
  }
  io::RealLoop& loop;
  io::Duration period = io::milliseconds{20};
  io::Steady last = loop.now();
  io::Duration longest{};
  io::Alarm beat;
};

template <class T>
T run(io::RealLoop& loop, io::Task<T> task) {
  std::optional<T> out;
  io::Scope scope(loop);
  scope.spawn(store(std::move(task), &out));
  loop.run_until([&] { return out.has_value(); });
  return std::move(*out);
}

const char* name_of(io::ErrorKind kind) {
  switch (kind) {
    case io::ErrorKind::timeout:
      return "timeout";
    case io::ErrorKind::connect:
      return "connect";
    case io::ErrorKind::tls:
      return "tls";
    case io::ErrorKind::closed:
      return "closed";
    case io::ErrorKind::protocol:
      return "protocol";
    case io::ErrorKind::invalid:
      return "invalid";
    default:
      return "other";
  }
}

io::Mail mail_of(JsonView from) {
  io::Mail mail;
  mail.server = text(from, "server");
  mail.from = text(from, "from");
  from["to"].for_each_element([&](JsonView to) { mail.to.emplace_back(to.text().value_or("")); });
  mail.subject = text(from, "subject");
  mail.text = text(from, "text");
  if (const JsonView login = from["login"]) {
    mail.login = io::MailLogin{text(login, "identity"), text(login, "user"), text(login, "password")};
  }
  if (const auto seconds = from["timeout"].number()) {
    mail.timeout = std::chrono::duration_cast<io::Duration>(std::chrono::duration<double>(*seconds));
  }
  return mail;
}

class Probe {
 public:
  Json answer(JsonView order) {
    heartbeat_.longest = {};
    heartbeat_.last = loop_.now();
    Json out = order["mail"] ? send_mail(order) : send(order);
    out.set({"stall"}, io::to_seconds(heartbeat_.longest));
    return out;
  }

 private:
  Json send_mail(JsonView order) {
    io::MailClientOptions options;
    if (order["ca_file"]) options.tls.ca_pem = content_of(text(order, "ca_file"));
    const auto client = io::make_mail_client(loop_, options);
    const auto sent = run(loop_, client->send(mail_of(order["mail"])));
    if (sent) return Json::object({{"ok", true}});
    return Json::object({{"ok", false}, {"error", sent.error().message}, {"kind", name_of(sent.error().kind)}});
  }

  Json send(JsonView order) {
    notify::Outside outside{loop_, *http_, *mail_, client_, threads_};
    if (order["api"]) outside.slack_api = text(order, "api");
    const auto sender = sender_of(order);
    const auto sent = run(loop_, sender->send({text(order, "title"), text(order, "text")}, outside));
    if (sent) return Json::object({{"ok", true}});
    const notify::SendError& error = sent.error();
    Json out = Json::object({{"ok", false},
                             {"error", error.text},
                             {"blame", error.blame == notify::SendError::Blame::endpoint ? "endpoint" : "message"}});
    if (error.retry_after) out.set({"retry_after"}, io::to_seconds(*error.retry_after));
    return out;
  }

  static std::unique_ptr<notify::Sender> sender_of(JsonView order) {
    if (const JsonView slack = order["slack"]) {
      return notify::make_slack_sender({text(slack, "hook"), text(slack, "channel")});
    }
    const JsonView thread = order["slackThread"];
    return notify::make_slack_thread_sender({text(thread, "token"), text(thread, "channel"), text(thread, "lease"),
                                             "kube-system", io::seconds{thread["period"].integer().value_or(60)}});
  }

  io::RealLoop loop_;
  Heartbeat heartbeat_{loop_};
  sim::TestApi api_{loop_};
  std::unique_ptr<kube::Transport> transport_ = api_.connect(loop_);
  io::Metrics metrics_;
  io::Random random_;
  kube::Client client_{loop_, *transport_, metrics_, random_};
  std::unique_ptr<io::HttpClient> http_ = io::make_http_client(loop_, {});
  std::unique_ptr<io::MailClient> mail_ = io::make_mail_client(loop_, {});
  notify::SlackThreads threads_{loop_};
};

}  // namespace

int main() {
  Probe probe;
  for (std::string line; std::getline(std::cin, line);) {
    const auto order = Json::parse(line);
    if (!order) {
      std::cerr << "send: " << order.error().message << "\n";
      return 1;
    }
    std::cout << probe.answer(order->view()).dump() << std::endl;
  }
}
