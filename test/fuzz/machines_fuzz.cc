// Machines, Nodes, BareMetalHosts and kubeconfig Secrets as anybody might have written them, up to five texts with a
// line "=====" between them: letters that set options, a Machine, its Node, its host, and another Machine that names
// the same host. Whatever they say, a decision is one write at most, lets nobody go on whom nobody approved, changes
// what is known, and comes to rest once its writes are done. Clusters with their upgrade windows, health checks and
// MachineDrainRules are read from the same texts.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "budget/pause.h"
#include "controllers/machines/decide.h"
#include "controllers/machines/health_check.h"
#include "controllers/machines/machine.h"
#include "controllers/machines/names.h"
#include "controllers/machines/picture.h"
#include "controllers/machines/power.h"
#include "controllers/machines/upgrade_door.h"
#include "controllers/machines/workload.h"
#include "drain/rules.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "kube/kubeconfig.h"
#include "sim/patch.h"
#include "sim/value.h"
#include "windows/window_text.h"

namespace {

using namespace careen;
using namespace careen::machines;
namespace json = sim::json;

constexpr std::string_view kSeparator = "=====\n";
constexpr size_t kTexts = 5;
// A Node, a Machine, its host, and what each of these brings about.
constexpr int kMostSteps = 8;
constexpr io::Wall kBegin{std::chrono::years{56}};

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "machines fuzz: %s\n", what);
  std::abort();
}

// --- reading -------------------------------------------------------------------------------------------------------

void take_reference(std::string_view provider_id) {
  const auto host = host_of(provider_id);
  if (!host) return;
  expect(host->uid.empty() != (host->ns.empty() && host->name.empty()), "a host by its name and by its UID");
  const std::string again =
      host->uid.empty() ? "metal3://" + host->ns + "/" + host->name + "/" + host->consumer : "metal3://" + host->uid;
  expect(host_of(again) == host, "a provider ID is another one when it is written again");
}

void take_kubeconfig(const KubeconfigSecret& secret) {
  if (!secret.text) return;
  const auto access = kube::resolve_untrusted_kubeconfig("Secret a/b", *secret.text, "");
  if (!access) return expect(!access.error().message.empty(), "a kubeconfig is refused without a message");
  const auto* token = std::get_if<kube::Token>(&access->user.method);
  const bool reads = !access->ca.path.empty() || !access->user.client_cert.path.empty() ||
                     !access->user.client_key.path.empty() || (token && !token->path.empty());
  expect(!reads && !std::holds_alternative<kube::ExecPlugin>(access->user.method), "a Secret reaches for this machine");
  expect(access->server.starts_with("https://"), "a server without TLS");
}

// Twice the same, or a message.
template <class T, class Read>
std::optional<T> taken(std::string_view text, const Read& read) {
  io::Result<T> one = read(text);
  if (!one) {
    expect(!one.error().message.empty(), "refused without a message");
    return std::nullopt;
  }
  expect(!one->name.empty() && !one->key().empty(), "an object without a name");
  const io::Result<T> again = read(text);
  expect(again && again->same_facts(*one), "the same text says something else");
  return std::move(*one);
}

std::optional<Machine> take_machine(std::string_view text, kube::AtomPool& atoms) {
  auto machine = taken<Machine>(text, [&](auto json) { return read_machine(json, atoms); });
  if (machine) take_reference(machine->provider_id);
  return machine;
}
std::optional<Node> take_node(std::string_view text, kube::AtomPool& atoms) {
  auto node = taken<Node>(text, [&](auto json) { return read_node(json, atoms); });
  taken<Node>(text, [&](auto json) { return read_node(json, atoms, NodeLabels::all); });
  if (node) expect(node->approval_of_deletion || !node->approves_deletion, "an approval without its label");
  return node;
}
std::optional<Host> take_host(std::string_view text, kube::AtomPool& atoms) {
  auto host = taken<Host>(text, [&](auto json) { return read_host(json, atoms); });
  if (host) expect(host->error_message.size() <= 400, "a message that nobody reads to its end");
  return host;
}
void take_secret(std::string_view text, kube::AtomPool& atoms) {
  const auto secret = taken<KubeconfigSecret>(text, [&](auto json) { return read_kubeconfig_secret(json, atoms); });
  if (secret) take_kubeconfig(*secret);
}

