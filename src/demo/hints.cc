#include "demo/hints.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/screen.h"
#include "demo/config.h"
#include "io/ascii.h"

namespace careen::app {

namespace {

// Of the storage pool and not updated yet; a worker that is.
constexpr const char* kUnapproved = "node-9";
constexpr const char* kHealthy = "node-8";

// A path as one word of a shell.
std::string shell_word(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return io::is_digit(c) || (io::lower(c) >= 'a' && io::lower(c) <= 'z') ||
           std::string_view("/._-").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string environment(const DemoPlace& place) {
  std::string out = fmt::format("export KUBECONFIG={} CAREEN_SERVER={}", shell_word(place.kubeconfig), place.dashboard);
  if (!place.folder.empty()) out += fmt::format(" PATH={}:$PATH", shell_word(place.folder));
  return out;
}

std::string patch_budget(int max_unavailable) {
  return fmt::format("kubectl -n data patch pdb orders --type merge -p '{{\"spec\":{{\"maxUnavailable\":{}}}}}'",
                     max_unavailable);
}

std::string speed_text(double speed) {
  return speed == 1 ? "in real time" : fmt::format("{:g} times as fast as real time", speed);
}

// Of several clusters, about the first two.
std::vector<Hint> hub_hints(const DemoPlace& place) {
  const std::string one = kClusterNames[0], other = kClusterNames[1];
  const auto named = [](const std::string& cluster) { return fmt::format("{}/{}", kFleetNamespace, cluster); };
  return {
      {"Paste this first:", {environment(place)}},
      {"The clusters that careen looks after, and the Machines of Cluster API in them:", {"careen clusters"}},
      {"The nodes of one of them, its limits, and all of it live; q ends that:",
       {fmt::format("kubectl --context {} get nodes -L topology.kubernetes.io/zone,cloud.sap/maintenance-state,{}", one,
                    kOsVersionLabel),
        fmt::format("careen status --cluster {}", named(one)), fmt::format("careen budget --cluster {}", named(one)),
        fmt::format("careen top --cluster {}", named(one))}},
      {fmt::format("Why does {} not move? Its pool waits for a person. Be that person:", kUnapproved),
       {fmt::format("careen explain cluster/{}/node/{}", named(one), kUnapproved),
        fmt::format("kubectl --context {} annotate --overwrite node {} {}=yes", one, kUnapproved,
                    kApprovedAnnotation)}},
      {"Break a node of another one. It is drained, repaired some minutes later, and comes back:",
       {fmt::format("kubectl --context {} label --overwrite node {} {}=broken", other, kHealthy, kHardwareLabel)}},
      {"Take a cluster out of careen's care, and put it back:",
       {fmt::format("kubectl -n {} label cluster {} careen.dev/hub-", kFleetNamespace, other),
        fmt::format("kubectl -n {} label cluster {} careen.dev/hub=true", kFleetNamespace, other)}},
      {"When will all nodes of it be done, and what limits the pace?",
       {fmt::format("careen plan --config {} --cluster {} --for 24h", shell_word(place.config), named(one))}},
      {"The emergency stop, of all clusters at once:", {"careen pause --reason \"just looking\"", "careen resume"}},
  };
}

std::string size_text(const DemoPlace& place) {
  if (place.clusters == 1) return fmt::format("careen on a model cluster of {} nodes in 3 zones", place.nodes);
  return fmt::format("careen as the hub of {} model clusters of {} nodes in 3 zones each", place.clusters, place.nodes);
}

}  // namespace

std::vector<Hint> demo_hints(const DemoPlace& place) {
  if (place.clusters > 1) return hub_hints(place);
  return {
      {"Paste this first:", {environment(place)}},
      {"The nodes, and who takes which out:",
       {fmt::format("kubectl get nodes -L topology.kubernetes.io/zone,cloud.sap/maintenance-state,{}", kOsVersionLabel),
        "careen status"}},
      {"One limit over everybody who takes nodes out, kured and people among them; who waits, and for whom:",
       {"careen budget"}},
      {"All of it live, on the whole terminal; q ends it:", {"careen top"}},
      {fmt::format("Why does {} not move? Its pool waits for a person. Be that person:", kUnapproved),
       {fmt::format("careen explain {}", kUnapproved),
        fmt::format("kubectl annotate --overwrite node {} {}=yes", kUnapproved, kApprovedAnnotation)}},
      {"Break a node. It is drained, repaired some minutes later, and comes back:",
       {fmt::format("kubectl label --overwrite node {} {}=broken", kHealthy, kHardwareLabel)}},
      {"Let a disruption budget block a drain, see what blocks it, and let it go on:",
       {patch_budget(0), fmt::format("careen maintain {} --reason \"swap a disk\"", place.blocked), "careen status",
        patch_budget(1), fmt::format("careen release {}", place.blocked)}},
      {"When will all nodes be done, and what limits the pace?",
       {fmt::format("careen plan --config {} --for 24h", shell_word(place.config))}},
      {"The emergency stop:", {"careen pause --reason \"just looking\"", "careen resume"}},
  };
}

void print_demo_start(Screen& screen, const DemoPlace& place) {
  screen.line(screen.paint(Colour::bold, "careen demo") +
              fmt::format(": {}, {}", size_text(place), speed_text(place.speed)));
  screen.line("");
  screen.line("  Dashboard   " + screen.paint(Colour::bold, place.dashboard) + "/");
  screen.line(fmt::format("  Kubeconfig  {}", place.kubeconfig));
  screen.line(fmt::format("  Profiles    {}", place.config));
  screen.line("");
  screen.line("What to try next, in another terminal:");
  for (const Hint& hint : demo_hints(place)) {
    screen.line("");
    screen.line("  " + hint.title);
    for (const std::string& command : hint.commands) screen.line("    " + screen.paint(Colour::bold, command));
  }
  screen.line("");
  if (!place.kubectl) screen.line("kubectl is not on your PATH here; any recent version will do.");
  screen.line("Ctrl-C ends it. What happens meanwhile (UTC):");
  screen.line("");
}

}  // namespace careen::app
