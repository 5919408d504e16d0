// A node with any records on it, as a kubelet could write them, is decided on. Lines: "d" and the data annotation, "o"
// the outbox, "h" the holds, "p" and "s" the labels of profiles and state, "u" for a cordoned node. Whatever they say,
// the decided write touches no label, annotation or field but careen's own, and no word of theirs reaches people.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "budget/ledger.h"
#include "budget/occupancy.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/decide.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/message_text.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/profiles/profile_states.h"
#include "controllers/profiles/stagger_leases.h"
#include "drain/holds.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "kube/names.h"
#include "kube/node_document.h"
#include "observe/prometheus_observations.h"
#include "sim/outside.h"
#include "sim/test_api.h"

namespace {

using namespace careen;
using kube::Json;
using kube::JsonView;

// Everything but the node's own records says yes.
constexpr const char* kConfig = R"(
intervals: {requeue: 60s}
instances:
  check:
  - {name: wanted, type: hasLabel, config: {key: wanted}}
  - {name: few, type: maxMaintenance, config: {max: 1, skipAfter: 1h}}
  - {name: over, type: wait, config: {duration: 10m}}
  trigger:
  - {name: drain, type: eviction, config: {action: drain}}
  - {name: uncordon, type: eviction, config: {action: uncordon}}
  notify:
  - name: tell
    type: slackThread
    config: {token: t, channel: c, leaseName: l, leaseNamespace: n, period: 1h, title: "{{ .Profile.Last }}", message: "{{ .Node.Name }} {{ .State }} {{ .Profile.Current }} {{ .Profile.Last }}"}
    schedule: {type: periodic, config: {interval: 1h}}
profiles:
- name: p
  operational: {notify: tell, transitions: [{check: wanted, next: maintenance-required}]}
  maintenance-required: {notify: tell, transitions: [{check: few && over, next: in-maintenance, trigger: drain}]}
  in-maintenance: {enter: drain, notify: tell, transitions: [{check: over, next: operational, trigger: uncordon}]}
- name: q
  maintenance-required: {transitions: [{check: few, next: in-maintenance}]}
)";

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "node records fuzz: %s\n", what);
  std::abort();
}

profiles::Config load() {
  auto config = profiles::load_config(kConfig, "fuzz.yaml", profiles::all_plugins(),
                                      [](std::string_view) { return std::optional<std::string>(); });
  if (config) return std::move(*config);
  for (const config::ConfigError& error : config.error()) std::fprintf(stderr, "%s\n", error.to_text().c_str());
  std::abort();
}

// Every drain has just been asked for.
class NoProgress final : public profiles::Drains {
 public:
  const drain::Progress* progress(const kube::Node&, const std::string&) const override { return nullptr; }
};

// A world that has nothing but the nodes that are put into it.
struct Sandbox {
  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  io::Random random{1};
  io::Problems problems{io::Log{}};
  sim::TestApi api{*loop};
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  kube::Client client{*loop, *transport, metrics, random};
  kube::AtomPool atoms;
  kube::Store<kube::Node> nodes;
  budget::Ledger ledger{*loop, client, problems, io::Log{}, metrics, std::nullopt};
  kube::PodStore pods{atoms};
  kube::Store<kube::Lease> leases;
  kube::Store<kube::Object> hypervisor_objects;
  sim::Outside outside{*loop};
  std::unique_ptr<io::HttpClient> http = outside.connect(*loop);
  profiles::Config config = load();
  budget::Topics topics;
  profiles::ProfileStates states;
  budget::Occupancy occupancy{nodes, ledger, states};
  profiles::Fleet fleet{nodes, pods, topics};
  profiles::StaggerLeases stagger{leases, topics};
  profiles::Hypervisors hypervisors{hypervisor_objects};
  observe::PrometheusObservations observations{*loop, *http, metrics, {}, [](const observe::PrometheusQuery&) {}};
  NoProgress drains;
  profiles::Facts facts{occupancy, fleet, stagger, hypervisors, observations, topics, &drains};
  profiles::Deliveries deliveries;
  uint64_t version = 1;
};

void expect_among(JsonView object, const std::set<std::string_view>& names, const char* what) {
  object.for_each_member([&](std::string_view key, JsonView) { expect(names.contains(key), what); });
}