// Whatever it says, the hook is there or not as was decided, and then nothing is left to do.
void take_cluster(std::string_view text, kube::AtomPool& atoms) {
  auto cluster = taken<ManagedCluster>(text, [&](auto json) { return read_cluster(json, atoms); });
  if (!cluster) return;
  std::optional<io::Result<windows::TimeWindow>> window;
  if (!cluster->window.empty()) {
    auto settings = windows::parse_window_text(cluster->window);
    window = settings ? io::Result<windows::TimeWindow>(windows::TimeWindow(std::move(*settings)))
                      : tl::make_unexpected(settings.error());
  }
  const budget::Pause paused{.profile = {}, .by = "ana", .since = {}, .reason = {}};
  for (const budget::Pause* pause : {static_cast<const budget::Pause*>(nullptr), &paused}) {
    const DoorWorld world{.cluster = &*cluster, .window = window ? &*window : nullptr, .pause = pause};
    const Door door = decide_door(world, kBegin);
    if (window && !*window && !cluster->deleting)
      expect(door.shut && door.trouble, "a window that is wrong is no door");
    if (door.hook) {
      expect(*door.hook != cluster->shut, "a hook on a Cluster that is as it was");
      cluster->shut = *door.hook;
    }
    expect(!decide_door(world, kBegin).hook, "a door does not come to rest");
  }
}

void take_health_check(std::string_view text) {
  auto check = taken<HealthCheck>(text, [](auto json) { return read_health_check(json); });
  if (!check) return;
  for (const bool out : {true, false}) {
    const HealthCheckWorld world{
        .check = &*check, .out = std::vector<const Node*>(out ? 1 : 0, nullptr), .complete = true};
    if (auto requests = decide_pause(world)) check->pause_requests = std::move(*requests);
    expect(check->is_held() == out && !decide_pause(world), "a health check does not come to rest");
  }
}

void take_rule(std::string_view text) {
  const auto object = kube::decode_object(text);
  const auto rule = object ? drain::read_rule(*object) : io::fail(io::ErrorKind::invalid, "no object");
  if (!rule) return expect(!rule.error().message.empty(), "a rule is refused without a message");
  expect(!rule->name.empty(), "a rule without a name");
  const auto none = [](std::string_view) -> std::optional<std::string_view> { return std::nullopt; };
  if (rule->machines.empty()) expect(drain::applies(*rule, none, none), "a rule for all is for none");
}

// --- deciding ------------------------------------------------------------------------------------------------------

struct Settings {
  RelayOptions relay;
  bool paused = false;
};

Settings settings_of(std::string_view letters) {
  const auto has = [&](char letter) { return letters.find(letter) != std::string_view::npos; };
  return {
      {.hook_without_state = has('h'), .clear_approvals = has('c'), .skip_remediation = !has('r'), .metal3 = has('m')},
      has('p')};
}

// An object as the API server has it, to which writes are applied as the server applies them.
template <class T>
struct Stored {
  json::value text;
  std::optional<T> object;
};

json::value metadata(std::string_view field, json::object members) {
  json::object meta, object;
  meta[field] = std::move(members);
  object["metadata"] = std::move(meta);
  return object;
}
json::value metadata(std::string_view field, std::string_view key, json::value value) {
  json::object members;
  members[key] = std::move(value);
  return metadata(field, std::move(members));
}

class Play {
 public:
  Play(const std::vector<std::string_view>& texts, Sight sight)
      : settings_(settings_of(texts[0])), sight_(sight), pause_{.profile = {}, .by = "ana", .since = {}, .reason = {}} {
    // With each member once, so that all read it in the same way.
    for (const auto& [index, into] : {std::pair(1, &machine_), std::pair(4, &other_)}) read(texts[index], *into);
    read(texts[2], node_);
    read(texts[3], host_);
    if (other_.object && machine_.object && other_.object->key() == machine_.object->key()) other_.object.reset();
  }

  void run() {
    if (!machine_.object) return;
    for (const io::Duration later : {io::Duration{0}, io::Duration{kPatience}, io::Duration{kLongestReturn}}) {
      now_ += later;
      int steps = 0;
      while (relay() || power()) expect(++steps <= kMostSteps, "it does not come to rest");
    }
    if (node_.object) tidy_up();
  }

