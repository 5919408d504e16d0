#include "kube/label_selector.h"
#include "sim/ask.h"
#include "sim/patch.h"

namespace careen::sim {

using kube::Response;

namespace {

// The size of a workload as an object of its own.
json::value scale_of(const json::value& workload) {
  json::object meta;
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const json::value* value = find(workload, {"metadata", key})) meta[key] = *value;
  }
  json::object spec, status{{"replicas", integer_at(workload, {"status", "replicas"}).value_or(0)}};
  if (const auto replicas = integer_at(workload, {"spec", "replicas"}); replicas && *replicas != 0) {
    spec["replicas"] = *replicas;
  }
  const auto selector = kube::LabelSelector::from_json(kube::JsonView(find(workload, {"spec", "selector"})));
  if (selector && !selector->text().empty()) status["selector"] = selector->text();
  return {{"kind", "Scale"},
          {"apiVersion", "autoscaling/v1"},
          {"metadata", std::move(meta)},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

}  // namespace

Response ApiServer::scale(const Ask& ask) {
  const std::string& method = ask.request->method;
  if (method != "GET" && method != "PUT" && method != "PATCH") return to_response(method_not_allowed());
  const auto known = ask.resource->collection->objects.find(ask.key());
  if (known == ask.resource->collection->objects.end()) return to_response(not_found(*ask.resource, ask.name));
  json::value workload = *parse(*known->second);
  json::value wanted_scale = scale_of(workload);
  if (method == "GET") return answer_with(200, json::serialize(wanted_scale));

  const auto body = parse(ask.request->body);
  if (!body) return to_response(bad_request("error decoding patch: " + go_syntax_error(ask.request->body)));
  if (method == "PUT") {
    wanted_scale = *body;
  } else if (body->is_array()) {
    if (!json_patch(wanted_scale, body->get_array())) {
      return to_response(bad_request("the server rejected our request due to an error in our request"));
    }
  } else {
    merge_patch(wanted_scale, *body);
  }
  const int64_t replicas = integer_at(wanted_scale, {"spec", "replicas"}).value_or(0);
  if (replicas < 0) {
    return to_response(invalid_object(
        "Scale", "autoscaling", ask.name,
        {invalid_shown("spec.replicas", std::to_string(replicas), "must be greater than or equal to 0")}));
  }
  for (const char* key : {"kind", "apiVersion"}) workload.get_object().erase(key);
  json::value wanted = workload;
  object_at(wanted.get_object(), "spec")["replicas"] = replicas;
  // Told, a version must be the one of today.
  const std::string_view version = text_at(wanted_scale, {"metadata", "resourceVersion"});
  if (!version.empty()) wanted.at("metadata").get_object()["resourceVersion"] = version;
  Ask whole = ask;
  whole.subresource.clear();
  Response response = change(whole, Draft(wanted), known->second, workload, true);
  if (response.status == 200) response.body = json::serialize(scale_of(*parse(response.body)));
  return response;
}

}  // namespace careen::sim
