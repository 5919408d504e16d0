// The token with which a replica asks the leader on behalf of somebody whom it has let in without one. It is made for
// this one purpose: its audience is the view API, so that nobody who gets hold of it can do anything else with it.
#pragma once

#include <string>

#include "io/log.h"
#include "io/sync.h"
#include "kube/error.h"

namespace careen::kube {
class Client;
}

namespace careen::web {

class ReplicaToken {
 public:
  // `pod`: our own, in `ns`; empty when we do not run in one, and then there is no token. The client needs the right to
  // create serviceaccounts/token of our own service account.
  ReplicaToken(kube::Client& client, std::string ns, std::string pod, io::Log log = {});

  // The value of the Authorization header; empty when there is no token to be had.
  io::Task<std::string> authorization();

 private:
  io::Task<kube::Result<std::string>> make();

  kube::Client& client_;
  std::string ns_, pod_;
  io::Log log_;
  io::Semaphore one_;
  std::string token_;
  io::Steady until_{};  // then another one is made, or tried to be
};

}  // namespace careen::web
