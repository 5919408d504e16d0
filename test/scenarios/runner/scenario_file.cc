#include "scenario_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "actions.h"
#include "config/yaml_document.h"
#include "controllers/slot/definition.h"
#include "controllers/slot/kind.h"
#include "expectations.h"
#include "replica/controllers.h"

namespace careen::scenarios {

namespace {

constexpr int64_t kMostReplicas = 9;
constexpr int64_t kMostRepeats = 10'000;

class ScenarioReader {
 public:
  ScenarioReader(const Value& root, const std::string& file, Faults& faults)
      : root_(root), faults_(faults), reading_{faults, {}, {}, {}, {}} {
    scenario_.file = file;
    if (const size_t slash = file.rfind('/'); slash != std::string::npos)
      reading_.directory = file.substr(0, slash + 1);
  }

  Scenario read() {
    Fields fields(root_, "a scenario", faults_);
    scenario_.about = fields.text("about").value_or("");
    if (scenario_.about.empty()) faults_.add(root_.where, "`about` is missing: one sentence that says what is shown");
    read_start(fields.find("start"));
    const Value* nodes = fields.find("nodes");
    const Value* pods = fields.find("pods");
    const Value* steps = fields.find("steps");
    collect_nodes(nodes, steps);
    read_careen(fields.find("careen"));
    read_config(fields);
    read_objects(fields, nodes, pods);
    if (const Value* measures = fields.find("measures")) {
      for (const auto& [query, number] : read_measures(*measures, reading_)) {
        if (number) scenario_.measures[query] = *number;
      }
    }
    if (steps) read_steps(*steps, scenario_.steps, false);
    if (const Value* value = fields.find("never")) scenario_.never = read_whole_run(*value, true);
    if (const Value* value = fields.find("always")) scenario_.always = read_whole_run(*value, false);
    if (const Value* value = fields.find("finally")) scenario_.finally = read_expectations(*value, reading_);
    read_end(fields.find("end"));
    fields.finish();
    return std::move(scenario_);
  }

 private:
  void read_start(const Value* value) {
    if (!value) return;
    scenario_.start = io::parse_rfc3339(value->text);
    if (!scenario_.start) faults_.add(value->where, "start must be a time like 2026-03-29T00:00:00Z");
  }

  // Names are checked against all nodes there will ever be, so that a misspelt one is found before anything runs.
  void collect_nodes(const Value* nodes, const Value* steps) {
    const auto add = [&](const Value* map) {
      if (!map || map->kind != Value::Kind::map) return;
      for (const auto& [key, entry] : map->entries) {
        if (key.starts_with("/")) continue;
        for (std::string& name : expand(key)) reading_.nodes.push_back(std::move(name));
      }
    };
    const std::function<void(const Value*)> add_created = [&](const Value* list) {
      if (!list) return;
      for (const Value* step : list->items) {
        add(config::find_entry(step, "create"));
        add_created(config::find_entry(step, "steps"));
      }
    };
    add(nodes);
    add_created(steps);
  }

  void read_careen(const Value* value) {
    if (value) {
      Fields fields(*value, "careen", faults_);
      if (const Value* replicas = fields.find("replicas")) {
        const int64_t count = replicas->integer.value_or(0);
        if (count < 1 || count > kMostReplicas) faults_.add(replicas->where, "replicas must be a number from 1 to 9");
        scenario_.careen.replicas = static_cast<int>(std::clamp<int64_t>(count, 1, kMostReplicas));
      }
      name_replicas();
      scenario_.careen.leader_election = fields.flag("leader-election", scenario_.careen.replicas > 1);
      if (const Value* environment = fields.find("environment")) {
        for (auto& [name, text] : read_key_values(*environment, "environment", faults_)) {
          scenario_.careen.environment[name] = text.value_or("");
        }
      }
      if (const Value* skew = fields.find("skew")) read_skew(*skew);
      scenario_.careen.notify_blocking = fields.flag("notify-blocking");
      scenario_.careen.pod_events = fields.flag("pod-events", true);
      scenario_.careen.dry_run = fields.flag("dry-run");
      scenario_.careen.cache_pods = fields.flag("cache-pods");
      scenario_.careen.in_pods = fields.flag("in-pods");
      if (const Value* controllers = fields.find("controllers")) read_controllers(*controllers);
      fields.finish();
    }
    name_replicas();
  }

  void read_controllers(const Value& value) {
    CrewPlan& plan = scenario_.careen;
    plan.profiles = false;
    std::vector<std::string> known;
    for (const controllers::Kind* kind : replica::controller_kinds()) known.emplace_back(kind->name);
    for (const Value* item : items(value)) {
      const std::string name = read_text(*item, "a controller", faults_).value_or("");
      const controllers::Kind* kind = replica::find_controller_kind(name);
      if (kind) plan.controllers.push_back(kind);
      if (name == "profiles") plan.profiles = true;
      if (!kind && name != "profiles") faults_.unknown(item->where, "controller", name, known);
    }
  }

