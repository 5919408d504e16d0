// The part of a decision that is about messages: which notifications are due, what they say, and what the node's outbox
// holds after the write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/profiles/outbox.h"

namespace careen {
struct Why;
}

namespace careen::profiles {

struct DecisionDraft;
struct NotifyInstance;
struct Profile;
struct ProfileData;
struct StateChains;

class MessagePosting {
 public:
  // With what is in the outbox.
  explicit MessagePosting(DecisionDraft& draft);

  // Puts the messages that are due into the outbox. False when the profile has to wait for one.
  bool tell(const Profile& profile, const ProfileData& data, const StateChains& chains, Why& why);
  // Puts the outbox into the patch, if there is one or it is time.
  void finish();

 private:
  void wait_for(const Profile& profile, const ProfileData& data, const NotifyInstance& instance, Why& why);
  std::optional<RenderedMessage> render(const Profile& profile, const ProfileData& data,
                                        const NotifyInstance& instance);
  bool any_in_maintenance() const;
  std::string last_profile() const;
  std::optional<io::Wall> sent(const OutboxMessage& message) const;
  bool is_known(const OutboxMessage& message) const;
  void post(RenderedMessage due);

  DecisionDraft& d_;
  std::vector<OutboxMessage> outbox_;
  bool changed_ = false;
};

}  // namespace careen::profiles
