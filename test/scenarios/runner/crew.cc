#include "crew.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/controller.h"
#include "controllers/profiles/hosted.h"
#include "controllers/slot/controller.h"
#include "controllers/slot/kind.h"
#include "kube/events.h"
#include "kube/lock.h"
#include "sim/cluster.h"

namespace careen::scenarios {

namespace {
constexpr io::Duration kRestart = io::seconds{10};
constexpr size_t kLongestLine = 120;

std::string cut(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() > kLongestLine ? std::string(kube::cut_text(line, kLongestLine)) + " …" : line;
}
}  // namespace

struct Crew::Member {
  Member(std::string n, io::Loop& loop, std::function<void()> restart) : name(std::move(n)), alarm(loop, restart) {}
  std::string name;
  std::unique_ptr<replica::ModelProcess> process;
  bool suspended = false;
  bool stopping = false;
  bool configured = false;
  std::optional<int> exit_code;
  io::Alarm alarm;  // starts it again
};

// Keeps every line from info on; trouble also goes into the timeline.
class Crew::Sink final : public io::LogSink {
 public:
  Sink(Crew& crew, std::string replica) : crew_(crew), replica_(std::move(replica)) {}
  bool enabled(io::LogLevel level) const override { return level >= io::LogLevel::info; }
  void write(io::LogLevel level, std::string_view, std::string_view message, const io::LogFields& fields) override {
    std::string text(message);
    for (const auto& [key, value] : fields) text += fmt::format(" {}={}", key, value);
    // That there is no leader election is the scenario's own choice, and no news.
    const bool news = level >= io::LogLevel::warn && !text.starts_with("leader election is off");
    if (news) crew_.note(replica_, fmt::format("says: {}", cut(text)));
    crew_.logs_.push_back({crew_.time_.now(), replica_, level, std::move(text)});
    if (crew_.on_log) crew_.on_log();
  }

 private:
  Crew& crew_;
  std::string replica_;
};

Crew::Crew(io::VirtualTime& time, sim::Cluster& cluster, Timeline& timeline, CrewPlan plan, uint64_t seed)
    : time_(time),
      cluster_(cluster),
      timeline_(timeline),
      plan_(std::move(plan)),
      seed_(seed),
      loop_(time.make_loop()) {
  for (int i = 0; i < plan_.replicas; ++i) {
    const std::string name = fmt::format("careen-{}", i);
    members_.push_back(std::make_unique<Member>(name, *loop_, [this, name] { start(name); }));
  }
}

Crew::~Crew() = default;

Crew::Member& Crew::member(const std::string& name) const {
  return **std::find_if(members_.begin(), members_.end(), [&](const auto& m) { return m->name == name; });
}

void Crew::note(const std::string& who, std::string what) {
  timeline_.add({time_.now(), who, std::move(what), {}, {}});
}

std::vector<std::string> Crew::names() const {
  std::vector<std::string> out;
  for (const auto& member : members_) out.push_back(member->name);
  return out;
}

std::optional<std::string> Crew::leader() const {
  for (const auto& member : members_) {
    if (!member->process || member->suspended) continue;
    if (!plan_.leader_election || member->process->replica().election().leading()) return member->name;
  }
  return std::nullopt;
}

std::optional<std::string> Crew::resolve(const std::string& name) const {
  return name == "leader" ? leader() : std::optional(name);
}

Crew::State Crew::state(const std::string& name) const {
  const Member& one = member(name);
  if (!one.process) return State::down;
  return one.suspended ? State::suspended : State::running;
}

std::optional<int> Crew::exit_code(const std::string& name) const { return member(name).exit_code; }

replica::Replica* Crew::replica(const std::string& name) const {
  const Member& one = member(name);
  return one.process ? &one.process->replica() : nullptr;
}

void Crew::launch(Member& one) {
  replica::ModelProcessOptions options;
  options.name = one.name;
  // Another identity each time, as every process has.
  options.seed = seed_ * 1'000'000 + ++launches_;
  if (const auto skew = plan_.skew.find(one.name); skew != plan_.skew.end()) options.skew = skew->second;
  options.leader_election = plan_.leader_election;
  options.cache_pods = plan_.cache_pods;
  options.profiles = plan_.profiles;
  for (const controllers::Kind* kind : plan_.controllers) options.controllers.push_back(kind->usual());
  if (plan_.in_pods) options.own_pod = one.name;
  options.controller.notify_blocking = plan_.notify_blocking;
  options.controller.pod_events = plan_.pod_events;
  options.controller.dry_run = plan_.dry_run;
  options.environment = plan_.environment;
  options.log = io::Log(std::make_shared<Sink>(*this, one.name), "");
  one.suspended = one.stopping = one.configured = false;
  one.process = std::make_unique<replica::ModelProcess>(time_, cluster_, plan_.config, std::move(options));
  one.process->replica().on_config = [&one] { one.configured = true; };
}

std::string Crew::start(const std::string& name) {
  Member& one = member(name);
  if (one.process) return fmt::format("{} is running already", name);
  one.alarm.cancel();
  note(name, "starts");
  launch(one);
  return {};
}

std::string Crew::crash(const std::string& name) {
  Member& one = member(name);
  if (!one.process) return fmt::format("{} is not running", name);
  one.process.reset();
  return {};
}

std::string Crew::stop(const std::string& name) {
  Member& one = member(name);
  if (!one.process) return fmt::format("{} is not running", name);
  one.stopping = true;
  one.process->stop();
  return {};
}

std::string Crew::suspend(const std::string& name) {
  Member& one = member(name);
  if (!one.process || one.suspended) return fmt::format("{} is not running", name);
  one.suspended = true;
  one.process->suspend();
  return {};
}

std::string Crew::resume(const std::string& name) {
  Member& one = member(name);
  if (!one.process || !one.suspended) return fmt::format("{} is not suspended", name);
  one.suspended = false;
  one.process->resume();
  return {};
}

void Crew::configure(std::string config) {
  plan_.config = std::move(config);
  for (const auto& one : members_) {
    if (one->process) one->process->set_config(plan_.config);
  }
}

bool Crew::may_run(const std::string& name) const {
  if (!plan_.in_pods) return true;
  const kube::Json pod = cluster_.api.object("/api/v1/namespaces/kube-system/pods/" + name);
  return !pod.view().is_null() && !pod.at("/metadata/deletionTimestamp").exists();
}

void Crew::tend() {
  for (const auto& one : members_) {
    if (!one->process || !one->process->exit_code()) continue;
    one->exit_code = one->process->exit_code();
    const bool again = !one->stopping && may_run(one->name);
    note(one->name,
         fmt::format("ends with exit code {}{}", *one->exit_code,
                     again ? fmt::format("; it is started again in {}", io::format_duration(kRestart)) : ""));
    one->process.reset();
    if (again) one->alarm.set(time_.now() + kRestart);
    if (on_log) on_log();
  }
}

std::optional<profiles::Decision> Crew::explain(const std::string& name, const std::string& node) const {
  const Member& one = member(name);
  if (!one.process || !one.configured) return std::nullopt;
  return profiles::controller_in(one.process->replica().hosted())->explain(node);
}

std::string Crew::reasons(const std::string& name, const std::string& node) const {
  const auto decision = explain(name, node);
  std::string text = decision ? to_text(decision->why) : "";
  const replica::Replica* known = replica(name);
  if (!known) return text;
  for (const auto& one : known->hosted()) {
    for (const Why& why : one.controller.picture()->reasons(node)) text += to_text(why);
  }
  return text;
}

}  // namespace careen::scenarios
