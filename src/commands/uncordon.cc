#include <fmt/format.h>

#include "commands/holders.h"
#include "commands/node_commands.h"
#include "commands/node_write.h"
#include "session/kube_session.h"
#include "session/node_choice.h"

namespace careen::app {

using io::Task;

namespace {

constexpr int kUncordonsAtOnce = 16;

class Uncordon {
 public:
  Uncordon(KubeSession& session, UncordonOptions options) : session_(session), options_(std::move(options)) {}

  Task<int> main() {
    auto nodes = co_await find_nodes();
    if (!nodes) co_return kFailed;
    // Those of the node itself suffice where these cannot be read.
    const ListedJobs listed = co_await list_jobs(session_);
    std::vector<Work> work;
    for (kube::Node& node : *nodes) {
      auto holders = cordon_holders(node, listed.jobs);
      work.push_back({std::move(node), std::move(holders), std::nullopt});
    }
    std::vector<Task<void>> tasks;
    for (Work& one : work) tasks.push_back(undo(one));
    co_await run_all(session_.loop, std::move(tasks), kUncordonsAtOnce);
    for (const Work& one : work) show(one);
    co_return failed_ ? kFailed : 0;
  }

 private:
  struct Work {
    kube::Node before;
    std::vector<Holder> holders;
    std::optional<kube::Result<kube::Node>> after;  // nothing: it is left as it is
  };

  Task<std::optional<std::vector<kube::Node>>> find_nodes() {
    ChosenNodes chosen = co_await choose_nodes(session_, {options_.nodes, options_.selector});
    for (const std::string& error : chosen.errors) session_.screen.error(error);
    if (!chosen.errors.empty()) co_return std::nullopt;
    if (options_.all_mine) {
      std::erase_if(chosen.nodes, [this](const kube::Node& node) {
        return !drain::holds_of(node).by_owner.contains(session_.owner);
      });
    }
    if (chosen.nodes.empty()) {
      session_.screen.note(options_.all_mine ? fmt::format("No node is held by {}.", session_.owner)
                                             : "No node matches the selector.");
    }
    co_return std::move(chosen.nodes);
  }

  drain::NodeChange change(const kube::Node& node) {
    if (options_.all_mine) return drain::release(node, session_.owner, session_.atoms);
    return drain::uncordon(node, options_.force ? std::string_view() : drain::kTerminalPrefix, session_.atoms);
  }

  Task<void> undo(Work& work) {
    const drain::NodeChange wanted = change(work.before);
    // A maintenance that left no record on the node holds it all the same.
    const bool respects = !options_.force && !options_.all_mine;
    if (respects && !work.holders.empty() && wanted.unschedulable == false) co_return;
    if (options_.dry_run == DryRun::client) {
      kube::Node after = work.before;
      after.unschedulable = wanted.unschedulable.value_or(after.unschedulable);
      work.after = std::move(after);
      co_return;
    }
    work.after = co_await change_node(
        session_, work.before, [this](const kube::Node& node) { return change(node); },
        options_.dry_run == DryRun::server);
  }

  void show(const Work& work) {
    if (!work.after) return refuse(work.before, work.holders);
    if (*work.after) return show_written(work.before, **work.after, work.holders);
    failed_ = true;
    session_.screen.error(
        fmt::format("unable to uncordon node \"{}\": {}", work.before.name, server_error(work.after->error())));
  }

  void refuse(const kube::Node& node, const std::vector<Holder>& holders) {
    failed_ = true;
    for (const Holder& holder : holders) {
      session_.screen.error(fmt::format("node/{} stays cordoned: held by {}; {}", node.name,
                                        holder_text(holder, session_.now()), way_out(holder, node.name)));
    }
    session_.screen.note(fmt::format("With --force node/{} is uncordoned nevertheless.", node.name));
  }

  void show_written(const kube::Node& before, const kube::Node& after, const std::vector<Holder>& holders) {
    const std::string mark = options_.dry_run == DryRun::client   ? " (dry run)"
                             : options_.dry_run == DryRun::server ? " (server dry run)"
                                                                  : "";
    if (!after.unschedulable) {
      session_.screen.line(
          fmt::format("node/{} {}{}", after.name, before.unschedulable ? "uncordoned" : "already uncordoned", mark));
      tell_others(before, holders);
      return;
    }
    if (!options_.all_mine) return refuse(after, holders);
    std::string why = "as it was before";
    if (!holders.empty()) why = "held by " + holder_text(holders.front(), session_.now());
    session_.screen.line(fmt::format("node/{} released{}, still cordoned: {}", after.name, mark, why));
  }

  // Whose work has just been undone.
  void tell_others(const kube::Node& before, const std::vector<Holder>& holders) {
    for (const auto& [owner, hold] : drain::holds_of(before).by_owner) {
      if (options_.all_mine || owner == session_.owner || !owner.starts_with(drain::kTerminalPrefix)) continue;
      session_.screen.warning(
          fmt::format("node/{} was held by {}", before.name, holder_text({owner, hold.since}, session_.now())));
    }
    for (const Holder& holder : holders) {
      if (!options_.force) continue;
      session_.screen.warning(fmt::format("node/{} was held by {} and may be cordoned again; {}", before.name,
                                          holder_text(holder, session_.now()), way_out(holder, before.name)));
    }
  }

  KubeSession& session_;
  UncordonOptions options_;
  bool failed_ = false;
};

}  // namespace

Task<int> uncordon_nodes(KubeSession& session, UncordonOptions options) {
  Uncordon uncordon(session, std::move(options));
  co_return co_await uncordon.main();
}

}  // namespace careen::app