 private:
  void read(std::string_view text, auto& into) {
    boost::system::error_code error;
    into.text = json::parse(text, error);
    if (!error) refresh(into);
  }
  void refresh(Stored<Machine>& one) { one.object = take_machine(json::serialize(one.text), atoms_); }
  void refresh(Stored<Node>& one) { one.object = take_node(json::serialize(one.text), atoms_); }
  void refresh(Stored<Host>& one) { one.object = take_host(json::serialize(one.text), atoms_); }
  template <class T>
  void write(Stored<T>& one, const json::value& patch) {
    const T before = *one.object;
    sim::merge_patch(one.text, patch);
    refresh(one);
    expect(one.object.has_value(), "what careen has written cannot be read");
    expect(!one.object->same_facts(before), "a write that changes nothing");
  }

  World world() const {
    World world;
    world.machine = &*machine_.object;
    world.sight = sight_ == Sight::seen && !node_.object ? Sight::gone : sight_;
    if (world.sight == Sight::seen) world.node = &*node_.object;
    if (world.sight == Sight::unseen) world.trouble = "no answer";
    if (settings_.relay.metal3 && host_.object && belongs(*host_.object, *machine_.object)) {
      world.host = &*host_.object;
    }
    if (settings_.paused) world.pause = &pause_;
    return world;
  }

  // Whether something was written.
  bool relay() {
    const World seen = world();
    observe(seen, memory_, now_);
    const Decision decision = decide(seen, memory_, settings_.relay, now_);
    expect(!decision.node || !decision.machine, "a Node and a Machine are written at once");
    expect(!decision.wake || *decision.wake > now_, "it is decided again and again");
    expect(!name_of(decision.phase).empty() && !to_text(decision.why).empty(), "a decision without words");
    const ShownMachine shown{
        .machine = seen.machine, .node = seen.node, .now = now_, .decision = decision, .host = {}, .trouble = {}};
    expect(kube::Json::parse(document_of_machine(shown)).has_value(), "a document that is no JSON");
    if (decision.node) {
      expect_node(seen, *decision.node);
      apply(*decision.node);
    }
    if (decision.machine) {
      expect_machine(seen, *decision.machine);
      apply(*decision.machine);
    }
    return decision.node || decision.machine;
  }

  static void expect_node(const World& seen, const NodeWrite& write) {
    expect(seen.sight == Sight::seen, "a Node that is not seen is written");
    expect(!write.labels.empty(), "a Node is written for nothing");
    for (const auto& [label, set] : write.labels) {
      const bool told = label == kMachineDeleted || label == kMachineMaintenance;
      expect(told || (!set && (label == kApproveDeletion || label == kApproveMaintenance)), "a label of somebody else");
      if (set && label == kMachineDeleted) expect(seen.machine->deleting.has_value(), "a deletion that there is not");
      if (set && label == kMachineMaintenance) {
        expect(seen.machine->asked != Asked::nothing, "a request that there is not");
      }
    }
  }

  void expect_machine(const World& seen, const MachineWrite& write) const {
    const Machine& machine = *seen.machine;
    expect(write.hook || write.approve || write.skip_remediation, "a Machine is written for nothing");
    if (write.hook) {
      expect(*write.hook != machine.hooked, "a hook that is as it was");
      if (!*write.hook) expect_let_go(seen, write);
    }
    if (write.approve) {
      expect(machine.enabled && machine.asked == Asked::maintenance, "a maintenance that nobody asked for");
      expect(seen.node && seen.node->approves_maintenance, "a maintenance that the Node does not approve");
      expect(write.lets_go && !seen.pause, "a maintenance is approved under a pause");
    }
    if (write.skip_remediation) {
      const auto& is = machine.skips_remediation;
      expect(*write.skip_remediation ? !is : is && *is == kOwnValue, "what somebody else wrote is taken away");
    }
  }
  void expect_let_go(const World& seen, const MachineWrite& write) const {
    expect(!write.reason.empty(), "a deletion goes on without a reason");
    if (!seen.machine->enabled) return;
    expect(write.lets_go && !seen.pause, "a deletion goes on under a pause");
    if (seen.sight == Sight::gone) return expect(seen.machine->deleting.has_value(), "a hook goes with its Node");
    expect(seen.node != nullptr, "a deletion goes on, and nobody knows its Node");
    expect(seen.node->approves_deletion || (!seen.node->maintained && !settings_.relay.hook_without_state),
           "a deletion goes on that the Node does not approve");
  }

