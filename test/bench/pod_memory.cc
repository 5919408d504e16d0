// How much memory the caches take: a synthetic cluster of 150,000 pods goes through the real path (list pages, then
// watch events), then a million pods come and go; and its 5,000 nodes. Prints one line of JSON.
//
//   pod_memory [PODS [CHURN]]
#include <fmt/format.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "io/random.h"
#include "io/real_loop.h"
#include "kube/pod_store.h"
#include "kube/sink.h"
#include "kube/stream.h"

namespace {

using namespace careen;

constexpr int kNamespaces = 30;
constexpr int kNodes = 5000;
constexpr size_t kPage = 500;
// What the API server makes random names of.
constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";

size_t allocated() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

size_t resident() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  size_t total = 0, pages = 0;
  if (!file || std::fscanf(file, "%zu %zu", &total, &pages) != 2) std::abort();
  std::fclose(file);
  return pages * 4096;
}

enum class Kind { replica_set, daemon_set, stateful_set, job };

// What makes pods: their number, and what changes with a new rollout.
struct Workload {
  Kind kind;
  std::string ns;
  std::string app;
  int pods;
  std::string revision;
};

struct PodName {
  size_t workload = 0;
  int ordinal = 0;
  std::string suffix;
  std::string revision;
  std::string uid;
  int node = 0;
};

class Cluster {
 public:
  explicit Cluster(int pods) {
    while (static_cast<int>(names_.size()) < pods) add_workload(pods - static_cast<int>(names_.size()));
  }
  size_t size() const { return names_.size(); }
  size_t workloads() const { return workloads_.size(); }
  const PodName& pod(size_t i) const { return names_[i]; }
  uint64_t next_version() { return ++version_; }
  uint64_t version() const { return version_; }

  // All pods of a workload get a new template, and so new names; visit(index) before and after each.
  template <class Before, class After>
  size_t roll_out(size_t workload, Before&& before, After&& after) {
    const std::string revision = letters(9);
    for (const size_t i : members_[workload]) {
      before(i);
      names_[i] = make_name(workload, names_[i].ordinal, revision);
      after(i);
    }
    return members_[workload].size();
  }

  // About what the API server sends of a pod.
  std::string json(const PodName& pod, uint64_t version) const {
    const Workload& w = workloads_[pod.workload];
    std::string owner = w.app, kind, name, labels;
    const std::string common = fmt::format(
        R"("app.kubernetes.io/name":"{0}","app.kubernetes.io/instance":"{0}-{1}","app.kubernetes.io/managed-by":"Helm")",
        w.app, w.ns);
    switch (w.kind) {
      case Kind::replica_set:
        kind = "ReplicaSet";
        owner += "-" + pod.revision;
        name = owner + "-" + pod.suffix;
        labels = fmt::format(R"({},"pod-template-hash":"{}")", common, pod.revision);
        break;
      case Kind::daemon_set:
        kind = "DaemonSet";
        name = owner + "-" + pod.suffix;
        labels =
            fmt::format(R"({},"controller-revision-hash":"{}","pod-template-generation":"3")", common, pod.revision);
        break;
      case Kind::stateful_set:
        kind = "StatefulSet";
        name = fmt::format("{}-{}", owner, pod.ordinal);
        labels = fmt::format(
            R"({},"controller-revision-hash":"{}-{}","statefulset.kubernetes.io/pod-name":"{}","apps.kubernetes.io/pod-index":"{}")",
            common, w.app, pod.revision, name, pod.ordinal);
        break;
      case Kind::job:
        kind = "Job";
        owner += "-" + pod.revision;
        name = owner + "-" + pod.suffix;
        labels = fmt::format(R"({},"batch.kubernetes.io/job-name":"{}","batch.kubernetes.io/controller-uid":"{}")",
                             common, owner, pod.uid);
        break;
    }
    return fmt::format(
        R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{0}","generateName":"{1}-","namespace":"{2}","uid":"{3}",)"
        R"("resourceVersion":"{4}","creationTimestamp":"2026-03-01T10:00:00Z","labels":{{{5}}},)"
        R"("annotations":{{"checksum/config":"{3}{3}","prometheus.io/scrape":"true"}},)"
        R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"{6}","name":"{1}","uid":"{3}","controller":true}}],)"
        R"("managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","fieldsV1":{{"f:metadata":{{"f:labels":{{".":{{}},"f:app":{{}}}}}}}}}}]}},)"
        R"("spec":{{"volumes":[{{"name":"tmp","emptyDir":{{}}}},{{"name":"token","projected":{{"sources":[{{"serviceAccountToken":{{"path":"token"}}}}]}}}}],)"
        R"("containers":[{{"name":"main","image":"registry.example.com/{0}:v1","resources":{{"requests":{{"cpu":"100m"}}}}}}],)"
        R"("nodeName":"worker-{7:05}","priority":0,"tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists"}}]}},)"
        R"("status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-03-01T10:00:05Z"}}],)"
        R"("podIP":"10.0.0.1","containerStatuses":[{{"name":"main","ready":true,"imageID":"sha256:{3}"}}]}}}})",
        name, owner, w.ns, pod.uid, version, labels, kind, pod.node);
  }

 private:
  std::string letters(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += kLetters[random_.next() % kLetters.size()];
    return out;
  }
  // No two pods of a workload have the same.
  std::string suffix(int ordinal) {
    std::string out = letters(2);
    for (int i = 0; i < 3; ++i, ordinal /= static_cast<int>(kLetters.size())) {
      out += kLetters[static_cast<size_t>(ordinal) % kLetters.size()];
    }
    return out;
  }
  PodName make_name(size_t workload, int ordinal, const std::string& revision) {
    return {workload, ordinal, suffix(ordinal), revision, random_.uuid(), static_cast<int>(random_.next() % kNodes)};
  }
  // Mostly deployments of a few replicas, some of many; a daemon on each node; databases; jobs.
  void add_workload(int room) {
    Workload w;
    const size_t number = workloads_.size();
    const uint64_t draw = random_.next() % 100;
    w.ns = fmt::format("team-{}", random_.next() % kNamespaces);
    w.app = fmt::format("{}-service-{}", letters(6), number);
    w.revision = letters(9);
    if (number < 4 && room >= kNodes) {
      w.kind = Kind::daemon_set;
      w.pods = kNodes;
    } else if (draw < 75) {
      w.kind = Kind::replica_set;
      w.pods = 1 + static_cast<int>(random_.next() % (random_.next() % 20 == 0 ? 60 : 9));
    } else if (draw < 90) {
      w.kind = Kind::stateful_set;
      w.pods = 1 + static_cast<int>(random_.next() % 5);
    } else {
      w.kind = Kind::job;
      w.pods = 1;
    }
    w.pods = std::min(w.pods, room);
    members_.emplace_back();
    workloads_.push_back(w);
    for (int i = 0; i < w.pods; ++i) {
      members_.back().push_back(names_.size());
      names_.push_back(make_name(number, i, w.revision));
    }
  }

  io::Random random_{42};
  std::vector<Workload> workloads_;
  std::vector<PodName> names_;
  std::vector<std::vector<size_t>> members_;
  uint64_t version_ = 1'000'000;
};

