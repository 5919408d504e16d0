// How the API server asks careen about evictions: any replica that runs, which may not answer, and then the eviction
// passes (failurePolicy Ignore). A replica that does not lead asks the one that it takes for the leader.
#include <fmt/format.h>

#include "io/metrics.h"
#include "io/sync.h"
#include "kube/lock.h"
#include "stage.h"
#include "turnstile/question.h"

namespace careen::explore {

using io::milliseconds;
using io::Result;
using kube::Json;

namespace {

// As the configuration that careen registers says.
constexpr io::Duration kAnswersWithin = io::seconds{1};
constexpr io::Duration kLooksAgain = io::seconds{10};
constexpr const char* kConfiguration =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/careen-limits";

io::ServerRequest post(std::string path, std::string review, bool passed_on) {
  io::ServerRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.headers = {{"Content-Type", "application/json"}};
  if (passed_on) request.headers.emplace_back("X-Careen-Forwarded", "true");
  request.body = std::move(review);
  return request;
}

std::string review_of_eviction(const Hands::Eviction& eviction) {
  Json object = Json::object({{"apiVersion", "policy/v1"}, {"kind", "Eviction"}});
  object.set({"metadata", "name"}, eviction.pod);
  Json request = Json::object({{"uid", "asked"}, {"operation", "CREATE"}, {"namespace", "default"}});
  request.set({"name"}, eviction.pod).set({"userInfo", "username"}, eviction.user).set({"object"}, std::move(object));
  return Json::object({{"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}})
      .dump();
}

}  // namespace

// What one replica is asked by another, who may have stopped waiting.
struct Stage::PassedOn {
  io::OneShot<Result<std::string>>* reply = nullptr;
};

void Stage::serve_webhooks(Replica& replica) {
  turnstile::Reach reach;
  reach.client_config = [](const std::string& path) -> Result<Json> {
    return Json::object({{"url", "https://careen.example" + path}});
  };
  reach.ask_leader = [this, &replica](std::string path, std::string review) {
    return ask_leader(replica, replica.name, std::move(path), std::move(review));
  };
  replica.process->serve_webhooks(std::move(reach));
}

bool Stage::is_reachable(const Replica& replica) const {
  const bool isolated = replica.isolated_until && time.now() < *replica.isolated_until;
  return replica.process && !replica.dying && !replica.suspended && !isolated;
}

io::Task<Result<std::string>> Stage::ask_leader(Replica& asking, std::string name, std::string path,
                                                std::string review) {
  const std::string holder = asking.process->replica().election().holder();
  Replica* leader = nullptr;
  for (const auto& one : replicas_) {
    if (one->process && !holder.empty() && one->process->replica().identity() == holder) leader = one.get();
  }
  if (!leader) co_return io::fail(io::ErrorKind::connect, "no replica leads at the moment");
  io::OneShot<Result<std::string>> reply(asking.process->replica().loop());
  const auto call = std::make_shared<PassedOn>(&reply);
  struct Hangup {
    PassedOn& call;
    ~Hangup() { call.reply = nullptr; }
  };
  const Hangup hangup{*call};
  later(draw_.between(milliseconds{1}, milliseconds{8}),
        [this, call, leader, &asking, to = leader->name, name, path = std::move(path), review = std::move(review)] {
          if (leader->name != to || asking.name != name) return;
          if (parted_ > 0 || !is_reachable(*leader) || !is_reachable(asking)) return;
          leader->process->ask(post(path, review, true), [this, call](io::ServerResponse response) {
            later(draw_.between(milliseconds{1}, milliseconds{8}), [call, body = std::move(response.body)] {
              if (call->reply) call->reply->set(body);
            });
          });
        });
  co_return co_await reply.take();
}

// What has become of it, told to the invariants and to whoever asked for it.
void Stage::evicted(const Hands::Eviction& eviction, Passage passage) {
  // For a replica that reaches nobody nobody decides.
  if (passage == Passage::open && time.now() < together_) passage = Passage::lost;
  note(fmt::format("{} evicts {} from {}: {}", eviction.user, eviction.pod, eviction.node, name_of(passage)));
  invariants.evicted({eviction.node, eviction.user, passage});
  const std::string path = "/api/v1/namespaces/default/pods/" + eviction.pod;
  if (passage != Passage::refused && cluster->api.text(path)) cluster->api.erase(path, "people");
  eviction.tell(passage != Passage::refused);
}

void Stage::evict(Hands::Eviction eviction) {
  // One that is not there is not found.
  if (!cluster->api.text("/api/v1/namespaces/default/pods/" + eviction.pod)) return eviction.tell(true);
  const Json configuration = cluster->api.object(kConfiguration);
  if (!configuration.view().is_object()) return evicted(eviction, Passage::unasked);
  std::vector<Replica*> serving;
  for (const auto& replica : replicas_) {
    if (replica->process && !replica->dying && !replica->process->exit_code()) serving.push_back(replica.get());
  }
  if (serving.empty() || webhook_lost_ > 0) return evicted(eviction, Passage::lost);
  Replica& asked = *draw_.of(serving);
  const auto asking = std::make_shared<Hands::Eviction>(std::move(eviction));
  const auto done = std::make_shared<bool>(false);
  later(kAnswersWithin, [this, asking, done] {
    if (!std::exchange(*done, true)) evicted(*asking, Passage::lost);
  });
  if (!is_reachable(asked)) return;
  const auto opened = [](Replica& replica) {
    return replica.process->replica()
        .metrics()
        .counter("careen_limit_webhook_answers_total", "", {{"answer", "open"}})
        .value();
  };
  asked.process->ask(
      post(std::string(turnstile::kEvictionPath), review_of_eviction(*asking), false),
      [this, asking, done, &asked, opened, before = opened(asked)](io::ServerResponse response) {
        const auto verdict = turnstile::verdict_in(response.body);
        const bool open = opened(asked) > before;
        later(draw_.between(milliseconds{1}, milliseconds{8}), [this, asking, done, verdict, open] {
          if (std::exchange(*done, true)) return;
          if (!verdict) return evicted(*asking, Passage::lost);
          evicted(*asking, !verdict->allowed ? Passage::refused : open ? Passage::open : Passage::allowed);
        });
      });
}

void Stage::lose_webhook(const Perturbation& what) {
  int& lost = what.choice % 3 == 0 ? parted_ : webhook_lost_;
  ++lost;
  lasts(what.span);
  if (&lost == &parted_) together_ = std::max(together_, time.now() + what.span + kLooksAgain);
  later(what.span, [&lost] { --lost; });
}

std::string_view name_of(Passage passage) {
  switch (passage) {
    case Passage::unasked:
      return "careen is not asked";
    case Passage::lost:
      return "careen does not answer";
    case Passage::open:
      return "careen lets everybody pass";
    case Passage::allowed:
      return "careen allows it";
    case Passage::refused:
      return "careen refuses it";
  }
  return "";
}

}  // namespace careen::explore
