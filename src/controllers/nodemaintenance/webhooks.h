// What this controller answers when the API server asks: one line for each webhook. Every replica answers, whether it
// leads or not.
#pragma once

#include <vector>

#include "controllers/nodemaintenance/controller_options.h"
#include "web/admission.h"

namespace careen::nodemaintenance {

std::vector<web::Route> webhooks(const web::WebhookParts& parts, const ControllerOptions& options);

}  // namespace careen::nodemaintenance
