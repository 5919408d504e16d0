// A message as people get it.
#pragma once

#include <string>

namespace careen::notify {

struct Message {
  std::string title;  // of the thread it opens; only Slack threads have one
  std::string text;
  bool operator==(const Message&) const = default;
};

}  // namespace careen::notify
