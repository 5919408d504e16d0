#include "controllers/profiles/message_posting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controllers/profiles/config.h"
#include "controllers/profiles/decision_draft.h"
#include "controllers/profiles/message_text.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/sooner.h"
#include "templates/analysis.h"

namespace careen::profiles {

namespace {
// What was sent leaves the outbox with the next write, or alone after this long.
constexpr io::Duration kTidyOutbox = io::seconds{2};
}  // namespace

MessagePosting::MessagePosting(DecisionDraft& draft) : d_(draft) {
  const auto text = d_.node.annotation(kOutboxAnnotation);
  if (!text) return;
  auto messages = parse_outbox(*text);
  if (!messages) {
    // What cannot be read cannot be sent.
    changed_ = true;
    return;
  }
  outbox_ = std::move(*messages);
}

bool MessagePosting::tell(const Profile& profile, const ProfileData& data, const StateChains& chains, Why& why) {
  for (const int index : chains.notify) {
    const NotifyInstance& instance = d_.world.config.notifies[static_cast<size_t>(index)];
    const auto known = d_.data.notifications.find(instance.name);
    windows::ScheduleInputs inputs;
    inputs.current_differs_from_previous = data.previous != data.current;
    inputs.previous_is_operational = data.previous.known() == State::operational;
    inputs.now = d_.now;
    inputs.last = known == d_.data.notifications.end() ? kZeroTime : known->second;
    // Told by this very decision, of the state that it has just left.
    if (inputs.last == io::add(d_.now, io::Duration{1})) inputs.last = d_.now;
    inputs.transition = data.transition;
    const windows::ScheduleAnswer answer = windows::due(instance.schedule, inputs);
    if (!answer.due) {
      d_.wake(answer.next);
      continue;
    }
    if (d_.world.notify_blocking) {
      const auto told = d_.world.deliveries.told(d_.node.base().uid, profile.name, instance.name);
      // What was announced for an earlier state is not what is due now.
      const bool of_earlier = told && d_.before.profiles.contains(profile.name) && *told < data.transition;
      if (!told || *told <= inputs.last || of_earlier) {
        wait_for(profile, data, instance, why);
        return false;
      }
      d_.data.notifications[instance.name] = *told;
      continue;
    }
    std::optional<RenderedMessage> message = render(profile, data, instance);
    if (!message) return false;
    d_.say(why, Why::Verdict::note, "notification {} is due", instance.name);
    // A oneshot is due until it has been sent after the transition; sent at that very moment counts as after it.
    const bool at_once = instance.schedule.type == windows::ScheduleType::oneshot && d_.now == data.transition;
    d_.data.notifications[instance.name] = at_once ? io::add(d_.now, io::Duration{1}) : d_.now;
    post(std::move(*message));
  }
  return true;
}

void MessagePosting::wait_for(const Profile& profile, const ProfileData& data, const NotifyInstance& instance,
                              Why& why) {
  if (!d_.decision.effects.announced) {
    if (auto message = render(profile, data, instance)) {
      d_.decision.effects.announced = Announcement{std::move(*message), std::string(data.current.text())};
    }
  }
  const std::string_view error = d_.world.deliveries.refused(d_.node.base().uid, profile.name, instance.name);
  if (!error.empty()) d_.outcome.error = fmt::format("{}: {}", instance.name, error);
  d_.hold_up(why, error.empty() ? Why::Verdict::no : Why::Verdict::error, "notification {} has to be sent first{}{}",
             instance.name, error.empty() ? "" : ": ", error);
}

// Nothing when the node as a whole has to be fetched first.
std::optional<RenderedMessage> MessagePosting::render(const Profile& profile, const ProfileData& data,
                                                      const NotifyInstance& instance) {
  const bool whole = instance.notify->fields().whole;
  if (whole && !d_.world.document && !d_.world.only_explained) {
    d_.decision.obstacle = NeedsDocument{};
    return std::nullopt;
  }
  kube::Json document = whole && d_.world.document ? d_.node.document(*d_.world.document) : d_.node.document();
  document.set({"metadata", "labels", kStateLabel}, name_of(d_.overall()));
  RenderedMessage due;
  due.what = {instance.name,  profile.name,        d_.now, data.current.known(), data.transition,
              last_profile(), any_in_maintenance()};
  due.message = render_message(instance, due.what, d_.node.base().name, document.view(), d_.world.config);
  return due;
}

// As the write leaves the node: a message on leaving is about a node that is out of maintenance.
bool MessagePosting::any_in_maintenance() const {
  return std::any_of(d_.named.begin(), d_.named.end(), [&](const std::string& name) {
    const auto found = d_.data.profiles.find(name);
    return d_.world.config.find_profile(name) && found != d_.data.profiles.end() &&
           found->second.current.known() == State::in_maintenance;
  });
}

std::string MessagePosting::last_profile() const {
  std::string name;
  io::Wall latest = kZeroTime;
  for (const auto& [profile, data] : d_.data.profiles) {
    if (!name.empty() && data.transition <= latest) continue;
    name = profile;
    latest = data.transition;
  }
  return name;
}

std::optional<io::Wall> MessagePosting::sent(const OutboxMessage& message) const {
  return d_.world.deliveries.sent(d_.node.base().uid, message.id());
}

bool MessagePosting::is_known(const OutboxMessage& message) const {
  const std::string id = message.id();
  return d_.world.deliveries.sent(d_.node.base().uid, id) ||
         std::any_of(outbox_.begin(), outbox_.end(), [&](const OutboxMessage& other) { return other.id() == id; });
}

void MessagePosting::post(RenderedMessage due) {
  // One notification may tell of two states in one decision: each is a message of its own.
  while (is_known(due.what)) due.what.at += io::Duration{1};
  outbox_.push_back(due.what);
  d_.decision.effects.posted.push_back(std::move(due));
  changed_ = true;
}

// What was sent leaves, at the latest a little after that.
void MessagePosting::finish() {
  const bool write = d_.node.changed() || changed_;
  std::optional<io::Wall> tidy;
  for (const OutboxMessage& message : outbox_) {
    if (const auto at = sent(message)) sooner(tidy, io::add(*at, kTidyOutbox));
  }
  if (!write && (!tidy || *tidy > d_.now)) {
    sooner(d_.decision.waits.wake, tidy);
    return;
  }
  std::erase_if(outbox_, [&](const OutboxMessage& message) { return sent(message).has_value(); });
  while (outbox_.size() > kMostMessages || (outbox_.size() > 1 && format_outbox(outbox_).size() > kMostOutboxBytes)) {
    d_.decision.effects.dropped.push_back(std::move(outbox_.front()));
    outbox_.erase(outbox_.begin());
  }
  if (outbox_.empty()) {
    d_.node.remove_annotation(kOutboxAnnotation);
  } else if (changed_ || d_.node.annotation(kOutboxAnnotation)) {
    d_.node.set_annotation(kOutboxAnnotation, format_outbox(outbox_));
  }
}

}  // namespace careen::profiles
