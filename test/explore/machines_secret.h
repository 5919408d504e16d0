// The Secret by which careen reaches a workload cluster, and those who change it: it has another token, another
// address, garbage, or it is away for a while.
#pragma once

#include <string>

#include "machines_plan.h"
#include "machines_server.h"

namespace careen::kube {
struct Access;
}

namespace careen::explore {

class MachinesSecret {
 public:
  // It is there from the beginning.
  MachinesSecret(MachinesServer& management, MachinesServer& workload, const ClusterPlan& plan);

  // Null: the kubeconfig leads to another cluster.
  sim::Network* way(const kube::Access& access);

  // What was there before is accepted until it is taken back.
  void renew_token();
  void take_back_old_tokens() { take_back_tokens(tokens_); }
  // Also the one that is there.
  void take_back_all_tokens() { take_back_tokens(tokens_ + 1); }
  // The same with addresses.
  void move();
  void shut_old_addresses() { shut_addresses(addresses_); }
  void shut_all_addresses() { shut_addresses(addresses_ + 1); }

  void hide() { write(+1, 0); }
  void show() { write(-1, 0); }
  void garble() { write(0, +1); }
  void mend() { write(0, -1); }
  // For good.
  void remove();

 private:
  std::string address(int number) const;
  static std::string token(int number);
  void take_back_tokens(int before);
  void shut_addresses(int before);
  void write(int hidden, int garbled);

  MachinesServer& management_;
  MachinesServer& workload_;
  const std::string path_, host_;
  int tokens_ = 1, addresses_ = 1;         // so far
  int accepted_from_ = 1, open_from_ = 1;  // older ones are of no use
  int hidden_ = 0, garbled_ = 0;           // how many want it so
  bool removed_ = false;
};

}  // namespace careen::explore
