#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "cli/yaml_text.h"
#include "commands/command_list.h"
#include "commands/explain_text.h"
#include "commands/view_session.h"
#include "commands/view_source.h"
#include "controllers/slot/kind.h"
#include "replica/controllers.h"
#include "session/kube_session.h"

namespace careen::app {

using io::Task;
using kube::Json;

namespace {

enum class Format { text, json, yaml };

struct ExplainOptions {
  ViewOptions view;
  std::vector<std::string> names;
  Format format = Format::text;
};

// The path of the document for x, node/x, or an object of a controller, KIND/x.
std::string path_of(const std::string& name);

// cluster/NAMESPACE/NAME/… is about one of the clusters that a hub looks after.
std::string path_in_cluster(const std::string& name) {
  const size_t ns = name.find('/') + 1, cluster = name.find('/', ns), rest = name.find('/', cluster + 1);
  if (cluster == std::string::npos || rest == std::string::npos) {
    throw UsageError(fmt::format("\"{}\" names nothing; expected cluster/NAMESPACE/NAME/node/NAME", name));
  }
  return of_cluster(path_of(name.substr(rest + 1)), name.substr(ns, rest - ns));
}

std::string path_of(const std::string& name) {
  if (name.starts_with("cluster/")) return path_in_cluster(name);
  const size_t slash = name.find('/');
  const std::string kind = slash == std::string::npos ? "node" : name.substr(0, slash);
  const std::string rest = slash == std::string::npos ? name : name.substr(slash + 1);
  if (rest.empty()) throw UsageError(fmt::format("\"{}\" names nothing; expected node/NAME or NAME", name));
  if (kind == "node" || kind == "nodes" || kind == "no") return "nodes/" + url_text(rest);
  std::string known = "node/NAME";
  for (const controllers::Kind* one : replica::object_kinds()) {
    if (kind == one->name || kind == one->short_name || kind == one->object.plural) {
      return one->object.plural + "/" + url_text(rest);
    }
    known += fmt::format(" or {}/NAME", one->name);
  }
  for (const controllers::Kind* one : replica::controller_kinds()) {
    if (one->explained.empty()) continue;
    const std::string singular(one->explained.substr(0, one->explained.size() - 1));
    if (kind == one->explained || kind == singular || kind == one->short_name) {
      // Its namespace is a part of the path of its own.
      const size_t end = rest.find('/');
      if (end == std::string::npos) {
        throw UsageError(fmt::format("\"{}\" lacks a namespace; expected {}/NAMESPACE/NAME", name, singular));
      }
      return fmt::format("{}/{}/{}", one->explained, url_text(rest.substr(0, end)), url_text(rest.substr(end + 1)));
    }
    known += fmt::format(" or {}/NAMESPACE/NAME", singular);
  }
  known += " or cluster/NAMESPACE/NAME/node/NAME";
  throw UsageError(fmt::format("\"{}\": there is no kind \"{}\" to explain; expected {}", name, kind, known));
}

void print(Screen& screen, Format format, const std::vector<Json>& stories) {
  if (format == Format::text) {
    for (size_t index = 0; index < stories.size(); ++index) {
      if (index > 0) screen.line("");
      for (const Line& line : explain_lines(stories[index].view(), screen)) screen.line(line);
    }
    return;
  }
  // One as it is, several as a list.
  Json document = stories.size() == 1 ? stories.front() : Json::array();
  if (stories.size() > 1) {
    for (const Json& story : stories) document.push_back(story);
  }
  screen.document(format == Format::yaml ? yaml_text(document.view()) : document.dump());
}

Task<int> explain(ViewSession& session, std::vector<std::string> paths, Format format) {
  std::vector<Json> stories;
  bool failed = false;
  for (const std::string& path : paths) {
    auto story = co_await session.source.get(path);
    if (story) {
      stories.push_back(std::move(*story));
      continue;
    }
    session.screen.error(story.error().message);
    failed = true;
    // Somebody who did not answer this will not answer the rest.
    if (story.error().status != 404) break;
  }
  if (!stories.empty()) print(session.screen, format, stories);
  co_return failed ? kFailed : 0;
}

int run_explain(ExplainOptions options) {
  complete_view_options(options.view);
  std::vector<std::string> paths;
  for (const std::string& name : options.names) paths.push_back(path_of(name));
  return run_on_view(options.view,
                     [&](ViewSession& session) { return explain(session, std::move(paths), options.format); });
}

}  // namespace

void add_explain_command(Commands& commands) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App& command = commands.add("explain", "Why a node is where it is, what it waits for, and until when",
                                   CommandGroup::see, [options] { return run_explain(*options); });
  command.footer(
      "Each check that a transition depends on is shown with its verdict and its facts; what holds the node up is\n"
      "highlighted. Exit code 1: there is no such node, or nobody could be asked.\n\n"
      "Examples:\n"
      "  careen explain node-17\n"
      "  careen explain node/node-17 " +
      replica::say_of_controllers("{name}/firmware", " ") +
      " -o yaml\n"
      "  careen explain node-17 --server http://127.0.0.1:8080\n"
      "  CAREEN_SERVER=auto careen explain node-17\n"
      "  careen explain machine/fleet/eu-1-md-0-x7k2p cluster/fleet/eu-1/node/node-17\n"
      "  careen explain node-17 --config maintenance.yaml");
  command
      .add_option("NODE", options->names,
                  "node/NAME, " + replica::say_of_controllers("{name}/NAME", ", ") +
                      ", machine/NAMESPACE/NAME, cluster/NAMESPACE/NAME/node/NAME, or the name of a node")
      ->required();
  command
      .add_option_function<std::string>(
          "-o,--output",
          [options](const std::string& text) { options->format = text == "json" ? Format::json : Format::yaml; },
          "The whole story as a document")
      ->check(CLI::IsMember({"json", "yaml"}));
  add_view_flags(command, options->view);
  add_cluster_flags(command, options->view.cluster);
}

}  // namespace careen::app