  void name_replicas() {
    reading_.replicas.clear();
    for (int i = 0; i < scenario_.careen.replicas; ++i) reading_.replicas.push_back(fmt::format("careen-{}", i));
  }

  void read_skew(const Value& value) {
    for (const Member& member : members(value, "skew", faults_)) {
      if (std::find(reading_.replicas.begin(), reading_.replicas.end(), member.key) == reading_.replicas.end()) {
        faults_.unknown(member.where, "replica", member.key, reading_.replicas);
      }
      const auto skew = io::parse_duration(member.value.text);
      if (!skew) faults_.add(member.value.where, "a skew is a duration like 30s or -2m");
      scenario_.careen.skew[member.key] = skew.value_or(io::Duration{0});
    }
  }

  void read_config(Fields& fields) {
    const auto text = fields.text("config");
    const Value* file = fields.find("config-file");
    if (file && text) faults_.add(file->where, "config and config-file exclude each other");
    if (!file && !text && scenario_.careen.profiles)
      faults_.add(root_.where, "`config` is missing: careen's configuration, or config-file: its name");
    if (text) scenario_.careen.config = *text;
    if (file && !text) scenario_.careen.config = reading_.file(*file).value_or("");
    reading_.config = scenario_.careen.config;
  }

  void read_objects(Fields& fields, const Value* nodes, const Value* pods) {
    const Value* workloads = fields.find("workloads");
    const Value* budgets = fields.find("budgets");
    const Value* others = fields.find("objects");
    for (const controllers::Kind* kind : scenario_.careen.controllers) {
      for (kube::Json& definition : kind->definitions()) {
        scenario_.objects.push_back({controllers::kDefinitionsPath, std::move(definition), true});
      }
    }
    std::vector<std::string> parts;
    const auto take = [&](const Value* value, auto read, std::string_view what) {
      if (!value) return;
      auto objects = read(*value, reading_);
      parts.push_back(fmt::format("{} {}", objects.size(), what));
      for (PlannedObject& object : objects) scenario_.objects.push_back(std::move(object));
    };
    take(nodes, read_nodes, "nodes");
    take(pods, read_pods, "pods");
    take(workloads, read_workloads, "workloads");
    take(budgets, read_budgets, "budgets");
    take(others, read_paths, "other objects");
    scenario_.summary = fmt::format("{}", fmt::join(parts, ", "));
  }

  // A point in time: since the start of the run, or a time of day if the start is one.
  std::optional<io::Duration> read_at(const Value& value) {
    const auto wall = value.is_scalar() ? io::parse_rfc3339(value.text) : std::nullopt;
    if (!wall) return read_span(value, "at", faults_);
    if (scenario_.start) return *wall - *scenario_.start;
    faults_.add(value.where, "a time of day needs the scenario's `start`");
    return std::nullopt;
  }

  void read_end(const Value* value) {
    if (!value) return;
    scenario_.end = read_at(*value);
    if (scenario_.end && *scenario_.end < latest_) {
      faults_.add(value->where, fmt::format("the steps may last until {}", format_span(latest_)));
    }
  }

  void read_steps(const Value& list, std::vector<Step>& into, bool repeated) {
    if (list.kind != Value::Kind::list) {
      faults_.add(list.where, fmt::format("steps must be a list, not {}", config::describe(list)));
      return;
    }
    for (const Value* item : list.items) {
      if (config::find_entry(item, "repeat")) {
        read_repeat(*item, into, repeated);
      } else {
        into.push_back(read_step(*item, repeated));
      }
    }
  }

  Step read_step(const Value& value, bool repeated) {
    Step step;
    step.where = value.where;
    const Value* expect = nullptr;
    bool windowed = false;
    for (const Member& member : members(value, "a step", faults_)) {
      if (member.key == "at" || member.key == "after") {
        read_time(member, step, repeated);
      } else if (member.key == "within" || member.key == "for") {
        if (windowed) faults_.add(member.where, "within and for exclude each other");
        windowed = true;
        step.window = member.key == "within" ? Step::Window::within : Step::Window::throughout;
        step.span = read_span(member.value, member.key, faults_).value_or(io::Duration{0});
      } else if (member.key == "expect") {
        expect = &member.value;
      } else {
        read_action(member, step);
      }
    }
    latest_ += step.span;
    if (expect) step.expect = read_expectations(*expect, reading_);
    if (!expect && windowed) faults_.add(value.where, "within and for need `expect`: what is to be seen");
    if (expect && !windowed && !step.actions.empty()) {
      faults_.add(value.where, "a step that does something needs `within` or `for` with its `expect`");
    }
    if (!expect && step.actions.empty() && value.kind == Value::Kind::map) {
      faults_.add(value.where, "the step neither does nor expects anything");
    }
    return step;
  }

