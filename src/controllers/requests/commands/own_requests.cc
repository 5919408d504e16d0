#include "controllers/requests/commands/own_requests.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/requests/names.h"
#include "io/ascii.h"
#include "kube/decode.h"
#include "session/kube_session.h"
#include "session/object_watch.h"

namespace careen::requests {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

// The controller writes the status at the same time; more often than that something else is wrong.
constexpr int kAttempts = 6;
// A request that was not answered may still be on its way.
constexpr io::Duration kSettling = io::seconds{2};
constexpr size_t kLongestLabelValue = 63;
constexpr std::string_view kNamePrefix = "mr-";
constexpr std::string_view kTypeNode = "node";
// On a request that `careen request run` has set InProgress: whose run that was, for people and for the run itself.
constexpr std::string_view kRunAnnotation = "careen.dev/run";

bool is_alphanumeric(char c) { return io::is_digit(c) || (io::lower(c) >= 'a' && io::lower(c) <= 'z'); }

std::string text_at(JsonView value) { return std::string(value.text().value_or("")); }

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return io::lower(x) == io::lower(y); });
}

bool is_of(const OwnRequest& request, const Asker& asker) {
  return request.client == asker.client && same_name(request.node, asker.node) && same_name(request.type, kTypeNode);
}

// How far it has come.
int progress_of(const OwnRequest& request) {
  return request.is(State::in_progress) ? 2 : request.is(State::approved) ? 1 : 0;
}

Refusal refusal_of(const kube::ApiError& error) {
  // An API server that has just started refuses everything for a while.
  const bool for_good = error.not_found() || error.code == 400 || (error.code == 422 && !error.conflict());
  return {error.not_found() ? error.message : app::server_error(error), for_good};
}

Task<kube::Result<OwnRequest>> read_own(app::KubeSession& session, const OwnRequest& request) {
  const auto text = co_await session.client.get(kResource, "", request.name);
  if (!text && !text.error().not_found()) co_return tl::make_unexpected(text.error());
  if (text) {
    const auto object = kube::decode_object(*text);
    if (!object) co_return tl::make_unexpected(kube::to_api_error(object.error()));
    if (object->uid == request.uid) co_return own_request(*object);
  }
  kube::ApiError gone;
  gone.code = 404;
  gone.message = full_name(request.name) + " is gone";
  co_return tl::make_unexpected(gone);
}

using Check = Refusal (*)(const OwnRequest& request);
const Refusal kAllowed{"", false};

Refusal may_start(const OwnRequest& request) {
  if (request.is(State::approved)) return kAllowed;
  if (!request.is(State::in_progress)) {
    const std::string why = request.status.message.empty() ? "" : ": " + request.status.message;
    return {fmt::format("{} is not approved, but {}{}", full_name(request.name), name_of(request.state), why)};
  }
  return {fmt::format("{} is in progress already{}", full_name(request.name),
                      request.run.empty() ? "" : ", begun by " + request.run)};
}

Refusal may_finish(const OwnRequest& request) {
  if (!request.is(State::pending)) return kAllowed;
  return {fmt::format("{} is not approved yet; \"careen request cancel\" withdraws it", full_name(request.name))};
}

// The write names the version that was checked. Where it met another one, or nobody knows whether it did, the object is
// read and checked again.
Task<Step<OwnRequest>> write_state(app::KubeSession& session, OwnRequest request, State state, std::string run,
                                   Check check) {
  const auto done = [&](const OwnRequest& now) { return now.is(state) && (run.empty() || now.run == run); };
  for (int attempt = 0;; ++attempt) {
    if (done(request)) co_return request;
    if (Refusal refusal = check(request); !refusal.text.empty()) co_return tl::make_unexpected(std::move(refusal));
    kube::Object changed = request.object;
    changed.document.set({"spec", "state"}, name_of(state));
    if (!run.empty()) changed.document.set({"metadata", "annotations", kRunAnnotation}, run);
    const auto answer = co_await session.client.update(kResource, "", request.name, changed.text());
    if (answer) {
      request.state = state;
      request.run = run;
      co_return request;
    }
    const kube::ApiError& error = answer.error();
    if (attempt + 1 == kAttempts || (!error.conflict() && !error.ambiguous())) {
      co_return tl::make_unexpected(refusal_of(error));
    }
    if (error.ambiguous()) co_await io::sleep_for(session.loop, kSettling);
    auto again = co_await read_own(session, request);
    if (!again) co_return tl::make_unexpected(refusal_of(again.error()));
    request = std::move(*again);
  }
}

}  // namespace

OwnRequest own_request(const kube::Object& object) {
  OwnRequest out{parse_request(object), "", object};
  out.run = text_at(object.document["metadata"]["annotations"][kRunAnnotation]);
  return out;
}

