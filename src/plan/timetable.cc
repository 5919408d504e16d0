#include "plan/timetable.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/slot/job.h"
#include "controllers/slot/kind.h"
#include "kube/name_order.h"
#include "replica/controllers.h"

namespace careen::plan {

using profiles::State;

std::string campaign_of(std::string_view profile) {
  const std::string_view kind = profile.substr(0, profile.find('/'));
  return std::string(kind.size() < profile.size() && replica::find_controller_kind(kind) ? kind : profile);
}

void Timetable::count(const Key& key, int change) {
  Count& campaign = campaigns_[campaign_of(key.second)];
  size_t& on_node = on_node_[key.first];
  if (change > 0) {
    campaign.most = std::max(campaign.most, ++campaign.now);
    ++on_node;
    most_nodes_ = std::max(most_nodes_, on_node_.size());
    return;
  }
  --campaign.now;
  if (--on_node == 0) on_node_.erase(key.first);
}

void Timetable::wait(const Key& key, io::Wall since) {
  end_waiting(key);
  since_[key] = since;
  waiting_[key.second].insert({since, key.first});
}

void Timetable::end_waiting(const Key& key) {
  const auto known = since_.find(key);
  if (known == since_.end()) return;
  const auto of_profile = waiting_.find(key.second);
  of_profile->second.erase({known->second, key.first});
  if (of_profile->second.empty()) waiting_.erase(of_profile);
  since_.erase(known);
}

PlanRow& Timetable::begin(const Key& key, io::Wall at) {
  const auto known = open_.find(key);
  if (known != open_.end()) return known->second;
  PlanRow row{key.first, key.second, std::nullopt, at, std::nullopt, std::nullopt};
  if (const auto since = since_.find(key); since != since_.end()) row.requested = since->second;
  end_waiting(key);
  count(key, 1);
  return open_.emplace(key, std::move(row)).first->second;
}

void Timetable::end(const Key& key, io::Wall at) {
  const auto known = open_.find(key);
  if (known == open_.end()) return;
  known->second.end = at;
  done_.push_back(std::move(known->second));
  open_.erase(known);
  count(key, -1);
}

void Timetable::withdraw(const Key& key) {
  if (open_.erase(key) > 0) count(key, -1);
}

bool Timetable::drains_on_entering(const std::string& name) const {
  const profiles::Profile* profile = config_.find_profile(name);
  return profile && !profile->at(State::in_maintenance).enter.empty();
}

void Timetable::note_profile(const Key& key, const profiles::ProfileData& data, const io::Wall* begun, io::Wall now) {
  const auto current = data.current.known();
  if (current == State::in_maintenance) {
    const bool drained_before = open_.contains(key) && !open_.at(key).drain;
    PlanRow& row = begin(key, data.transition);
    if (drained_before && row.begin < data.transition) row.drain = data.transition - row.begin;
    // Entering takes as long as what it does there, which only a drain draws out.
    const bool entered = data.previous == data.current;
    if (entered && !row.drain && drains_on_entering(key.second) && now - data.transition > io::seconds{1}) {
      row.drain = now - data.transition;
    }
    return;
  }
  if (current != State::maintenance_required) {
    end(key, data.transition);
    return end_waiting(key);
  }
  const auto open = open_.find(key);
  if (begun) {
    begin(key, *begun);
    return;
  }
  // Back from maintenance to where it is required, or a drain that was given up.
  if (open != open_.end()) {
    if (open->second.begin < data.transition) {
      end(key, data.transition);
    } else {
      withdraw(key);
    }
  }
  wait(key, data.transition);
}

void Timetable::note(const std::string& node, const NodeStory& story, io::Wall now) {
  for (const auto& [profile, data] : story.profiles) {
    if (!config_.find_profile(profile)) continue;
    const auto begun = story.begun.find(profile);
    note_profile({node, profile}, data, begun == story.begun.end() ? nullptr : &begun->second, now);
  }
  if (!story.profiles.empty()) return;
  // It is gone, or forgot everything.
  for (const auto& [profile, known] : config_.profiles) {
    end({node, profile}, now);
    end_waiting({node, profile});
  }
}

namespace {

std::string job_name(const controllers::Kind& kind, const std::string& name) {
  return fmt::format("{}/{}", kind.name, name);
}

}  // namespace

void Timetable::note(const controllers::Kind& kind, const controllers::Job& job, io::Wall now) {
  using Stage = controllers::Job::Stage;
  const Key key{job.node, job_name(kind, job.name)};
  node_of_[key.second] = job.node;
  const io::Wall created = job.created == io::Wall{} ? now : job.created;
  if (job.stage == Stage::waiting || job.stage == Stage::failed) {
    if (!open_.contains(key)) wait(key, created);
    return;
  }
  PlanRow& row = begin(key, now);
  if (!row.requested) row.requested = created;
  if (job.stage == Stage::ready && !row.drain) row.drain = now - row.begin;
}

void Timetable::forget(const controllers::Kind& kind, const std::string& job, io::Wall now) {
  const auto known = node_of_.find(job_name(kind, job));
  if (known == node_of_.end()) return;
  const Key key{known->second, known->first};
  end(key, now);
  end_waiting(key);
  node_of_.erase(known);
}

std::vector<PlanRow> Timetable::rows() const {
  std::vector<PlanRow> rows = done_;
  for (const auto& [key, row] : open_) rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [](const PlanRow& a, const PlanRow& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.node != b.node) return kube::compare_names(a.node, b.node) < 0;
    return a.profile < b.profile;
  });
  return rows;
}

std::vector<std::pair<std::string, std::string>> Timetable::open() const {
  std::vector<Key> keys;
  for (const auto& [key, row] : open_) keys.push_back(key);
  return keys;
}

size_t Timetable::most_at_once(const std::string& campaign) const {
  const auto known = campaigns_.find(campaign);
  return known == campaigns_.end() ? 0 : known->second.most;
}

}  // namespace careen::plan
