#include "requests_campaign.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>

#include "controllers/requests/hosted.h"
#include "controllers/requests/names.h"
#include "draw.h"
#include "governor_watch.h"
#include "requests_actors.h"
#include "requests_plan.h"
#include "requests_watch.h"

namespace careen::explore {

using io::minutes;
using io::seconds;
using kube::Json;

namespace {

// The model does not know the kind by itself.
Json webhooks_definition() {
  const std::string group = "admissionregistration.k8s.io", plural = "validatingwebhookconfigurations";
  Json definition = Json::object({{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "CustomResourceDefinition"}});
  definition.set({"metadata", "name"}, plural + "." + group);
  definition.set({"metadata", "annotations", "api-approved.kubernetes.io"}, "unapproved, a test");
  definition.set({"spec", "group"}, group).set({"spec", "scope"}, "Cluster");
  definition.set({"spec", "names"}, Json::object({{"plural", plural},
                                                  {"singular", "validatingwebhookconfiguration"},
                                                  {"kind", "ValidatingWebhookConfiguration"},
                                                  {"listKind", "ValidatingWebhookConfigurationList"}}));
  Json version = Json::object({{"name", "v1"}, {"served", true}, {"storage", true}});
  version.set({"schema", "openAPIV3Schema"},
              Json::object({{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}));
  definition.set({"spec", "versions"}, Json::array({std::move(version)}));
  return definition;
}

class RequestsGuest final : public Guest {
 public:
  explicit RequestsGuest(std::shared_ptr<const RequestsPlan> plan) : plan_(std::move(plan)) {}

  std::shared_ptr<const controllers::Choice> choice() const override { return requests::kind().usual(); }
  bool owns(std::string_view key) const override { return key == requests::kCordonedBy || GovernorWatch::owns(key); }
  // A node that is gone is missed for an hour.
  bool claims(std::string_view by) const override { return by == "missing" || by.starts_with("queue/"); }
  bool writes(std::string_view collection) const override {
    return collection == kLimitsPath || collection == kWebhooksPath || collection == kDaemonSetsPath;
  }
  std::vector<Json> definitions() const override { return {webhooks_definition()}; }
  std::unique_ptr<GuestActors> actors(Hands hands) const override {
    return std::make_unique<RequestsActors>(plan_, std::move(hands));
  }
  std::unique_ptr<GuestWatch> watch(Report report, std::function<io::Duration()> now) const override {
    return std::make_unique<RequestsWatch>(plan_, std::move(report), std::move(now));
  }

 private:
  std::shared_ptr<const RequestsPlan> plan_;
};

Json object(const char* kind, std::string_view name) {
  Json object = Json::object({{"apiVersion", "repairman.k8s.io/v1"}, {"kind", kind}});
  object.set({"metadata", "name"}, std::string(name));
  return object;
}

// A dead actor's place is free again after a minute, so that a campaign lives to see it.
Json limit_of(const RequestsPlan& plan) {
  const Cap& cap = plan.cap;
  Json limit = object("MaintenanceLimit", "node");
  limit.set({"spec", "maxUnavailable"}, static_cast<int64_t>(cap.nodes));
  limit.set({"spec", "count"}, cap.counts_others ? "All" : "Policies");
  if (plan.queues && *plan.queues == io::Duration{}) limit.set({"spec", "mode"}, "Queue");
  if (plan.governs) limit.set({"spec", "governors"}, Json::array({"clusterAutoscaler", "kured"}));
  if (plan.drains_first) {
    const auto seconds_of = [](io::Duration span) { return std::chrono::duration_cast<io::seconds>(span).count(); };
    limit.set({"spec", "drain"}, Json::object({{"enabled", true}, {"force", true}}));
    limit.set({"spec", "drain", "timeoutSeconds"}, seconds_of(plan.drains_first->timeout));
    limit.set({"spec", "drain", "afterSeconds"}, seconds_of(plan.drains_first->after));
  }
  if (cap.by_zone) limit.set({"spec", "groupBy"}, Json::array({kZone}));
  limit.set({"spec", "timeouts", "approvedSeconds"}, int64_t{60});
  limit.set({"spec", "timeouts", "evidenceSeconds"}, int64_t{60});
  // Long before the campaign has to be quiet.
  limit.set({"spec", "ttlSecondsAfterFinished"}, int64_t{20});
  return limit;
}

void ask_for(Campaign& campaign, RequestsPlan& plan, io::Duration at, const Errand& errand) {
  const std::string name = fmt::format("r{:02}", plan.errands.size());
  Json request = object("MaintenanceRequest", name);
  request.set({"metadata", "labels", "maintenancerequests.repairman.k8s.io/clientname"}, "actor-" + name);
  request.set({"spec", "name"}, errand.node).set({"spec", "type"}, "node").set({"spec", "state"}, "Pending");
  campaign.edits.push_back({at, errand.node, Edit::Kind::create, std::string(kRequestsPath), request});
  plan.errands.emplace(name, errand);
}

Errand draw_errand(Draw& draw, const std::string& node) {
  using Dies = Errand::Dies;
  Errand errand;
  errand.node = node;
  errand.begins_after = draw.between(io::Duration{0}, seconds{20});
  errand.works_for = draw.between(seconds{1}, seconds{40});
  errand.cordons = !draw.one_in(4);
  if (draw.one_in(4)) errand.dies = draw.of({Dies::begin, Dies::cordon, Dies::complete, Dies::uncordon});
  errand.cleaned_up_after = draw.between(seconds{30}, minutes{2});
  return errand;
}

// Some of them on nodes that people have cordoned; some are called off while they wait.
void draw_requests(Draw& draw, Campaign& campaign, RequestsPlan& plan) {
  for (const NodePlan& node : campaign.nodes) {
    for (int count = draw.between(0, 2); count > 0; --count) {
      const io::Duration at = draw.between(seconds{5}, minutes{3});
      ask_for(campaign, plan, at, draw_errand(draw, node.name));
      if (!draw.one_in(8)) continue;
      campaign.edits.push_back({at + draw.between(seconds{1}, minutes{1}), node.name, Edit::Kind::erase,
                                fmt::format("{}/r{:02}", kRequestsPath, plan.errands.size() - 1)});
    }
  }
}

void let_people_cordon(Draw& draw, Campaign& campaign) {
  for (const NodePlan& node : campaign.nodes) {
    if (!draw.one_in(4)) continue;
    const io::Duration at = draw.between(seconds{1}, minutes{2});
    campaign.edits.push_back({at, node.name, Edit::Kind::cordon});
    campaign.edits.push_back({at + draw.between(seconds{20}, minutes{2}), node.name, Edit::Kind::uncordon});
  }
}

// Users hold the same programs back for reasons of their own.
void draw_governed(Draw& draw, Campaign& campaign, RequestsPlan& plan) {
  plan.governs = true;
  Json kured = Json::object({{"apiVersion", "apps/v1"}, {"kind", "DaemonSet"}});
  kured.set({"metadata", "name"}, "kured").set({"metadata", "namespace"}, "kube-system");
  kured.set({"spec", "selector", "matchLabels", "app"}, "kured");
  kured.set({"spec", "template", "metadata", "labels", "app"}, "kured");
  kured.set({"spec", "template", "spec", "nodeSelector", "people.example/none"}, "none");
  kured.set({"spec", "template", "spec", "containers"}, Json::array({Json::object({{"name", "c"}, {"image", "i"}})}));
  if (draw.one_in(3)) kured.set({"metadata", "annotations", kKuredLock}, R"({"nodeID":"somebody"})");
  const std::string sets(std::string_view(kKuredPath).substr(0, std::string_view(kKuredPath).rfind('/')));
  campaign.edits.push_back({io::Duration{}, {}, Edit::Kind::create, sets, std::move(kured)});
  for (const NodePlan& node : campaign.nodes) {
    if (!draw.one_in(3)) continue;
    const io::Duration at = draw.one_in(2) ? io::Duration{} : draw.between(seconds{1}, minutes{3});
    campaign.edits.push_back(
        {at, node.name, Edit::Kind::annotate, kScaleDownDisabled, draw.of({"true", "true", "false"})});
    if (draw.one_in(2)) continue;
    campaign.edits.push_back(
        {at + draw.between(seconds{5}, minutes{2}), node.name, Edit::Kind::annotate, kScaleDownDisabled, nullptr});
  }
}

// On nodes that nobody else cordons, so that it is clear who has them. Not all of them are about to be people.
void draw_drains(Draw& draw, Campaign& campaign, RequestsPlan& plan) {
  std::set<std::string> cordoned;
  for (const Edit& edit : campaign.edits) {
    if (edit.kind == Edit::Kind::cordon) cordoned.insert(edit.node);
  }
  for (const auto& [request, errand] : plan.errands) {
    if (errand.cordons) cordoned.insert(errand.node);
  }
  for (const NodePlan& node : campaign.nodes) {
    if (cordoned.contains(node.name) || draw.one_in(3)) continue;
    ForeignDrain drain;
    drain.node = node.name;
    drain.at = draw.between(seconds{2}, minutes{3});
    drain.user = draw.of({"ana", "ben", "system:serviceaccount:ops:upgrader"});
    drain.pods = draw.between(1, 3);
    drain.works_for = draw.between(seconds{1}, seconds{40});
    if (draw.one_in(6)) drain.patience = draw.between(seconds{10}, minutes{2});
    plan.drains.push_back(std::move(drain));
  }
}

void join(Campaign& campaign, std::shared_ptr<RequestsPlan> plan) {
  campaign.asks = plan->queues.has_value();
  campaign.edits.push_back({io::Duration{0}, {}, Edit::Kind::create, std::string(kLimitsPath), limit_of(*plan)});
  if (campaign.asks && *plan->queues > io::Duration{}) {
    campaign.edits.push_back({*plan->queues,
                              {},
                              Edit::Kind::change,
                              std::string(kLimitsPath) + "/node",
                              Json::object({{"spec", Json::object({{"mode", "Queue"}})}})});
  }
  campaign.edits = in_order(std::move(campaign.edits));
  campaign.guests = {std::make_shared<RequestsGuest>(std::move(plan))};
}

}  // namespace

Campaign draw_requests_campaign(uint64_t seed) {
  Campaign campaign = draw_campaign(seed);
  Draw draw(seed * 11 + 9);
  auto plan = std::make_shared<RequestsPlan>();
  plan->cap = {.nodes = draw.between(1, 3), .by_zone = draw.one_in(4), .counts_others = !draw.one_in(3)};
  draw_requests(draw, campaign, *plan);
  let_people_cordon(draw, campaign);
  Draw apart(seed * 17 + 3);
  if (apart.one_in(3)) {
    plan->cap.counts_others = true;
    plan->queues = apart.one_in(3) ? apart.between(seconds{5}, minutes{2}) : io::Duration{};
    draw_drains(apart, campaign, *plan);
  }
  if (apart.one_in(3)) {
    plan->drains_first = DrainFirst{.timeout = apart.of<io::Duration>({seconds{0}, seconds{60}}),
                                    .after = apart.of<io::Duration>({seconds{0}, seconds{0}, seconds{10}})};
  }
  if (apart.one_in(3)) draw_governed(apart, campaign, *plan);
  join(campaign, std::move(plan));
  return campaign;
}

Campaign small_requests_campaign(SmallRequests how) {
  Campaign campaign = small_campaign(2, false);
  auto plan = std::make_shared<RequestsPlan>();
  plan->cap = {.nodes = 1, .counts_others = true};
  if (how == SmallRequests::drain) plan->drains_first = DrainFirst{};
  plan->governs = how == SmallRequests::drain;
  for (const NodePlan& node : campaign.nodes) {
    Errand errand{.node = node.name, .begins_after = seconds{1}, .works_for = seconds{5}};
    if (how == SmallRequests::die && plan->errands.empty()) errand.dies = Errand::Dies::cordon;
    ask_for(campaign, *plan, seconds{2}, errand);
  }
  join(campaign, std::move(plan));
  return campaign;
}

}  // namespace careen::explore