Task<kube::Result<std::vector<OwnRequest>>> list_own(app::KubeSession& session, std::string client) {
  const std::string selector = client.empty() ? "" : fmt::format("{}={}", kClientLabel, client);
  const auto listed = co_await app::list_objects(session, kResource, selector);
  if (!listed) co_return tl::make_unexpected(listed.error());
  std::vector<OwnRequest> requests;
  for (const kube::Object& object : *listed) requests.push_back(own_request(object));
  std::ranges::sort(requests, [](const OwnRequest& a, const OwnRequest& b) { return a.before(b); });
  co_return requests;
}

const OwnRequest* live_of(const std::vector<OwnRequest>& requests, const Asker& asker) {
  const OwnRequest* found = nullptr;
  for (const OwnRequest& request : requests) {
    if (!is_of(request, asker) || request.finished()) continue;
    if (!found || progress_of(request) > progress_of(*found)) found = &request;
  }
  return found;
}

const OwnRequest* last_of(const std::vector<OwnRequest>& requests, const Asker& asker, State state) {
  const OwnRequest* found = nullptr;
  for (const OwnRequest& request : requests) {
    if (is_of(request, asker) && request.is(state)) found = &request;
  }
  return found;
}

Task<kube::Result<OwnRequest>> create_own(app::KubeSession& session, Asker asker) {
  const Json document = Json::object(
      {{"apiVersion", kResource.api_version()},
       {"kind", kResource.kind},
       {"metadata",
        Json::object({{"generateName", kNamePrefix}, {"labels", Json::object({{kClientLabel, asker.client}})}})},
       {"spec", Json::object({{"name", asker.node}, {"type", kTypeNode}, {"state", name_of(State::pending)}})}});
  const auto answer = co_await session.client.create(kResource, "", document.dump());
  if (!answer && !answer.error().ambiguous()) co_return tl::make_unexpected(answer.error());
  if (!answer) co_await io::sleep_for(session.loop, kSettling);
  // Also to see whether another run of the same asker has made one in the same moment: one would be left over, and take
  // a place for nobody.
  const auto listed = co_await list_own(session, asker.client);
  if (!listed) co_return tl::make_unexpected(listed.error());
  const OwnRequest* live = live_of(*listed, asker);
  if (!answer) {
    if (!live) co_return tl::make_unexpected(answer.error());
    co_return *live;
  }
  const auto parsed = Json::parse(*answer);
  const std::string uid = parsed ? text_at(parsed->at("/metadata/uid")) : "";
  const auto own = std::ranges::find(*listed, uid, &OwnRequest::uid);
  if (own != listed->end() && live && live->uid != uid && own->is(State::pending)) {
    if (const auto removed = co_await remove_own(session, *own); !removed) session.screen.warning(removed.error().text);
    co_return *live;
  }
  if (own != listed->end()) co_return *own;
  kube::ApiError gone;
  gone.code = 404;
  gone.message = "the request was deleted as soon as it was made";
  co_return tl::make_unexpected(gone);
}

Task<Step<OwnRequest>> start_own(app::KubeSession& session, OwnRequest request, std::string run) {
  co_return co_await write_state(session, std::move(request), State::in_progress, std::move(run), may_start);
}

Task<Step<OwnRequest>> finish_own(app::KubeSession& session, OwnRequest request) {
  co_return co_await write_state(session, std::move(request), State::completed, "", may_finish);
}

Task<Step<void>> remove_own(app::KubeSession& session, OwnRequest request) {
  kube::DeleteOptions what;
  what.preconditions.uid = request.uid;
  kube::CallOptions call;
  call.repeatable = true;  // it names the one that is meant
  const auto answer = co_await session.client.remove(kResource, "", request.name, what, call);
  // With another UID, or none, it is gone as well.
  if (answer || answer.error().not_found() || answer.error().conflict()) co_return Step<void>{};
  co_return tl::make_unexpected(refusal_of(answer.error()));
}

std::string missing_kind() {
  return fmt::format(
      "the cluster does not know {}.{}: its CustomResourceDefinition is not installed (deploy/crds has it); \"careen "
      "drain\" works without it",
      kResource.plural, kResource.group);
}

std::string full_name(const std::string& name) {
  return fmt::format("maintenancerequest.{}/{}", kResource.group, name);
}

std::string client_mistake(std::string_view client) {
  if (client.empty()) return "who asks? --client NAME";
  const auto inner = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  if (client.size() <= kLongestLabelValue && std::ranges::all_of(client, inner) && is_alphanumeric(client.front()) &&
      is_alphanumeric(client.back())) {
    return "";
  }
  return fmt::format(
      "--client \"{}\" is no value of a label: at most {} letters, digits, and between them \"-\", \"_\" and \".\"",
      client, kLongestLabelValue);
}

Json document_of(const OwnRequest& request) {
  Json out = Json::object(
      {{"name", request.name}, {"node", request.node}, {"client", request.client}, {"state", name_of(request.state)}});
  const auto put = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) out.set({key}, text);
  };
  put("phase", std::string(name_of(request.status.phase)));
  put("reason", request.status.reason);
  put("message", request.status.message);
  if (request.created != io::Wall{}) put("created", io::format_rfc3339(request.created));
  return out;
}

}  // namespace careen::requests
