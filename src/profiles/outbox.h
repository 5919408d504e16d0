// The outbox of a node: messages that are due and have not been sent yet, rendered, in an annotation of careen's own.
// They are written together with what they tell of and removed after they were sent, so neither a crash nor a mail
// server that is down for the night loses one. Deliveries is what this process knows of them beyond that.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result.h"
#include "io/time.h"

namespace careen::profiles {

struct OutboxMessage {
  std::string instance;  // of the configuration: who knows how to send it
  std::string profile;
  io::Wall at{};  // when it became due
  std::string title;
  std::string text;

  // Unique on its node.
  std::string id() const;
  bool operator==(const OutboxMessage&) const = default;
};

// More would grow the node object without helping anybody.
inline constexpr size_t kMostMessages = 16;
inline constexpr size_t kMostMessageBytes = 16 << 10;
inline constexpr size_t kMostTitleBytes = 1 << 10;
// Of the annotation; all annotations of an object together have 256 KiB.
inline constexpr size_t kMostOutboxBytes = 96 << 10;

// Empty for an absent annotation.
io::Result<std::vector<OutboxMessage>> parse_outbox(std::string_view annotation);
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
  // The node's annotation no longer has any but these.
  void keep_only(std::string_view node_uid, const std::vector<OutboxMessage>& messages);

  // Of messages that are sent before the state machine goes on, by profile and instance: when one was sent that the
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
