#include "stagger_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/json.h"

namespace careen::explore {

using kube::Json;

namespace {

// Between taking a lease and writing the node.
constexpr io::Duration kAtOnce = io::seconds{5};
// Between the decision to take one and the arrival of that.
constexpr io::Duration kInFlight = io::seconds{15};

struct Spec {
  std::string holder;
  io::Wall acquired{}, renewed{};
  io::Duration duration{};

  static Spec of(const sim::Text& lease) {
    Spec spec;
    const auto document = Json::parse(*lease);
    const kube::JsonView json = (*document)["spec"];
    spec.holder = std::string(json["holderIdentity"].text().value_or(""));
    spec.acquired = io::parse_rfc3339(json["acquireTime"].text().value_or("")).value_or(io::Wall{});
    spec.renewed = io::parse_rfc3339(json["renewTime"].text().value_or("")).value_or(io::Wall{});
    spec.duration = io::seconds{json["leaseDurationSeconds"].integer().value_or(0)};
    return spec;
  }
};

std::string group_of(const std::string& lease) { return lease.substr(0, lease.rfind('-')); }
int index_of(const std::string& lease) { return std::stoi(lease.substr(lease.rfind('-') + 1)); }

}  // namespace

bool StaggerWatch::concerns(std::string_view lease) { return lease.starts_with("pace-") || lease.starts_with("step-"); }

void StaggerWatch::changed(const sim::Change& change, bool by_careen, io::Steady now) {
  if (by_careen) return changed_by_careen(change, now);
  // Taking away leases that others hold lets more nodes pass than should.
  current_.erase(change.name);
  incomparable_.insert(group_of(change.name));
}

void StaggerWatch::changed_by_careen(const sim::Change& change, io::Steady now) {
  const auto blame = [&](std::string_view why) {
    report_("stagger", fmt::format("{} wrote lease {} {}: {}", change.by, change.name, why, *change.object));
  };
  if (change.type == sim::Change::Type::deleted) return blame("away");
  const Spec is = Spec::of(change.object);
  const auto edited = edited_.find(is.holder);
  bool doubtful = edited != edited_.end() && now - edited->second <= kInFlight;
  if (change.before) {
    const Spec was = Spec::of(change.before);
    const auto current = current_.find(change.name);
    Take* take = current == current_.end() ? nullptr : &takes_[current->second];
    const bool its = take && take->node == was.holder && take->acquired == was.acquired;
    const bool begun = its && !take->spent;
    if (is.renewed < was.renewed) {
      if (!begun) return blame("back although no transition of its holder is under way");
      take->returned = true;
      current_.erase(current);
      return;
    }
    // Strictly, but for what is lost where times are kept in microseconds.
    const bool over = is.renewed - was.renewed >= was.duration;
    // A move whose record others have changed since cannot be told from one that never came: its node may pass again.
    const bool again = (begun || (its && take->doubtful)) && is.holder == was.holder;
    if (!over && !again) {
      return blame(fmt::format("while {} held it", was.holder));
    }
    doubtful |= its && !over && take->doubtful;
  }
  if (is.acquired > is.renewed) blame("as held before it was decided to take it");
  current_[change.name] = takes_.size();
  takes_.push_back({change.name, is.holder, is.acquired, is.renewed, is.duration, now, false, false, doubtful});
}

void StaggerWatch::moved(const std::string& node, const Stagger& stagger, io::Wall decided, bool need_not_wait) {
  const io::Wall acquired = std::chrono::floor<io::microseconds>(decided);
  const auto taken = [&](const Take& known) {
    return known.node == node && known.acquired == acquired && group_of(known.lease) == stagger.group;
  };
  const auto fits = [&](const Take& known) {
    return index_of(known.lease) < stagger.parallel && known.duration == stagger.duration;
  };
  // Two profiles of the node may have been decided on at once, and share the leases for times of their own.
  auto take =
      std::find_if(takes_.rbegin(), takes_.rend(), [&](const Take& known) { return taken(known) && fits(known); });
  if (take == takes_.rend() && !need_not_wait) take = std::find_if(takes_.rbegin(), takes_.rend(), taken);
  if (take == takes_.rend()) {
    if (!need_not_wait) report_("stagger", fmt::format("node {} passed without a lease of {}", node, stagger.group));
    return;
  }
  if (take->returned) report_("stagger", fmt::format("node {} passed with {}, given back before", node, take->lease));
  if (!fits(*take)) {
    report_("stagger", fmt::format("node {} took {} for {}, which is not what is configured", node, take->lease,
                                   io::format_duration(take->duration)));
  }
  take->spent = true;
  if (need_not_wait) return;
  passes_[stagger.group].push_back({take->renewed, take->at, stagger, node});
  check_distance(stagger.group);
}

void StaggerWatch::check_distance(const std::string& group) {
  if (incomparable_.contains(group)) return;
  const auto& passes = passes_[group];
  // A check that looks at fewer leases than others does not see what those have taken.
  const auto differs = [&](const Pass& pass) { return pass.stagger.parallel != passes.front().stagger.parallel; };
  if (std::any_of(passes.begin(), passes.end(), differs)) return;
  for (const Pass& pass : passes) {
    std::string who;
    int others = 0;
    for (const Pass& other : passes) {
      const io::Duration most = other.stagger.duration;
      if (other.node == pass.node || other.at > pass.at || pass.at - other.at >= most ||
          pass.taken - other.taken >= most) {
        continue;
      }
      ++others;
      who += " " + other.node;
    }
    if (others < pass.stagger.parallel) continue;
    report_("stagger", fmt::format("node {} passed {} at {} with{} within the time of a lease", pass.node, group,
                                   io::format_rfc3339(pass.at), who));
  }
}

void StaggerWatch::edited(const std::string& node, io::Steady now) {
  edited_[node] = now;
  for (const auto& [lease, index] : current_) takes_[index].doubtful |= takes_[index].node == node;
}

void StaggerWatch::succeeded() {
  for (const auto& [lease, index] : current_) takes_[index].doubtful = true;
}

void StaggerWatch::check_left(io::Steady now, io::Wall wall, io::Steady calm_since) {
  for (const auto& [lease, index] : current_) {
    const Take& take = takes_[index];
    if (take.spent || take.doubtful || now - std::max(take.at, calm_since) <= kAtOnce ||
        take.renewed + take.duration < wall)
      continue;
    report_("begun", fmt::format("lease {} stays with node {}, which does not move", lease, take.node));
    return;
  }
}

}  // namespace careen::explore
