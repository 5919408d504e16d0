#include "commands/node_write.h"

namespace careen::app {

namespace {

// Nodes are busy objects: their kubelets write them.
constexpr int kAttempts = 10;

kube::Result<kube::Node> decoded(KubeSession& session, const kube::Result<std::string>& text) {
  if (!text) return tl::make_unexpected(text.error());
  auto node = session.nodes.decode(*text);
  if (!node) return tl::make_unexpected(kube::to_api_error(node.error()));
  return std::move(*node);
}

}  // namespace

io::Task<kube::Result<kube::Node>> change_node(KubeSession& session, kube::Node node, NodeChanger change,
                                               bool server_dry_run) {
  kube::CallOptions call;
  // The version makes a second attempt harmless.
  call.repeatable = true;
  if (server_dry_run) call.query = "dryRun=All";
  for (int attempt = 1;; ++attempt) {
    const drain::NodeChange wanted = change(node);
    if (wanted.empty()) co_return node;
    auto written = co_await session.client.patch(kube::resources::nodes, "", node.name, kube::PatchType::merge,
                                                 wanted.merge_patch(node.version), "", call);
    if (written || !written.error().conflict() || attempt == kAttempts) co_return decoded(session, written);
    auto read = decoded(session, co_await session.client.get(kube::resources::nodes, "", node.name));
    if (!read) co_return read;
    node = std::move(*read);
  }
}

}  // namespace careen::app
