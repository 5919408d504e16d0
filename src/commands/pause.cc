#include "commands/pause.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <set>

#include "cli/command_set.h"
#include "commands/command_list.h"
#include "commands/holders.h"
#include "commands/pause_json.h"
#include "commands/pause_place.h"
#include "config/suggest.h"
#include "controllers/profiles/names.h"
#include "kube/json.h"
#include "session/cluster_command.h"

namespace careen::app {

using budget::Pause;
using budget::PauseRecord;
using io::Task;
using kube::Json;

namespace {

// Others write it a few times a year.
constexpr int kMostConflicts = 5;

std::string subject(const std::string& profile) { return profile.empty() ? "everything" : "profile " + profile; }

// What one run of pause or resume does to the record: nothing to write when it stays the same.
struct Change {
  std::optional<PauseRecord> record;
  std::vector<std::string> lines;  // to say once it is written
  std::vector<std::string> warnings;
  int code = 0;
};

class PauseWriter {
 public:
  PauseWriter(KubeSession& session, PauseOptions options, std::string ns)
      : session_(session), options_(std::move(options)), ns_(std::move(ns)) {}
  virtual ~PauseWriter() = default;

  // Compare and swap: computed again when somebody else was faster.
  Task<int> main() {
    for (int attempt = 1;; ++attempt) {
      auto stored = co_await read_pause_lease(session_, ns_);
      if (!stored) co_return fail(stored.error());
      Change change = decide(*stored);
      if (!change.record) co_return report(change, stored->record.value_or(PauseRecord{}));
      const auto answer = co_await write_pause_lease(session_, ns_, *stored, *change.record);
      if (answer) co_return report(change, *change.record);
      const kube::ApiError& error = answer.error();
      const bool again = error.conflict() || error.already_exists() || error.ambiguous();
      if (!again || attempt == kMostConflicts) co_return fail(error);
    }
  }

 protected:
  virtual Change decide(const PauseLease& stored) = 0;

  // Only those who replace the whole record may do without what it says.
  static Change unreadable(const PauseLease& stored) {
    Change change;
    change.code = kFailed;
    change.warnings.push_back(fmt::format(
        "the record cannot be read, and everything is paused because of it: {}; \"careen pause\" and \"careen "
        "resume\" without a profile replace it",
        stored.mistake));
    return change;
  }

  KubeSession& session_;
  PauseOptions options_;
  std::string ns_;

 private:
  int fail(const kube::ApiError& error) {
    session_.screen.error(server_error(error));
    return kFailed;
  }

  int report(const Change& change, const PauseRecord& now) {
    for (const std::string& text : change.warnings) session_.screen.warning(text);
    if (!options_.json) {
      for (const std::string& text : change.lines) session_.screen.line(text);
      return change.code;
    }
    Json pauses = Json::array();
    for (const auto& [profile, pause] : now.pauses) pauses.push_back(pause_json(pause));
    session_.screen.document(Json::object({{"namespace", ns_},
                                           {"lease", PauseRecord::kLease},
                                           {"changed", change.record.has_value()},
                                           {"pauses", std::move(pauses)}})
                                 .dump());
    return change.code;
  }
};

class Pausing final : public PauseWriter {
 public:
  Pausing(KubeSession& session, PauseOptions options, std::string ns)
      : PauseWriter(session, std::move(options), std::move(ns)),
        wanted_{options_.profile, session.owner.substr(drain::kTerminalPrefix.size()),
                std::chrono::floor<io::seconds>(session.now()), options_.reason} {}

 private:
  // Who came first is named, unless somebody has more to say.
  Change decide(const PauseLease& stored) override {
    if (!stored.record && !wanted_.profile.empty()) return unreadable(stored);
    Change change;
    if (!stored.record) change.warnings.push_back("the record could not be read and is replaced: " + stored.mistake);
    PauseRecord record = stored.record.value_or(PauseRecord{});
    const auto known = record.pauses.find(wanted_.profile);
    if (known != record.pauses.end() && known->second != wanted_) {
      if (wanted_.reason.empty() || wanted_.reason == known->second.reason) {
        change.lines.push_back(fmt::format("already paused: {} ({})", subject(wanted_.profile), known->second.text()));
        return change;
      }
      change.warnings.push_back(fmt::format("it was {} before", known->second.text()));
    }
    if (const auto all = record.pauses.find(""); !wanted_.profile.empty() && all != record.pauses.end()) {
      change.warnings.push_back(fmt::format("everything is {} already", all->second.text()));
    }
    change.lines.push_back("paused: " + subject(wanted_.profile));
    // An answer that never came was a yes.
    if (known != record.pauses.end() && known->second == wanted_) return change;
    record.pauses.insert_or_assign(wanted_.profile, wanted_);
    change.record = std::move(record);
    return change;
  }

  Pause wanted_;
};

class Resuming final : public PauseWriter {
 public:
  using PauseWriter::PauseWriter;

 private:
  Change decide(const PauseLease& stored) override {
    if (options_.profile.empty()) return lift_all(stored);
    if (!stored.record) return unreadable(stored);
    return lift_one(*stored.record);
  }

