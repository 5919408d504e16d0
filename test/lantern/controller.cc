#include "controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "budget/ledger.h"
#include "budget/pause.h"
#include "io/loop.h"
#include "io/problems.h"
#include "kube/events.h"
#include "kube/node_decoder.h"
#include "picture.h"

namespace careen::lantern {

using io::Task;
using kube::Json;
using kube::WriteFate;
using kube::WriteResult;

namespace {

std::string problem_of(std::string_view node) { return fmt::format("light node/{}", node); }

bool shows(const kube::Node& node, std::string_view color) {
  const kube::Atom* label = node.label(kLit);
  return label ? label->view() == color : color.empty();
}

}  // namespace

std::optional<budget::NodeReader::InState> LitNodes::state_of(const kube::Node& node) const {
  return shows(node, "") ? std::nullopt : std::optional<InState>(std::in_place);
}
std::string LitNodes::key_of(std::string_view uid) const { return budget::claim_key(kOwner, uid); }
bool LitNodes::counts(const budget::Admission& admission) const { return claims_count_ && admission.by == kOwner; }

Controller::Controller(controllers::Host host, Options options)
    : host_(std::move(host)),
      options_(options),
      watched_(host_.watches.objects({.resource = kResource})),
      by_node_(watched_->store(), [](const kube::Object& one) { return std::vector{parse_lantern(one).node}; }),
      lanterns_(
          host_.client, kResource, watched_->store(), [](std::string_view json) { return kube::decode_object(json); },
          host_.log),
      nodes_(
          host_.client, kube::resources::nodes, host_.nodes,
          [this](std::string_view json) { return host_.decoder.decode(json); }, host_.log, host_.node_lanes),
      places_{{}, options_.limit},
      reader_(!options_.hasty),
      lit_(host_.nodes, host_.ledger, reader_),
      queue_(host_.loop),
      pause_guard_(host_.loop, &host_.pauses),
      acting_(host_.loop) {
  told_.push_back(watched_->store().subscribe([this](const kube::Object* before, const kube::Object* after) {
    for (const kube::Object* one : {before, after}) {
      if (one) queue_.wake(parse_lantern(*one).node);
    }
  }));
  told_.push_back(host_.nodes.subscribe([this](const kube::Node* before, const kube::Node* after) {
    // Of one that is made again under its name, the place was that of another.
    if (!after) host_.ledger.finish(reader_.key_of(before->uid));
    place_changed(after ? after->name : before->name);
    queue_.wake(after ? after->name : before->name);
  }));
  told_.push_back(host_.pauses.subscribe([this] { wake_all(); }));
}

Task<void> Controller::synced() { co_await watched_->synced_gate().wait(); }

Task<void> Controller::lead() {
  co_await watched_->refresh();
  free_places_of_nodes_gone();
  lit_.rebuild();
  running_ = true;
  wake_all();
  while (!stopping_) {
    const std::string node = co_await queue_.next();
    if (stopping_) queue_.done(node);
    if (!stopping_) decide_one(node);
  }
}

Task<void> Controller::stop() {
  stopping_ = true;
  queue_.clear();
  while (queue_.working() > 0) co_await queue_.idle().wait();
}

std::vector<Lantern> Controller::lanterns_on(std::string_view node) const {
  std::vector<Lantern> found;
  by_node_.for_each(node, [&](const kube::Object& one) { found.push_back(parse_lantern(one)); });
  std::erase_if(found, [](const Lantern& lantern) { return lantern.deleting; });
  return found;
}

Decision Controller::decide_on(std::string_view name) const {
  constexpr size_t kMostNamed = 5;
  const kube::Node* node = host_.nodes.find(name);
  budget::Use use = measure(lit_, places_, {}, name);
  use.by = fmt::format("{}", fmt::join(holders(lit_, places_, {}, name, kMostNamed), ", "));
  return decide({.node = node,
                 .lanterns = lanterns_on(name),
                 .claimed = node && host_.ledger.has(reader_.key_of(node->uid)),
                 .counted = lit_.contains(name),
                 .use = std::move(use),
                 .pause = host_.pauses.of("")});
}

void Controller::wake_all() {
  host_.nodes.for_each([this](const kube::Node& node) { queue_.wake(node.name); });
  by_node_.for_each_value([this](std::string_view node, size_t) { queue_.wake(node); });
}

// The node has been lit or is dark again, or its claim has begun or ended.
void Controller::place_changed(std::string_view name) {
  if (!lit_.update(name).left.empty()) offer();
}

// Whoever has waited longest comes first.
void Controller::offer() {
  for (const std::string& node : waiters_.offer(places_, measure(lit_, places_, {}).free())) queue_.wake(node);
}

void Controller::take_place(const kube::Node& node) {
  host_.ledger.reserve({.uid = node.uid, .node = node.name, .by = std::string(kOwner), .since = host_.loop.wall_now()});
  place_changed(node.name);
}

void Controller::free_place(const std::string& uid, std::string_view node) {
  host_.ledger.finish(reader_.key_of(uid));
  place_changed(node);
}

// They went while nobody led.
void Controller::free_places_of_nodes_gone() {
  std::vector<std::string> gone;
  for (const auto& [claim, entry] : host_.ledger.entries()) {
    const kube::Node* node = host_.nodes.find(entry.admission.node);
    if (entry.admission.by == kOwner && (!node || node->uid != entry.admission.uid)) gone.push_back(claim);
  }
  for (const std::string& claim : gone) host_.ledger.finish(claim);
}

// Nothing waits in here: a place is taken before the next node is decided.
void Controller::decide_one(const std::string& name) {
  Decision decision = decide_on(name);
  std::vector<budget::Wait> waits;
  if (decision.waits) waits.push_back({places_, decision.since, std::nullopt});
  // What it was offered and does not take goes to the next.
  if (!waiters_.update(name, waits, {}).empty()) offer();
  if (host_.dry_run) return queue_.done(name);
  const kube::Node* node = host_.nodes.find(name);
  if (decision.claims) take_place(*node);
  if (!decision.effect) {
    host_.problems.clear(problem_of(name));
    return queue_.done(name);
  }
  acting_.spawn(act(name, node ? node->version : 0, std::move(*decision.effect), pause_guard_.changes()));
}

Task<void> Controller::act(std::string name, uint64_t version, Effect effect, uint64_t pauses) {
  WriteResult result;
  if (const auto* light = std::get_if<Light>(&effect)) {
    result = co_await write_node(name, version, light->color, pauses);
  } else if (std::holds_alternative<Dim>(effect)) {
    result = co_await write_node(name, version, "", std::nullopt);
  } else {
    result = co_await write_status(std::get<Tell>(std::move(effect)));
  }
  // Nothing of it is on its way any more, and the next decision sees what is there.
  if (result.done() || result.fate == WriteFate::conflict || result.fate == WriteFate::missing) {
    queue_.succeeded(name);
    queue_.wake(name);
  } else {
    queue_.wake_after_failure(name);
    const bool stopped = result.fate == WriteFate::unsent || budget::PauseGuard::interrupted(*result.error);
    if (!stopped) host_.problems.raise(problem_of(name), fmt::format("{}; it is tried again", result.error->message));
  }
  queue_.done(name);
}

// Lights it with a color, which a pause stops; without one the light goes out.
Task<WriteResult> Controller::write_node(std::string name, uint64_t version, std::string color,
                                         std::optional<uint64_t> pauses) {
  const kube::Node* node = host_.nodes.find(name);
  if (!node) co_return WriteResult{WriteFate::missing};
  const std::string uid = node->uid;
  if (!color.empty() && !co_await host_.ledger.recorded(reader_.key_of(uid))) co_return WriteResult{WriteFate::unsent};
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(version));
  patch.set({"metadata", "labels", kLit}, color.empty() ? Json() : Json(color));
  if (color.empty()) patch.set({"metadata", "annotations", kDimmed}, io::format_rfc3339(host_.loop.wall_now()));
  kube::WriteRequest request{.name = name, .body = patch.dump(), .version = version};
  if (pauses) {
    request.carry = [this, pauses](budget::PauseGuard::Write write) {
      return pause_guard_.carry(*pauses, std::move(write));
    };
  }
  // Without an answer, that it is dark proves nothing: what lights it may still be on its way.
  const auto is_so = [color](const kube::Node& now) { return !color.empty() && shows(now, color); };
  WriteResult result = co_await nodes_.write(std::move(request), is_so);
  if (!result.done()) co_return result;
  if (color.empty()) free_place(uid, name);
  record(name, color.empty() ? kDarkReason : kLitReason, color.empty() ? "The lantern is out" : "The lantern is lit");
  co_return result;
}

