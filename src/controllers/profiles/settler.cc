#include "controllers/profiles/settler.h"

#include <algorithm>
#include <utility>

#include "controllers/profiles/failing_nodes.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/node_meters.h"
#include "io/loop.h"
#include "kube/client.h"
#include "kube/json.h"
#include "kube/node.h"
#include "kube/object_writer.h"

namespace careen::profiles {

using io::Task;

namespace {
constexpr io::Duration kFirstSettlePause = io::seconds{1};
constexpr io::Duration kLongestSettlePause = io::seconds{10};
}  // namespace

Task<Settler::Fate> Settler::settle(UnansweredWrite write) {
  io::Loop& loop = client_.loop();
  const io::Steady over = loop.now() + kube::kLongestFlight;
  for (io::Duration pause = kFirstSettlePause;; pause = std::min<io::Duration>(2 * pause, kLongestSettlePause)) {
    const Look seen = co_await look(write);
    if (seen == Look::never) co_return Fate::never;
    if (seen == Look::over) co_return Fate::over;
    if (seen == Look::pending && loop.now() >= over) {
      log_.warn(
          "a write without an answer has not been applied for so long that it is taken for lost; its place is free",
          "node", write.node, "after", io::format_duration(kube::kLongestFlight));
      co_return Fate::over;
    }
    co_await io::sleep_for(loop, pause);
  }
}

Task<Settler::Look> Settler::look(const UnansweredWrite& write) {
  const auto found = co_await client_.get(kube::resources::nodes, "", write.node);
  if (!found) {
    if (found.error().not_found()) co_return Look::over;
    failing_.write_unsettled(write.node, found.error());
    co_return Look::unread;
  }
  if (writer_.enter(*found)) co_return Look::unread;
  const kube::Node* node = nodes_.find(write.node);
  if (!node || node->uid != write.uid) co_return Look::over;
  // Any change since makes the late write conflict.
  if (write.precondition && node->version != *write.precondition) co_return Look::over;
  if (!write.precondition && write.has_arrived()) co_return Look::over;
  kube::Json touch = kube::Json::object();
  touch.set({"metadata", "resourceVersion"}, std::to_string(node->version));
  touch.set({"metadata", "annotations", kTouchAnnotation}, io::format_rfc3339(client_.loop().wall_now()));
  const auto touched =
      co_await client_.patch(kube::resources::nodes, "", write.node, kube::PatchType::merge, touch.dump());
  if (touched) {
    meters_.writes("touch").add();
    writer_.enter(*touched);
    co_return write.precondition ? Look::never : Look::over;
  }
  if (touched.error().not_found()) co_return Look::over;
  if (!touched.error().conflict()) failing_.write_unsettled(write.node, touched.error());
  co_return Look::pending;
}

}  // namespace careen::profiles
