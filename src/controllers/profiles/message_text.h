// What a message says: its notification's template, filled in with the node and with the moment that the message is
// about. The decision that a message is due renders it; a process that finds one in an outbox that it did not put there
// renders it again.
#pragma once

#include <cstddef>
#include <string_view>

#include "io/time.h"
#include "kube/json.h"
#include "notify/message.h"

namespace careen::kube {
struct Node;
}

namespace careen::profiles {

struct Config;
struct NotifyInstance;
struct OutboxMessage;

// Longer ones are cut.
inline constexpr size_t kMostMessageBytes = 16 << 10;
inline constexpr size_t kMostTitleBytes = 1 << 10;

// The notification of that name if the message's profile has it in some state. Null otherwise: nobody has configured
// that such a message be sent.
const NotifyInstance* notification_of(const Config& config, const OutboxMessage& message);

// `node` is how the API server has it, or as much of that as the template names.
notify::Message render_message(const NotifyInstance& instance, const OutboxMessage& about, std::string_view node_name,
                               kube::JsonView node, const Config& config);

// How often a node may send a message in the long run: as often as all periodic notifications together are due, and
// once a minute more.
io::Duration message_pace(const Config& config);

// A record as it was found on the node: what it lacks is taken from the node, and what names no profile is left out.
OutboxMessage completed(OutboxMessage found, const kube::Node& node, const Config& config);

}  // namespace careen::profiles
