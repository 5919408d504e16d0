#include "picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/events.h"
#include "kube/json_writer.h"
#include "kube/name_order.h"

namespace careen::lantern {

namespace {

using controllers::Cell;
using kube::append_json;

std::string document_of(const Lantern& lantern) {
  std::string out;
  kube::Members members(out, '{', '}');
  append_json(members.next("name"), lantern.name);
  append_json(members.next("node"), lantern.node);
  append_json(members.next("color"), lantern.color);
  append_json(members.next("phase"), name_of(lantern.phase));
  if (!lantern.message.empty()) append_json(members.next("waits"), lantern.message);
  append_json(members.next("since"), lantern.created);
  return out;
}

class PictureOfLanterns final : public controllers::Picture {
 public:
  explicit PictureOfLanterns(std::vector<Shown> all) : all_(std::move(all)) {
    std::sort(all_.begin(), all_.end(),
              [](const Shown& a, const Shown& b) { return kube::compare_names(a.lantern.name, b.lantern.name) < 0; });
  }

  Cell cell(std::string_view node) const override {
    Cell worst = Cell::none;
    for (const Lantern* one : on(node)) {
      worst = std::max(worst, one->phase == Phase::lit ? Cell::in_maintenance : Cell::maintenance_required);
    }
    return worst;
  }
  std::vector<Why> reasons(std::string_view node) const override {
    const auto found =
        std::find_if(all_.begin(), all_.end(), [&](const Shown& one) { return one.lantern.node == node; });
    return found == all_.end() ? std::vector<Why>() : std::vector{found->why};
  }
  std::vector<std::string> documents() const override {
    std::vector<std::string> out;
    for (const Shown& one : all_) out.push_back(document_of(one.lantern));
    return out;
  }
  std::vector<std::string> documents_of(std::string_view node) const override {
    std::vector<std::string> out;
    for (const Lantern* one : on(node)) out.push_back(document_of(*one));
    return out;
  }
  // What is not lit yet stands in the ledger.
  std::vector<budget::Claim> claims() const override {
    std::vector<budget::Claim> out;
    for (const Shown& one : all_) {
      const Lantern& lantern = one.lantern;
      if (lantern.phase != Phase::lit) continue;
      out.push_back({.who = std::string(kOwner), .node = lantern.node, .uid = one.node_uid, .since = lantern.created});
    }
    return out;
  }

 private:
  std::vector<const Lantern*> on(std::string_view node) const {
    std::vector<const Lantern*> found;
    for (const Shown& one : all_) {
      if (one.lantern.node == node) found.push_back(&one.lantern);
    }
    return found;
  }

  std::vector<Shown> all_;
};

}  // namespace

std::unique_ptr<controllers::Picture> picture_of(std::vector<Shown> all) {
  return std::make_unique<PictureOfLanterns>(std::move(all));
}

std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time) {
  if (event.reason != kLitReason && event.reason != kDarkReason) return std::nullopt;
  const std::string& node = event.regarding.name;
  return controllers::Entry{.time = time,
                            .kind = controllers::Entry::Kind::maintenance,
                            .text = fmt::format("{}: {}", node, event.note),
                            .node = node};
}

}  // namespace careen::lantern
