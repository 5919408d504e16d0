// Pauses: somebody stops everything, or one profile, for a while. A process that has heard of it moves no state of what
// is paused, and evicts nothing for it.
#include <fmt/format.h>

#include <algorithm>

#include "budget/pause.h"
#include "controllers/profiles/names.h"
#include "kube/steady_refusal.h"
#include "stage.h"

namespace careen::explore {

using budget::PauseRecord;
using kube::Json;

namespace {

constexpr const char* kPausePath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause";

// Until a change in the cluster has reached a process that watches.
constexpr io::Duration kLag = io::seconds{1};
// Until a process that could hear nothing has opened its watches again, or listed again.
constexpr io::Duration kCatchingUp = io::seconds{30};

bool evicts(const kube::Request& request) {
  const std::string_view path = std::string_view(request.path).substr(0, request.path.find('?'));
  return path.ends_with("/eviction") || (request.method == "DELETE" && path.find("/pods/") != std::string_view::npos);
}

// The profile that holds a node under this name; none for a NodeMaintenance.
std::optional<std::string> profile_behind(std::string_view holder) {
  constexpr std::string_view kProfile = "profile/", kBegun = "/begun";
  if (!holder.starts_with(kProfile)) return std::nullopt;
  holder.remove_prefix(kProfile.size());
  if (holder.ends_with(kBegun)) holder.remove_suffix(kBegun.size());
  return std::string(holder);
}

// The data annotation as the write leaves it; nothing when it leaves it alone.
std::optional<profiles::NodeData> written_data(const kube::Request& request) {
  const auto body = Json::parse(request.body);
  const auto text = body ? (*body)["metadata"]["annotations"][profiles::kDataAnnotation].text() : std::nullopt;
  if (!text) return std::nullopt;
  auto data = profiles::parse_node_data(*text);
  return data ? std::optional(std::move(*data)) : std::nullopt;
}

}  // namespace

void Stage::strike_pause(const Perturbation& what) {
  const auto& plans = case_.campaign.settings.plans;
  const size_t choice = what.choice == kEverything ? plans.size() : what.choice % (plans.size() + 1);
  const std::string profile = choice == plans.size() ? "" : plans[choice].name;
  ++paused_[profile];
  write_pauses();
  lasts(what.span);
  // What is called off meanwhile is given back when it is over.
  invariants.disturbed(what.span);
  later(what.span, [this, profile] {
    --paused_[profile];
    write_pauses();
  });
}

void Stage::write_pauses() {
  PauseRecord record;
  for (const auto& [profile, wanted] : paused_) {
    if (wanted > 0)
      record.pauses[profile] = {profile, "ana@host", std::chrono::floor<io::seconds>(time.wall_now()), ""};
  }
  if (paused_since_.contains("") && !record.pauses.contains("")) tell_of_resumption();
  std::erase_if(paused_since_, [&](const auto& stands) { return !record.pauses.contains(stands.first); });
  for (const auto& [profile, pause] : record.pauses) paused_since_.emplace(profile, time.now());
  note(fmt::format("paused: {}", record.text()));
  Json lease = Json::object({{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}});
  lease.set({"metadata", "annotations", PauseRecord::kAnnotation}, record.text());
  cluster->api.put(kPausePath, std::move(lease), "people");
}

// A process that knew of the pause reads each node again before it evicts from it.
void Stage::tell_of_resumption() {
  for (const auto& replica : replicas_) {
    if (replica->process && replica->process->replica().pauses().of("")) invariants.resumed(replica->name);
  }
}

void Stage::see_nothing_new(io::Duration span) {
  unseeing_.push_back({time.now(), time.now() + span + kCatchingUp});
  invariants.unseeing(span + kCatchingUp);
}

// A right that was refused for minutes is taken to be missing, until it is granted.
void Stage::lacks_rights(io::Duration span) {
  if (span < kube::SteadyRefusal::kPatience) return;
  rightless_.push_back({time.now() + kube::SteadyRefusal::kPatience, time.now() + span + kCatchingUp});
}

bool Stage::is_in(const std::vector<Span>& spans) const {
  return std::any_of(spans.begin(), spans.end(),
                     [&](const Span& span) { return span.begun <= time.now() && time.now() < span.until; });
}

// For how long it has stood in the cluster that the profile, or everything, is paused, while the process could hear of
// it. One that has begun to lead meanwhile does nothing before it knows.
std::optional<io::Duration> Stage::paused_for(const std::string& profile, const Replica& sender) const {
  std::optional<io::Steady> since;
  for (const std::string& what : {std::string(), profile}) {
    const auto stands = paused_since_.find(what);
    if (stands != paused_since_.end()) since = std::min(since.value_or(stands->second), stands->second);
  }
  if (!since || is_in(rightless_)) return std::nullopt;
  if (sender.leads_since && *since <= *sender.leads_since) return time.now() - *since;
  for (const Span& unseeing : unseeing_) since = std::max(*since, unseeing.until);
  return time.now() - *since;
}

// It was told, or somebody should have told it.
bool Stage::heeds_pause_of(const std::string& profile, const Replica& sender) const {
  return sender.process->replica().pauses().of(profile) != nullptr ||
         paused_for(profile, sender).value_or(io::Duration{0}) > kLag;
}

void Stage::check_paused_eviction(const sim::Sending& sending, const Replica& sender) {
  const auto blame = [&](std::string_view why) {
    invariants.violate("pause", fmt::format("{} evicts although {}: {}", sending.client, why, sending.request.path));
  };
  if (heeds_pause_of("", sender)) return blame("everything is paused");
  const std::set<std::string> holders = invariants.evicts_for(sending);
  const bool somebody_goes_on = std::any_of(holders.begin(), holders.end(), [&](const std::string& holder) {
    const auto profile = profile_behind(holder);
    return !profile || !heeds_pause_of(*profile, sender);
  });
  if (holders.empty() || somebody_goes_on) return;
  blame(fmt::format("{} is paused, and nobody else holds the node", *holders.begin()));
}

void Stage::check_paused(const sim::Sending& sending, const Replica& sender) {
  if (!sender.process) return;
  if (evicts(sending.request)) return check_paused_eviction(sending, sender);
  const std::string path = sending.request.path.substr(0, sending.request.path.find('?'));
  if (!path.starts_with("/api/v1/nodes/") || sending.request.method != "PATCH") return;
  const auto written = written_data(sending.request);
  if (!written) return;
  const budget::Pauses& told = sender.process->replica().pauses();
  const NodeFacts before = NodeFacts::read(cluster->api.object(path).dump());
  for (const auto& [profile, data] : written->profiles) {
    const profiles::ProfileData* known = before.profile(profile);
    if (!known || known->current == data.current || !heeds_pause_of(profile, sender)) continue;
    invariants.violate(
        "pause",
        fmt::format("{} moves profile {} of {} to {} although {}", sending.client, profile, path, data.current.text(),
                    told.of(profile) ? fmt::format("it is {}", told.of(profile)->text())
                                     : fmt::format("a pause has stood in the cluster for {}",
                                                   io::format_duration(*paused_for(profile, sender)))));
  }
}

}  // namespace careen::explore