void must(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "pod_memory: %s\n", what);
  std::exit(1);
}

void list(const Cluster& cluster, uint64_t version, kube::Sink& sink) {
  sink.begin_list();
  for (size_t begin = 0; begin < cluster.size(); begin += kPage) {
    std::string body = R"({"kind":"PodList","items":[)";
    for (size_t i = begin; i < std::min(begin + kPage, cluster.size()); ++i) {
      if (i > begin) body += ',';
      body += cluster.json(cluster.pod(i), 1000 + i);
    }
    body += fmt::format(R"(],"metadata":{{"resourceVersion":"{}"}}}})", version);
    const auto page = kube::read_page(body, [&](kube::RawObject& object) { return sink.listed(object); });
    must(page.has_value(), page ? "" : page.error().message.c_str());
  }
  sink.end_list(version);
}

// About what the API server sends of a node of a cloud provider.
std::string node_json(int number, io::Random& random) {
  std::string labels, conditions, images;
  for (int i = 0; i < 20; ++i) {
    labels += fmt::format(R"("topology.example.com/label-{}":"value-{}",)", i, random.next() % 20);
  }
  for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "Ready"}) {
    conditions += fmt::format(R"({}{{"type":"{}","status":"False","lastHeartbeatTime":"2026-03-01T10:00:00Z",)"
                              R"("reason":"Kubelet","message":"kubelet has no such pressure"}})",
                              conditions.empty() ? "" : ",", type);
  }
  for (int i = 0; i < 50; ++i) {
    images += fmt::format(R"({}{{"names":["registry.example.com/image-{}@sha256:{}"],"sizeBytes":123}})", i ? "," : "",
                          i, random.uuid());
  }
  return fmt::format(
      R"({{"metadata":{{"name":"worker-{0:05}","uid":"{1}","resourceVersion":"{2}","creationTimestamp":"2026-03-01T10:00:00Z",)"
      R"("labels":{{{3}"kubernetes.io/hostname":"worker-{0:05}","kubernetes.io/os":"linux"}},)"
      R"("annotations":{{"cloud.sap/maintenance-data":"{{\"profiles\":{{}}}}","csi.volume.kubernetes.io/nodeid":"{{\"csi\":\"{1}\"}}",)"
      R"("node.alpha.kubernetes.io/ttl":"0","projectcalico.org/IPv4Address":"10.0.0.{0}/24"}}}},)"
      R"("spec":{{"podCIDR":"10.0.0.0/24","providerID":"cloud:///{1}","taints":[{{"key":"k","effect":"NoSchedule"}}]}},)"
      R"("status":{{"conditions":[{4}],"nodeInfo":{{"kubeletVersion":"v1.36.3"}},"images":[{5}]}}}})",
      number, random.uuid(), 1000 + number, labels, conditions, images);
}

