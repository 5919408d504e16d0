#include <fmt/format.h>

#include "actions.h"

namespace careen::scenarios {

namespace {

using Deed = std::string (Crew::*)(const std::string& replica);

// All that it can be done to.
std::string to_all(Stage& stage, Deed deed) {
  std::string wrong;
  bool done = false;
  for (const std::string& name : stage.crew.names()) {
    std::string answer = (stage.crew.*deed)(name);
    done = done || answer.empty();
    if (!answer.empty()) wrong = std::move(answer);
  }
  return done ? "" : wrong;
}

Perform to_replicas(const Value& value, Reading& reading, Deed deed) {
  return [names = reading.replica_names(value), deed](Stage& stage) -> std::string {
    for (const std::string& name : names) {
      if (name == "all") return to_all(stage, deed);
      const auto replica = stage.crew.resolve(name);
      if (!replica) return "no replica leads";
      if (std::string wrong = (stage.crew.*deed)(*replica); !wrong.empty()) return wrong;
      if (name == "leader") stage.timeline.add({stage.time.now(), *replica, "was the leader", {}, {}});
    }
    return {};
  };
}

}  // namespace

Perform read_start(const Value& value, Reading& reading) { return to_replicas(value, reading, &Crew::start); }
Perform read_stop(const Value& value, Reading& reading) { return to_replicas(value, reading, &Crew::stop); }
Perform read_crash(const Value& value, Reading& reading) { return to_replicas(value, reading, &Crew::crash); }
Perform read_suspend(const Value& value, Reading& reading) { return to_replicas(value, reading, &Crew::suspend); }
Perform read_resume(const Value& value, Reading& reading) { return to_replicas(value, reading, &Crew::resume); }

// The whole text, or {file: NAME}.
Perform read_configure(const Value& value, Reading& reading) {
  std::optional<std::string> text;
  if (value.kind == Value::Kind::map) {
    Fields fields(value, "configure", reading.faults);
    const Value* name = fields.find("file");
    if (!name) reading.faults.add(value.where, "configure needs the text, or {file: NAME}");
    if (name) text = reading.file(*name);
    fields.finish();
  } else {
    text = read_text(value, "configure", reading.faults);
  }
  reading.config = text.value_or("");
  return [config = reading.config](Stage& stage) -> std::string {
    stage.crew.configure(config);
    return {};
  };
}

// {old text: new text}: every place that has the old text gets the new one.
Perform read_edit_config(const Value& value, Reading& reading) {
  for (const Member& member : members(value, "edit-config", reading.faults)) {
    const auto replacement = read_text(member.value, "the new text", reading.faults);
    size_t at = reading.config.find(member.key);
    if (at == std::string::npos) {
      reading.faults.add(member.where,
                         fmt::format("the configuration at this point does not contain \"{}\"", member.key));
    }
    while (replacement && at != std::string::npos) {
      reading.config.replace(at, member.key.size(), *replacement);
      at = reading.config.find(member.key, at + replacement->size());
    }
  }
  return [config = reading.config](Stage& stage) -> std::string {
    stage.crew.configure(config);
    return {};
  };
}

}  // namespace careen::scenarios
