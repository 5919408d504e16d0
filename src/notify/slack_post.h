// What posting to Slack has in common, whether through a hook or the Web API.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "io/http.h"
#include "notify/sender.h"

namespace careen::notify {

// The answer, whatever its status. A host that cannot be reached is the endpoint's fault.
io::Task<tl::expected<io::HttpResponse, SendError>> post(Outside& outside, std::string url, std::string content_type,
                                                         std::string body);

// The error when the answer says that Slack is down or wants a pause.
std::optional<SendError> overload(const io::HttpResponse& response);

// What the Retry-After header asks for, if it is there.
std::optional<io::Duration> asked_pause(const io::HttpResponse& response);

// The text with no mention in it (<!channel>, <@U123>), which would ring for everybody: for what is not careen's own
// or the template author's, such as a node's annotations. Links stay.
std::string without_mentions(std::string text);

// The beginning of an answer on one line, for messages.
std::string excerpt(std::string_view body);

// host[:port] of a URL; empty when it is none.
std::string_view authority(std::string_view url);

}  // namespace careen::notify
