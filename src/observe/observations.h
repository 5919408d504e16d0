// What careen knows of facts that cannot be watched: the last value of each source, with its age. There are two ways to
// be asked. On demand: a source is asked while decisions want it, once an interval, and never otherwise; an observation
// that let a node pass is used up by it, and the next node needs one that was asked for after that node's write. At a
// standing interval: a source is asked again and again while somebody follows it. A source that hangs or fails delays
// only those of its own endpoint, and these only while it has a turn there.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "observe/observation_schedule.h"

namespace careen::observe {

template <class Source>
concept ObservedSource = std::totally_ordered<Source> && std::copyable<Source> && requires(const Source& source) {
  // The server behind it, in one spelling and without credentials: people and metrics see it.
  { source.endpoint() } -> std::convertible_to<std::string>;
};

template <ObservedSource Source, class Value>
class Observations : private ObservationSchedule::Sources {
 public:
  using Options = ObservationOptions;
  using State = ObservationState<Value>;
  using Interest = ObservationSchedule::Interest;
  // Gives the source's value, or an error in words for people and without secrets.
  using Asker = std::function<io::Task<io::Result<Value>>(Source)>;
  using OnChange = std::function<void(const Source&)>;

  // `on_change` is told of a source whose state() or latest() may have changed, by an answer or by settled(); not of
  // the mere passing of time (see usable_until), nor of what the caller does itself. It may call back.
  Observations(io::Loop& loop, io::Metrics& metrics, Options options, Asker asker, OnChange on_change)
      : asker_(std::move(asker)),
        on_change_(std::move(on_change)),
        schedule_(loop, metrics, std::move(options), *this) {}
  Observations(const Observations&) = delete;
  Observations& operator=(const Observations&) = delete;

  void set_interval(io::Duration interval) { schedule_.set_interval(interval); }

  // Somebody's decision needs the source. It is asked at once when nothing usable is there, and again an interval after
  // the last answer; without a new want() since that answer it is not asked again, and forgotten. Where there is no
  // room for it nothing happens, and state() says so.
  void want(const Source& source) {
    if (const auto id = known_or_added(source)) schedule_.want(*id);
  }

  // The source is asked at the standing interval as long as what this returns lives, and forgotten afterwards. nullopt
  // when there is no room for it.
  [[nodiscard]] std::optional<Interest> follow(const Source& source) {
    const auto id = known_or_added(source);
    if (!id) return std::nullopt;
    return schedule_.follow(*id);
  }

  State state(const Source& source, io::Wall now) const {
    const auto found = ids_.find(source);
    if (found == ids_.end()) return {.why = schedule_.why_unknown()};
    ObservationState<void> plain = schedule_.state(found->second, now);
    State state{.kind = plain.kind, .why = std::move(plain.why), .usable_until = plain.usable_until};
    if (plain.observation) state.observation = typed<Value>(std::move(*plain.observation));
    return state;
  }

  // The last answer, however old or used up; nullopt when there is none.
  std::optional<Observation<Value>> latest(const Source& source) const {
    const auto found = ids_.find(source);
    if (found == ids_.end()) return std::nullopt;
    std::optional<Observation<void>> plain = schedule_.latest(found->second);
    if (!plain) return std::nullopt;
    return typed<Value>(std::move(*plain));
  }

  // The node's pending write rests on the observation: nobody else may use it until settled() is called.
  void use_up(const Source& source, std::string_view node) {
    if (const auto found = ids_.find(source); found != ids_.end()) schedule_.use_up(found->second, node);
  }
  // How the node's write ended. Acknowledged: only what is asked for from now on counts.
  // Surely not happened: what was used up is usable again while it is fresh. As long as it is unknown, do not call.
  void settled(std::string_view node, bool acknowledged) { schedule_.settled(node, acknowledged); }

 private:
  std::optional<SourceId> known_or_added(const Source& source) {
    if (const auto found = ids_.find(source); found != ids_.end()) return found->second;
    const auto id = schedule_.add(source.endpoint());
    if (id) sources_.emplace(*id, &ids_.emplace(source, *id).first->first);
    return id;
  }

  io::Task<ObservationSchedule::Answer> ask(SourceId id) override {
    io::Result<Value> answer = co_await asker_(*sources_.at(id));
    if (!answer) co_return tl::make_unexpected(std::move(answer.error()));
    co_return std::make_shared<const Value>(std::move(*answer));
  }
  void changed(SourceId id) override {
    const Source source = *sources_.at(id);  // forgotten, perhaps, by what on_change_ does
    on_change_(source);
  }
  void forgotten(SourceId id) override {
    const auto found = sources_.find(id);
    ids_.erase(ids_.find(*found->second));
    sources_.erase(found);
  }

  Asker asker_;
  OnChange on_change_;
  std::map<Source, SourceId> ids_;
  std::map<SourceId, const Source*> sources_;  // keys of ids_
  ObservationSchedule schedule_;               // last: what it asks uses all of the above
};

}  // namespace careen::observe