void expect_own(const std::string& patch) {
  const auto json = Json::parse(patch);
  expect(json.has_value(), "the patch is no JSON");
  expect_among(json->view(), {"metadata", "spec"}, "it writes what is not careen's");
  expect_among((*json)["metadata"], {"resourceVersion", "labels", "annotations"}, "it writes metadata of others");
  expect_among((*json)["metadata"]["labels"], {profiles::kStateLabel}, "it writes a label of others");
  expect_among((*json)["metadata"]["annotations"],
               {profiles::kDataAnnotation, profiles::kOutboxAnnotation, drain::kHoldsAnnotation},
               "it writes an annotation of others");
  expect_among((*json)["spec"], {"unschedulable"}, "it writes what is not its in the spec");
}

// The label of profiles is the node's own, and its names are shown.
void expect_own_words(const notify::Message& message, const kube::Node& node) {
  std::set<std::string> words{"node-1", "operational", "maintenance-required", "in-maintenance", "p", "q", "default"};
  const kube::Atom* const label = node.label(profiles::kProfileLabel);
  for (std::string& name : profiles::profiles_of(label ? std::optional(label->view()) : std::nullopt)) {
    words.insert(std::move(name));
  }
  for (const std::string* text : {&message.title, &message.text}) {
    std::istringstream all(*text);
    for (std::string word; all >> word;) expect(words.contains(word), "people are told what a stranger wrote");
  }
}

Json read_node(std::string_view text) {
  Json node = Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
  node.set({"metadata", "name"}, "node-1").set({"metadata", "uid"}, "uid-1");
  node.set({"metadata", "labels", "wanted"}, "").set({"metadata", "labels", "rack"}, "r1");
  node.set({"metadata", "labels", profiles::kProfileLabel}, "p--q");
  node.set({"spec", "taints"}, Json::array({Json::object({{"key", "gpu"}, {"effect", "NoSchedule"}})}));
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view value = line.size() > 2 ? line.substr(2) : std::string_view();
    if (line.starts_with("d ")) node.set({"metadata", "annotations", profiles::kDataAnnotation}, value);
    if (line.starts_with("o ")) node.set({"metadata", "annotations", profiles::kOutboxAnnotation}, value);
    if (line.starts_with("h ")) node.set({"metadata", "annotations", drain::kHoldsAnnotation}, value);
    if (!kube::label_value_errors(value).empty()) continue;  // the API server takes no such label
    if (line.starts_with("p ")) node.set({"metadata", "labels", profiles::kProfileLabel}, value);
    if (line.starts_with("s ")) node.set({"metadata", "labels", profiles::kStateLabel}, value);
    if (line == "u") node.set({"spec", "unschedulable"}, true);
  }
  return node;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Sandbox& world = *new Sandbox;  // lives as long as the process
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The API server takes no other.
  if (!Json::parse(Json(text).dump())) return 0;
  Json object = read_node(text);
  object.set({"metadata", "resourceVersion"}, std::to_string(++world.version));
  auto node = kube::decode_node(object.dump(), world.atoms);
  expect(node.has_value(), "the node cannot be read");
  world.nodes.put(*node);
  world.states.set_config(world.config);
  world.occupancy.update("node-1");
  const io::Wall now = *io::parse_rfc3339("2026-03-01T12:00:00Z");

  const profiles::Decision decision =
      profiles::decide({world.nodes, world.config, world.facts, world.deliveries}, "node-1", now);
  if (decision.effects.patch) expect_own(*decision.effects.patch);
  for (const profiles::RenderedMessage& posted : decision.effects.posted) expect_own_words(posted.message, *node);
  if (decision.admission()) expect(decision.admission()->node == "node-1", "another node is admitted");

  const auto outbox = profiles::outbox_of(*node);
  if (!outbox) return 0;
  expect(outbox->size() <= profiles::kMostMessages, "more messages than there can be");
  const Json document = kube::node_document(*node);
  for (const profiles::OutboxMessage& message : *outbox) {
    const profiles::NotifyInstance* instance = profiles::notification_of(world.config, message);
    if (!instance) continue;
    const profiles::OutboxMessage about = profiles::completed(message, *node, world.config);
    expect_own_words(profiles::render_message(*instance, about, "node-1", document.view(), world.config), *node);
  }
  const auto again = profiles::parse_outbox(profiles::format_outbox(*outbox));
  expect(!again || *again == *outbox, "writing changed the outbox");
  return 0;
}
