#include "commands/node_pods_sink.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "kube/objects.h"

namespace careen::app {

namespace {

class NodePodsSink final : public kube::Sink {
 public:
  NodePodsSink(kube::PodStore& pods, std::string node) : pods_(pods), node_(std::move(node)) {}

  void begin_list() override { listed_.clear(); }

  // It is seen at once: what a list of one node shows before its end is true already.
  io::Result<bool> listed(kube::RawObject& raw) override {
    kube::PodFacts facts;
    auto read = kube::decode_pod(raw, facts);
    if (!read) return read;
    listed_.insert(kube::object_key(facts.ns, facts.name));
    take(facts);
    return true;
  }

  void end_list(uint64_t version) override {
    std::vector<std::pair<std::string, std::string>> vanished;
    pods_.for_each_on(node_, [&](const kube::Pod& pod) {
      if (pod.version <= version && !listed_.contains(kube::object_key(pod.ns, pod.name))) {
        vanished.emplace_back(pod.ns, pod.name);
      }
    });
    for (const auto& [ns, name] : vanished) pods_.remove(ns, name, version);
    newest_ = std::max(newest_, version);
    drop_list();
  }

  void drop_list() override { listed_.clear(); }

  io::Result<uint64_t> event(kube::EventType type, kube::RawObject& raw) override {
    kube::PodFacts facts;
    if (auto read = kube::decode_pod(raw, facts); !read) return tl::make_unexpected(std::move(read.error()));
    if (type == kube::EventType::deleted) {
      newest_ = std::max(newest_, facts.version);
      pods_.remove(facts.ns, facts.name, facts.version);
    } else {
      take(facts);
    }
    return facts.version;
  }

  void bookmark(uint64_t version) override { newest_ = std::max(newest_, version); }
  size_t size() const override { return pods_.count_on(node_); }
  uint64_t newest_version() const override { return newest_; }

 private:
  void take(const kube::PodFacts& facts) {
    newest_ = std::max(newest_, facts.version);
    pods_.put(facts);
  }

  kube::PodStore& pods_;
  std::string node_;
  std::set<std::string> listed_;
  uint64_t newest_ = 0;
};

}  // namespace

std::unique_ptr<kube::Sink> make_node_pods_sink(kube::PodStore& pods, std::string node) {
  return std::make_unique<NodePodsSink>(pods, std::move(node));
}

}  // namespace careen::app
