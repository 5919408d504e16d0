#include "sim/removal.h"

#include <charconv>

namespace careen::sim {

namespace {

constexpr std::string_view kNoObject =
    " into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
    "\"json:\\\"kind,omitempty\\\"\" }";

}  // namespace

// As they are written, before they are checked against each other.
struct ApiServer::Removal::Wishes {
  std::string policy{}, dry_run{};
  std::optional<bool> orphan{};

  std::optional<Failure> misfit() const;
};

std::optional<Failure> ApiServer::Removal::Wishes::misfit() const {
  FieldErrors errors;
  if (!policy.empty() && orphan) {
    errors.push_back(
        invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (!policy.empty() && policy != "Foreground" && policy != "Background" && policy != "Orphan") {
    errors.push_back(not_supported("propagationPolicy", quoted(policy), {"Foreground", "Background", "Orphan", "nil"}));
  }
  if (!dry_run.empty() && dry_run != "All") {
    errors.push_back(not_supported("dryRun", "[" + quoted(dry_run) + "]", {"All"}));
  }
  if (errors.empty()) return std::nullopt;
  return invalid_options("DeleteOptions", errors);
}

ApiServer::Either<ApiServer::Removal> ApiServer::Removal::read(const json::value& options) {
  Removal out;
  out.grace = integer_at(options, {"gracePeriodSeconds"});
  out.uid = text_at(options, {"preconditions", "uid"});
  out.version = text_at(options, {"preconditions", "resourceVersion"});
  Wishes wishes{.policy = std::string(text_at(options, "propagationPolicy"))};
  const json::value* orphan = member(options, "orphanDependents");
  if (orphan && orphan->is_bool()) wishes.orphan = orphan->get_bool();
  const json::value* dry = member(options, "dryRun");
  if (dry && dry->is_array() && !dry->get_array().empty()) {
    wishes.dry_run = json::value_to<std::string>(dry->get_array().front());
  }
  return settled(std::move(out), wishes);
}

// With a body the parameters of the path do not count, not even dryRun.
ApiServer::Either<ApiServer::Removal> ApiServer::removal_options(const Ask& ask) const {
  const std::string& text = ask.request->body;
  if (text.empty()) return Removal::from_query(ask.query);
  const auto body = parse(text);
  if (!body || !body->is_object()) {
    const std::string why =
        body ? "json: cannot unmarshal " + std::string(go_kind(*body)) + std::string(kNoObject) : go_syntax_error(text);
    return tl::unexpected(bad_request("couldn't get version/kind; json parse error: " + why));
  }
  const std::string_view kind = text_at(*body, "kind");
  if (!kind.empty() && kind != "DeleteOptions") {
    return tl::unexpected(bad_request("no kind " + quoted(kind) + " is registered for version " +
                                      quoted(text_at(*body, "apiVersion")) +
                                      " in scheme \"pkg/runtime/scheme.go:111\""));
  }
  return Removal::read(*body);
}

ApiServer::Either<ApiServer::Removal> ApiServer::Removal::from_query(const Query& query) {
  Removal out;
  if (const std::string_view text = query["gracePeriodSeconds"]; !text.empty()) {
    int64_t number = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), number).ptr != text.data() + text.size()) {
      return tl::unexpected(bad_request("strconv.ParseInt: parsing " + quoted(text) + ": invalid syntax"));
    }
    out.grace = number;
  }
  Wishes wishes{.policy = std::string(query["propagationPolicy"]), .dry_run = std::string(query["dryRun"])};
  if (query.has("orphanDependents")) wishes.orphan = is_on(query, "orphanDependents");
  return settled(std::move(out), wishes);
}

ApiServer::Either<ApiServer::Removal> ApiServer::Removal::settled(Removal out, const Wishes& wishes) {
  if (auto wrong = wishes.misfit()) return tl::unexpected(std::move(*wrong));
  if (wishes.policy == "Foreground") out.policy = Policy::foreground;
  if (wishes.policy == "Orphan" || wishes.orphan.value_or(false)) out.policy = Policy::orphan;
  out.wait = wishes.orphan && !*wishes.orphan;
  out.dry_run = wishes.dry_run == "All";
  return out;
}

std::optional<Failure> ApiServer::Removal::fails_for(const Resource& resource, const json::value& object) const {
  const std::string name(text_at(object, {"metadata", "name"}));
  const std::string has_uid(text_at(object, {"metadata", "uid"}));
  const std::string has_version(text_at(object, {"metadata", "resourceVersion"}));
  const auto mismatch = [&](const std::string& why) {
    Failure failure = conflict(resource, name, why);
    const std::string kind = resource.kind + (resource.group.empty() ? "" : "." + resource.group);
    failure.message = "Operation cannot be fulfilled on " + kind + " \"" + name + "\": " + why;
    failure.kind = resource.kind;
    return failure;
  };
  if (!uid.empty() && uid != has_uid) {
    return mismatch("the UID in the precondition (" + uid + ") does not match the UID in record (" + has_uid +
                    "). The object might have been deleted and then recreated");
  }
  if (!version.empty() && version != has_version) {
    return mismatch("the ResourceVersion in the precondition (" + version +
                    ") does not match the ResourceVersion in record (" + has_version +
                    "). The object might have been modified");
  }
  return std::nullopt;
}

}  // namespace careen::sim
