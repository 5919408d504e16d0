// The outbox of a node: which messages are due and have not been sent yet, in an annotation of careen's own. They are
// written together with the change they report and removed once they have been sent, so neither a crash nor a mail
// server that is down for the night loses one. What a message says is never in it: a kubelet may write its node's
// annotations, and no text of a stranger reaches people. Deliveries is what this process knows of them beyond that,
// such as their texts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/profiles/data.h"
#include "controllers/profiles/state.h"
#include "io/result.h"
#include "io/time.h"
#include "notify/message.h"

namespace careen::kube {
struct Node;
}

namespace careen::profiles {

struct OutboxMessage {
  std::string instance;  // of the configuration: who knows how to send it
  std::string profile;
  io::Wall at{};  // when it became due
  // Of that moment, what its text may name; a record of an earlier careen lacks these.
  std::optional<State> state = {};  // of the profile
  io::Wall since = kZeroTime;       // when the profile entered it
  std::string last = {};            // profile of the node's latest transition
  bool in_maintenance = false;      // any profile of the node

  // Unique on its node.
  std::string id() const;
  bool operator==(const OutboxMessage&) const = default;
};

// One that this process has rendered.
struct RenderedMessage {
  OutboxMessage what;
  notify::Message message;
};

// More would grow the node object without helping anybody.
inline constexpr size_t kMostMessages = 16;
// Of the annotation; all annotations of an object together have 256 KiB.
inline constexpr size_t kMostOutboxBytes = 96 << 10;

// Why a message waits that could be sent.
inline constexpr std::string_view kTooManyMessages = "the node has sent so many messages that this one has to wait";

// Empty for an absent annotation. More than careen would write is not read.
io::Result<std::vector<OutboxMessage>> parse_outbox(std::string_view annotation);
io::Result<std::vector<OutboxMessage>> outbox_of(const kube::Node& node);
std::string format_outbox(const std::vector<OutboxMessage>& messages);

class Deliveries {
 public:
  struct Attempt {
    int tries = 0;
    std::string error;
  };

  // When the message was sent; nullopt as long as it was not.
  std::optional<io::Wall> sent(std::string_view node_uid, std::string_view id) const;
  void set_sent(const std::string& node_uid, const std::string& id, io::Wall at);
  bool any_sent(std::string_view node_uid) const;
  // Failed tries of a message that waits; nullptr when there was none.
  const Attempt* attempt(std::string_view node_uid, std::string_view id) const;
  void set_failed(const std::string& node_uid, const std::string& id, int tries, std::string error);
  // What it says, if this process has rendered it.
  const notify::Message* text(std::string_view node_uid, std::string_view id) const;
  void set_text(const std::string& node_uid, const std::string& id, notify::Message message);
  // Whether the node's ration had room for it; nothing as long as nobody has asked.
  enum class Turn { unknown, waits, given };
  Turn turn(std::string_view node_uid, std::string_view id) const;
  void set_turn(const std::string& node_uid, const std::string& id, Turn turn);
  // The node's annotation no longer has any but these.
  void keep_only(std::string_view node_uid, const std::vector<OutboxMessage>& messages);

  // For messages that are sent before the state machine moves on, by profile and instance: when one was sent that the
  // node's data does not show yet, and why the latest try failed.
  std::optional<io::Wall> told(std::string_view node_uid, std::string_view profile, std::string_view instance) const;
  std::string_view refused(std::string_view node_uid, std::string_view profile, std::string_view instance) const;
  void set_told(const std::string& node_uid, const OutboxMessage& message);
  void set_refused(const std::string& node_uid, const OutboxMessage& message, std::string error);

  void forget(std::string_view node_uid);

 private:
  struct Known {
    std::optional<io::Wall> sent;
    Attempt attempt;
    std::optional<notify::Message> text;
    Turn turn = Turn::unknown;
  };
  using ById = std::map<std::string, Known, std::less<>>;
  const Known* find(std::string_view node_uid, std::string_view id) const;
  struct Told {
    std::optional<io::Wall> at;
    std::string error;
  };
  const Told* find_told(std::string_view node_uid, std::string_view profile, std::string_view instance) const;
  std::map<std::string, ById, std::less<>> nodes_;
  std::map<std::string, std::map<std::pair<std::string, std::string>, Told>, std::less<>> told_;
};

}  // namespace careen::profiles