  void apply(const NodeWrite& what) {
    json::object labels;
    for (const auto& [label, set] : what.labels) labels[label] = set ? json::value(kTrue) : json::value();
    write(node_, metadata("labels", std::move(labels)));
  }
  void apply(const MachineWrite& what) {
    json::object annotations;
    if (what.hook) annotations[kPreDrainHook] = *what.hook ? json::value(kOwnValue) : json::value();
    if (what.skip_remediation) {
      annotations[kSkipRemediation] = *what.skip_remediation ? json::value(kOwnValue) : json::value();
    }
    json::value patch = metadata("annotations", std::move(annotations));
    if (what.approve) sim::merge_patch(patch, metadata("labels", kMaintenance, json::value(kApproved)));
    write(machine_, patch);
  }

  // Whether something was written to the host.
  bool power() {
    if (!settings_.relay.metal3 || !host_.object) return false;
    PowerWorld world{.host = &*host_.object, .machines = {}, .pause = settings_.paused ? &pause_ : nullptr};
    for (const Stored<Machine>* one : {&machine_, &other_}) {
      if (one->object) world.machines.push_back(&*one->object);
    }
    const PowerDecision decision = decide_power(world);
    expect(!name_of(decision.power).empty(), "a power without a name");
    if (decision.trouble) {
      expect(!decision.trouble->reason.empty() && !decision.trouble->message.empty(), "trouble without words");
    }
    expect_power(world, decision);
    if (decision.hold) {
      write(host_, metadata("annotations", kPowerOff, decision.hold->hold_off ? json::value("") : json::value()));
    } else if (decision.reboot) {
      Stored<Machine>& asks = decision.reboot->machine == machine_.object->key() ? machine_ : other_;
      write(asks, metadata("annotations", kRebootHost, json::value(kDone)));
      write(host_, metadata("annotations", kReboot, json::value("")));
    }
    return decision.hold || decision.reboot;
  }

  static void expect_power(const PowerWorld& world, const PowerDecision& decision) {
    const Host& host = *world.host;
    const bool off = decision.hold && decision.hold->hold_off;
    if (decision.hold) expect(off != host.held_off, "a hold that is as it was");
    if (!off && !decision.reboot) return;
    expect(!world.pause, "a host is powered off under a pause");
    expect(host.keeps_power != off, "a host that keeps its power is powered off");
    bool allowed = false;
    for (const Machine* machine : world.machines) {
      const bool mine = machine->key() == decision.machine && belongs(host, *machine);
      allowed = allowed || (mine && machine->asked == Asked::granted);
    }
    expect(allowed, "a host is powered off for nobody");
  }

  void tidy_up() {
    const auto left = tidy(*node_.object);
    expect(left.has_value() == node_.object->marked(), "labels of careen's stay");
    if (!left) return;
    apply(*left);
    expect(!tidy(*node_.object), "tidied up again and again");
  }

  const Settings settings_;
  const Sight sight_;
  const budget::Pause pause_;
  kube::AtomPool atoms_;
  Stored<Machine> machine_, other_;
  Stored<Node> node_;
  Stored<Host> host_;
  Memory memory_;
  io::Wall now_ = kBegin;
};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> texts;
  while (texts.size() + 1 < kTexts) {
    const size_t end = text.find(kSeparator);
    texts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + kSeparator.size());
  }
  texts.push_back(text);
  return texts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto texts = split({reinterpret_cast<const char*>(data), size});
  take_reference(texts[0].substr(0, texts[0].find('\n')));
  kube::AtomPool atoms;
  for (const std::string_view text : texts) {
    take_machine(text, atoms);
    take_node(text, atoms);
    take_host(text, atoms);
    take_secret(text, atoms);
    take_cluster(text, atoms);
    take_health_check(text);
    take_rule(text);
  }
  expect(atoms.size() == 0, "something is left behind");
  for (const Sight sight :
       {Sight::no_node, Sight::connecting, Sight::unseen, Sight::gone, Sight::disputed, Sight::seen}) {
    Play(texts, sight).run();
  }
  return 0;
}