  // Repeated after an answer that never came, it says what the first attempt found.
  Change lift_all(const PauseLease& stored) {
    Change change;
    if (!stored.record) {
      change.warnings.push_back("the record could not be read and is removed: " + stored.mistake);
      change.lines.emplace_back("resumed: everything");
      change.record = PauseRecord{};
      return change;
    }
    for (const auto& [profile, pause] : stored.record->pauses) {
      change.lines.push_back(fmt::format("resumed: {} (was {})", subject(profile), pause.text()));
    }
    if (!change.lines.empty()) {
      change.record = PauseRecord{};
      lifted_ = change.lines;
    } else if (!lifted_.empty()) {
      change.lines = lifted_;
    } else {
      change.lines.emplace_back("nothing is paused");
    }
    return change;
  }

  Change lift_one(PauseRecord record) {
    Change change;
    const std::string what = subject(options_.profile);
    const auto all = record.pauses.find("");
    const bool all_paused = all != record.pauses.end();
    const std::string still =
        all_paused ? fmt::format("everything is still {}; \"careen resume\" lifts that", all->second.text()) : "";
    const auto known = record.pauses.find(options_.profile);
    if (known != record.pauses.end()) {
      lifted_ = {fmt::format("resumed: {} (was {})", what, known->second.text())};
      record.pauses.erase(known);
      change.record = std::move(record);
    }
    change.lines = lifted_;
    if (lifted_.empty() && !all_paused) change.lines.push_back(what + " is not paused");
    if (all_paused) change.warnings.push_back(still);
    if (lifted_.empty() && all_paused) change.code = kFailed;
    return change;
  }

  std::vector<std::string> lifted_;  // told once it is written
};

// A name that nobody uses is most likely a slip, but a profile may come before its nodes.
Task<void> warn_of_unknown_profile(KubeSession& session, std::string profile) {
  std::set<std::string> known;
  const auto listed =
      co_await read_list(session, kube::resources::nodes, "", [&](kube::RawObject& raw) -> io::Result<bool> {
        auto node = session.nodes.decode(raw);
        if (!node) return tl::make_unexpected(node.error());
        const kube::Atom* label = node->label(profiles::kProfileLabel);
        for (std::string& name : profiles::profiles_of(label ? std::optional(label->view()) : std::nullopt)) {
          known.insert(std::move(name));
        }
        return true;
      });
  if (!listed || known.contains(profile)) co_return;
  const std::vector<std::string_view> names(known.begin(), known.end());
  session.screen.warning(fmt::format("no node has profile \"{}\"{}", profile, config::did_you_mean(profile, names)));
}

CLI::App& add(Commands& commands, const std::string& name, const std::string& summary, PauseOptions*& options,
              Task<int> (*main)(KubeSession&, PauseOptions)) {
  auto [command, given] = add_on_cluster<PauseOptions>(commands, name, summary, nullptr, main);
  command.add_option("--profile", given.options.profile, "Only this profile [everything]")->type_name("PROFILE");
  command
      .add_option("-n,--namespace", given.options.ns,
                  "The namespace in which \"careen run\" keeps its leases [looked for]")
      ->type_name("NAMESPACE");
  add_json_flag(command, given.options.json);
  add_cluster_flags(command, given.cluster);
  options = &given.options;
  return command;
}

}  // namespace

void add_pause_command(Commands& commands) {
  PauseOptions* options = nullptr;
  CLI::App& command =
      add(commands, "pause", "The emergency stop: nothing is begun, moved or evicted any more", options, pause_careen);
  command.footer(
      "It lives in the cluster until \"careen resume\", survives restarts and names who set it. What has begun stays\n"
      "as it is. Who is paused already stays so in the first one's name, unless --reason says something else.\n\n"
      "Examples:\n"
      "  careen pause --reason \"broken images\"\n"
      "  careen pause --profile os-update");
  command.add_option("--reason", options->reason, "Why, for everybody who looks");
}

void add_resume_command(Commands& commands) {
  PauseOptions* options = nullptr;
  CLI::App& command = add(commands, "resume", "Lift the emergency stop: all goes on at once", options, resume_careen);
  command.footer(
      "Without a profile every pause is lifted.\n\n"
      "Examples:\n"
      "  careen resume\n"
      "  careen resume --profile os-update");
}

Task<int> pause_careen(KubeSession& session, PauseOptions options) {
  const auto ns = co_await find_careen(session, options.ns);
  if (!ns) co_return kFailed;
  if (!options.profile.empty()) co_await warn_of_unknown_profile(session, options.profile);
  Pausing pausing(session, std::move(options), *ns);
  co_return co_await pausing.main();
}

Task<int> resume_careen(KubeSession& session, PauseOptions options) {
  const auto ns = co_await find_careen(session, options.ns);
  if (!ns) co_return kFailed;
  Resuming resuming(session, std::move(options), *ns);
  co_return co_await resuming.main();
}

}  // namespace careen::app
