// How a request comes to be, for the commands that make one.
#pragma once

#include <string>

#include "controllers/requests/commands/own_requests.h"

namespace careen::requests {

// There is a node of that name, as far as one may know; says what is wrong.
io::Task<bool> check_node(app::KubeSession& session, std::string node);

struct Asked {
  OwnRequest request;
  bool created = false;
};
// The asker's live request, or a new one. One that was rejected before stands for an answer; `anew`: it was given to
// somebody who has gone, is deleted, and asked for again.
io::Task<kube::Result<Asked>> find_or_create(app::KubeSession& session, Asker asker, bool anew);

// Says what the server has refused. The exit code.
int refused(app::KubeSession& session, const kube::ApiError& error);

}  // namespace careen::requests
