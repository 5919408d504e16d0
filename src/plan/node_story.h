// What the model's nodes say of their maintenance, read from each change of a node as it happens: the state of each
// profile, and transitions that have begun with a drain. Changes that say nothing new are passed over unread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "controllers/profiles/data.h"
#include "io/time.h"
#include "sim/api_server.h"

namespace careen::plan {

struct NodeStory {
  std::map<std::string, profiles::ProfileData, std::less<>> profiles;
  std::map<std::string, io::Wall, std::less<>> begun;  // by profile: since when its drain runs
};

// Reports nodes whose story has changed, at the moment of the change. The listener must not change the cluster.
void follow_stories(sim::ApiServer& api, std::function<void(const std::string& node, const NodeStory&)> listener);

// Of a node's text as the model keeps it.
NodeStory read_story(const std::string& node);

}  // namespace careen::plan
