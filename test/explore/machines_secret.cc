#include "machines_secret.h"

#include <fmt/format.h>

#include "kube/base64.h"
#include "kube/credentials.h"

namespace careen::explore {

using kube::Json;

MachinesSecret::MachinesSecret(MachinesServer& management, MachinesServer& workload, const ClusterPlan& plan)
    : management_(management),
      workload_(workload),
      path_(fmt::format("/api/v1/namespaces/{}/secrets/{}-kubeconfig", plan.ns, plan.name)),
      host_(fmt::format("https://{}.{}.", plan.ns, plan.name)) {
  workload_.open(address(addresses_));
  workload_.accept(token(tokens_));
  write(0, 0);
}

std::string MachinesSecret::address(int number) const { return host_ + std::to_string(number); }
std::string MachinesSecret::token(int number) { return "t" + std::to_string(number); }

sim::Network* MachinesSecret::way(const kube::Access& access) {
  if (!access.server.starts_with(host_)) return nullptr;
  const auto* const used = std::get_if<kube::Token>(&access.user.method);
  return &workload_.way(access.server, used ? used->text : "none");
}

void MachinesSecret::renew_token() {
  workload_.accept(token(++tokens_));
  write(0, 0);
}
void MachinesSecret::take_back_tokens(int before) {
  while (accepted_from_ < before) workload_.take_back(token(accepted_from_++));
}

void MachinesSecret::move() {
  workload_.open(address(++addresses_));
  write(0, 0);
}
void MachinesSecret::shut_addresses(int before) {
  while (open_from_ < before) workload_.shut(address(open_from_++));
}

void MachinesSecret::remove() {
  removed_ = true;
  write(0, 0);
}

void MachinesSecret::write(int hidden, int garbled) {
  hidden_ += hidden;
  garbled_ += garbled;
  if (removed_ || hidden_ > 0) return management_.api().erase(path_, "people");
  const std::string kubeconfig =
      garbled_ > 0 ? "clusters: ["
                   : fmt::format(
                         "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: "
                         "{{cluster: c, user: u}}}}]\nclusters: [{{name: c, cluster: {{server: \"{}\"}}}}]\n"
                         "users: [{{name: u, user: {{token: {}}}}}]\n",
                         address(addresses_), token(tokens_));
  Json secret = Json::object({{"apiVersion", "v1"}, {"kind", "Secret"}, {"type", "cluster.x-k8s.io/secret"}});
  secret.set({"data", "value"}, kube::base64_encode(kubeconfig));
  management_.api().put(path_, secret, "people");
}

}  // namespace careen::explore