  void read_time(const Member& member, Step& step, bool repeated) {
    if (member.key == "after") {
      step.after = read_span(member.value, "after", faults_).value_or(io::Duration{0});
      latest_ += step.after;
      return;
    }
    step.at = read_at(member.value);
    if (repeated) faults_.add(member.where, "steps that are repeated have no time of their own; use `after`");
    if (!step.at || repeated) return;
    if (*step.at < latest_) {
      faults_.add(member.value.where, fmt::format("{} lies before the end of the step above, which may last until {}",
                                                  format_span(*step.at), format_span(latest_)));
    }
    latest_ = *step.at;
  }

  void read_action(const Member& member, Step& step) {
    for (const ActionKind& kind : action_kinds()) {
      if (kind.name != member.key) continue;
      std::string text(member.key);
      if (member.value.kind != Value::Kind::null) text += ": " + flow_text(member.value);
      step.actions.push_back({member.where, std::string(kind.who), std::move(text), kind.read(member.value, reading_)});
      return;
    }
    std::vector<std::string> known = {"at", "after", "within", "for", "expect", "repeat"};
    for (const ActionKind& kind : action_kinds()) known.emplace_back(kind.name);
    faults_.unknown(member.where, "step", member.key, known);
  }

  // {at: 22h, repeat: {times: 7, every: 24h}, steps: […]}
  void read_repeat(const Value& value, std::vector<Step>& into, bool repeated) {
    Fields fields(value, "a step that is repeated", faults_);
    if (repeated) faults_.add(value.where, "what is repeated cannot repeat anything itself");
    const Value* at = fields.find("at");
    if (!at) faults_.add(value.where, "a step that is repeated needs `at`: when it happens first");
    const auto first = at ? read_at(*at) : std::nullopt;
    if (first && *first < latest_) {
      faults_.add(at->where, fmt::format("{} lies before the end of the step above, which may last until {}",
                                         format_span(*first), format_span(latest_)));
    }
    const auto [times, every] = read_rhythm(*fields.find("repeat"));
    const Value* steps = fields.find("steps");
    if (!steps) faults_.add(value.where, "a step that is repeated needs `steps`");
    fields.finish();
    if (!first || !steps || repeated) return;
    latest_ = io::Duration{0};
    std::vector<Step> body;
    read_steps(*steps, body, true);
    if (latest_ > every) {
      faults_.add(steps->where, fmt::format("these steps may last {}, longer than the {} between two rounds",
                                            format_span(latest_), format_span(every)));
    }
    for (int64_t i = 0; i < times && !body.empty(); ++i) {
      body.front().at = *first + i * every + body.front().after;
      into.insert(into.end(), body.begin(), body.end());
    }
    latest_ = *first + std::max<int64_t>(times - 1, 0) * every + latest_;
  }

  std::pair<int64_t, io::Duration> read_rhythm(const Value& value) {
    Fields fields(value, "repeat", faults_);
    const Value* times = fields.find("times");
    const auto every = fields.span("every");
    const int64_t count = times ? times->integer.value_or(0) : 0;
    if (count < 1 || count > kMostRepeats) faults_.add(value.where, "repeat needs `times`: how often, from 1 to 10000");
    if (!every) faults_.add(value.where, "repeat needs `every`: the time between two rounds");
    fields.finish();
    return {std::clamp<int64_t>(count, 0, kMostRepeats), every.value_or(io::Duration{0})};
  }

  // What holds in the whole run, as a list or alone.
  std::vector<Expectation> read_whole_run(const Value& value, bool never) {
    std::vector<Expectation> out;
    for (const Value* item : items(value)) {
      auto some = never ? read_forbidden(*item, reading_) : read_expectations(*item, reading_);
      for (Expectation& one : some) out.push_back(std::move(one));
    }
    return out;
  }

  const Value& root_;
  Faults& faults_;
  Reading reading_;
  Scenario scenario_;
  io::Duration latest_{};  // until when the steps so far can last
};

}  // namespace

tl::expected<Scenario, std::string> read_scenario(std::string text, const std::string& file) {
  Faults faults(file);
  const auto document = config::Document::parse(std::move(text));
  if (!document) {
    faults.add(document.error().where, document.error().message);
    return tl::make_unexpected(faults.text());
  }
  // Something like a key that is there twice: nobody means that.
  for (const auto& warning : document->warnings()) faults.add(warning.where, warning.message);
  Scenario scenario = ScenarioReader(document->root(), file, faults).read();
  if (!faults.none()) return tl::make_unexpected(faults.text());
  return scenario;
}

}  // namespace careen::scenarios
