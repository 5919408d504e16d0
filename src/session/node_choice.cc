#include "session/node_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/suggest.h"
#include "kube/name_order.h"

namespace careen::app {

using io::Task;

namespace {

// From here on a list of all nodes is cheaper than asking for each.
constexpr size_t kManyNames = 16;
constexpr int kReadsAtOnce = 16;

std::vector<std::string> without_repetitions(const std::vector<std::string>& names) {
  std::vector<std::string> once;
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) once.push_back(name);
  }
  return once;
}

using Answers = std::map<std::string, kube::Result<kube::Node>>;

Task<void> read_node(KubeSession* session, std::string name, Answers* answers) {
  auto text = co_await session->client.get(kube::resources::nodes, "", name);
  if (!text) {
    answers->emplace(name, tl::make_unexpected(std::move(text.error())));
    co_return;
  }
  auto node = session->nodes.decode(*text);
  if (node) {
    answers->emplace(name, std::move(*node));
  } else {
    answers->emplace(name, tl::make_unexpected(kube::to_api_error(node.error())));
  }
}

std::string missing(const std::string& name, const std::vector<kube::Node>& all) {
  std::vector<std::string_view> names;
  for (const kube::Node& node : all) names.push_back(node.name);
  return fmt::format("node \"{}\" not found{}", name, config::did_you_mean(name, names));
}

void add(ChosenNodes& chosen, const kube::ApiError& error) {
  chosen.errors.push_back(server_error(error));
  chosen.forbidden = chosen.forbidden || error.forbidden();
}

Task<ChosenNodes> read_each(KubeSession& session, std::vector<std::string> names) {
  Answers answers;
  std::vector<Task<void>> reads;
  for (const std::string& name : names) reads.push_back(read_node(&session, name, &answers));
  co_await run_all(session.loop, std::move(reads), kReadsAtOnce);

  ChosenNodes chosen;
  std::vector<std::string> absent;
  for (const std::string& name : names) {
    auto& answer = answers.at(name);
    if (answer) {
      chosen.nodes.push_back(std::move(*answer));
    } else if (answer.error().not_found()) {
      absent.push_back(name);
    } else {
      add(chosen, answer.error());
    }
  }
  if (absent.empty()) co_return chosen;
  // Without the right to list them there is nothing to compare with.
  const auto all = co_await list_nodes(session);
  for (const std::string& name : absent) {
    chosen.errors.push_back(missing(name, all ? *all : std::vector<kube::Node>{}));
  }
  co_return chosen;
}

Task<ChosenNodes> pick_from_list(KubeSession& session, std::vector<std::string> names) {
  ChosenNodes chosen;
  const auto all = co_await list_nodes(session);
  if (!all) {
    add(chosen, all.error());
    co_return chosen;
  }
  for (const std::string& name : names) {
    const auto found =
        std::find_if(all->begin(), all->end(), [&](const kube::Node& node) { return node.name == name; });
    if (found == all->end()) {
      chosen.errors.push_back(missing(name, *all));
    } else {
      chosen.nodes.push_back(*found);
    }
  }
  co_return chosen;
}

}  // namespace

Task<kube::Result<std::vector<kube::Node>>> list_nodes(KubeSession& session, std::string selector) {
  std::vector<kube::Node> nodes;
  const std::string query = selector.empty() ? "" : "labelSelector=" + url_text(selector);
  const auto read = co_await read_list(session, kube::resources::nodes, query, [&](kube::RawObject& raw) {
    auto node = session.nodes.decode(raw);
    if (node) nodes.push_back(std::move(*node));
    return node.map([](const kube::Node&) { return true; });
  });
  if (!read) co_return tl::make_unexpected(read.error());
  co_return nodes;
}

Task<ChosenNodes> choose_nodes(KubeSession& session, NodeChoice choice) {
  if (!choice.names.empty()) {
    std::vector<std::string> names = without_repetitions(choice.names);
    if (names.size() < kManyNames) co_return co_await read_each(session, std::move(names));
    co_return co_await pick_from_list(session, std::move(names));
  }
  ChosenNodes chosen;
  auto nodes = co_await list_nodes(session, choice.selector);
  if (nodes) {
    chosen.nodes = std::move(*nodes);
    std::sort(chosen.nodes.begin(), chosen.nodes.end(),
              [](const kube::Node& a, const kube::Node& b) { return kube::compare_names(a.name, b.name) < 0; });
  } else {
    add(chosen, nodes.error());
  }
  co_return chosen;
}

}  // namespace careen::app