double bytes_per_node() {
  ::malloc_trim(0);
  const size_t before = allocated();
  kube::AtomPool atoms;
  kube::Store<kube::Node> store;
  const auto sink = kube::make_sink(store, atoms);
  io::Random random(11);
  sink->begin_list();
  for (int begin = 0; begin < kNodes; begin += static_cast<int>(kPage)) {
    std::string body = R"({"kind":"NodeList","metadata":{"resourceVersion":"100000"},"items":[)";
    for (int i = begin; i < begin + static_cast<int>(kPage); ++i) body += (i > begin ? "," : "") + node_json(i, random);
    body += "]}";
    const auto page = kube::read_page(body, [&](kube::RawObject& object) { return sink->listed(object); });
    must(page.has_value(), page ? "" : page.error().message.c_str());
  }
  sink->end_list(100'000);
  must(store.size() == kNodes, "nodes are missing after the list");
  return static_cast<double>(allocated() - before) / kNodes;
}

// Rollouts as watch events, bookmarks between them, until that many pods were replaced.
void churn(Cluster& cluster, size_t pods, kube::Sink& sink) {
  kube::WatchDecoder decoder;
  const auto drain = [&] {
    const auto ok = decoder.drain([&](kube::EventType type, kube::RawObject& object) -> io::Result<bool> {
      if (type == kube::EventType::bookmark) {
        auto version = kube::decode_version(object);
        if (!version) return tl::make_unexpected(version.error());
        sink.bookmark(*version);
        return true;
      }
      auto version = sink.event(type, object);
      if (!version) return tl::make_unexpected(version.error());
      return true;
    });
    must(ok.has_value(), ok ? "" : ok.error().message.c_str());
  };
  const auto send = [&](const char* type, size_t i) {
    decoder.buffer() +=
        fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, cluster.json(cluster.pod(i), cluster.next_version()));
    if (decoder.buffer().size() > 32'768) drain();
  };
  io::Random random(7);
  for (size_t replaced = 0; replaced < pods;) {
    replaced += cluster.roll_out(
        random.next() % cluster.workloads(), [&](size_t i) { send("DELETED", i); },
        [&](size_t i) { send("ADDED", i); });
    decoder.buffer() += fmt::format(
        "{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{}\"}}}}}}\n", cluster.version());
    drain();
    decoder.shrink();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int pods = argc > 1 ? std::atoi(argv[1]) : 150'000;
  const int churned = argc > 2 ? std::atoi(argv[2]) : 1'000'000;
  io::RealLoop loop;
  const double each_node = bytes_per_node();
  Cluster cluster(pods);
  // The generator's first page warms up what any use needs once.
  (void)cluster.json(cluster.pod(0), 1);
  ::malloc_trim(0);

  const size_t allocated_before = allocated(), resident_before = resident();
  kube::AtomPool atoms;
  kube::PodStore store(atoms);
  const auto sink = kube::make_sink(store);
  const io::Steady begun = loop.now();
  list(cluster, cluster.next_version(), *sink);
  const double list_seconds = io::to_seconds(loop.now() - begun);
  must(store.size() == cluster.size(), "pods are missing after the list");
  ::malloc_trim(0);
  const size_t allocated_listed = allocated() - allocated_before, resident_listed = resident() - resident_before;
  const size_t owned_listed = store.bytes() + atoms.bytes();

  churn(cluster, static_cast<size_t>(churned), *sink);
  must(store.size() == cluster.size(), "pods are missing after the churn");
  // As it is in a process that runs on: nothing is trimmed here.
  const size_t allocated_churned = allocated() - allocated_before, resident_churned = resident() - resident_before;

  list(cluster, cluster.next_version(), *sink);
  must(store.size() == cluster.size(), "pods are missing after the relist");
  ::malloc_trim(0);
  const size_t allocated_relisted = allocated() - allocated_before;

  const auto each = [&](size_t bytes) { return static_cast<double>(bytes) / pods; };
  fmt::print(
      "{{\"pods\":{},\"namespaces\":{},\"nodes\":{},\"bytes_per_pod\":{:.1f},\"malloc_bytes_per_pod\":{:.1f},"
      "\"rss_bytes_per_pod\":{:.1f},\"counted_bytes_per_pod\":{:.1f},\"list_seconds\":{:.2f},\"churned\":{},"
      "\"malloc_after_churn\":{:.3f},\"rss_after_churn\":{:.3f},\"malloc_after_relist\":{:.3f},\"bytes_per_node\":{:."
      "1f}}}\n",
      pods, kNamespaces, kNodes, each(std::max(allocated_listed, resident_listed)), each(allocated_listed),
      each(resident_listed), each(owned_listed), list_seconds, churned,
      static_cast<double>(allocated_churned) / static_cast<double>(allocated_listed),
      static_cast<double>(resident_churned) / static_cast<double>(resident_listed),
      static_cast<double>(allocated_relisted) / static_cast<double>(allocated_listed), each_node);
  return 0;
}