Task<WriteResult> Controller::write_status(Tell tell) {
  const kube::Object* lantern = watched_->store().find(tell.lantern);
  if (!lantern) co_return WriteResult{WriteFate::missing};
  Json patch = Json::object();
  patch.set({"metadata", "resourceVersion"}, std::to_string(lantern->version));
  patch.set({"status", "phase"}, name_of(tell.phase)).set({"status", "message"}, tell.message);
  const auto is_so = [tell](const kube::Object& now) {
    const Lantern there = parse_lantern(now);
    return there.phase == tell.phase && there.message == tell.message;
  };
  co_return co_await lanterns_.write(
      {.name = tell.lantern, .body = patch.dump(), .subresource = "status", .version = lantern->version}, is_so);
}

void Controller::record(const std::string& name, const char* reason, const char* note) {
  const kube::Node* node = host_.nodes.find(name);
  if (!node) return;
  kube::EventRecord event;
  event.regarding = {"v1", "Node", "", node->name, node->uid, std::to_string(node->version)};
  event.reason = reason;
  event.action = reason;
  event.note = note;
  event.controller = kSource;
  host_.events.record(std::move(event));
}

std::unique_ptr<controllers::Picture> Controller::picture() const {
  std::vector<Shown> all;
  watched_->store().for_each([&](const kube::Object& one) {
    Lantern lantern = parse_lantern(one);
    const kube::Node* node = host_.nodes.find(lantern.node);
    Why why = decide_on(lantern.node).why;
    all.push_back({std::move(lantern), std::move(why), node ? node->uid : ""});
  });
  return picture_of(std::move(all));
}

std::optional<std::string> Controller::node_of(std::string_view name) const {
  const kube::Object* lantern = watched_->store().find(name);
  return lantern ? std::optional(parse_lantern(*lantern).node) : std::nullopt;
}

std::optional<controllers::Entry> Controller::entry_of(const kube::EventRecord& event, io::Wall time) {
  return lantern::entry_of(event, time);
}

void Controller::on_change(std::function<void()> tell) {
  told_.push_back(
      watched_->store().subscribe([tell = std::move(tell)](const kube::Object*, const kube::Object*) { tell(); }));
}

}  // namespace careen::lantern
