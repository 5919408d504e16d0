#include "controllers/nodemaintenance/webhooks.h"

#include <memory>
#include <string>

#include "controllers/nodemaintenance/names.h"
#include "controllers/nodemaintenance/webhook.h"

namespace careen::nodemaintenance {

std::vector<web::Route> webhooks(const web::WebhookParts& parts, const ControllerOptions& options) {
  const auto rules =
      std::make_shared<Webhook>(parts.reader, WebhookOptions{.protect_control_plane = options.protect_control_plane});
  const auto judge = [rules](const kube::AdmissionRequest& request) { return rules->judge(request); };
  return {web::webhook_route(parts, std::string(kWebhookPath), judge)};
}

}  // namespace careen::nodemaintenance
