#include "lantern.h"

#include "kube/objects.h"

namespace careen::lantern {

const kube::Resource kResource{"lanterns.careen.test", "v1", "lanterns", "Lantern", false};

std::string_view name_of(Phase phase) { return phase == Phase::lit ? "Lit" : phase == Phase::waiting ? "Waiting" : ""; }

Lantern parse_lantern(const kube::Object& object) {
  const kube::JsonView metadata = object.document["metadata"], spec = object.document["spec"],
                       status = object.document["status"];
  const auto text = [](kube::JsonView value) { return std::string(value.text().value_or("")); };
  Lantern lantern;
  lantern.name = object.name;
  lantern.created = io::parse_rfc3339(text(metadata["creationTimestamp"])).value_or(io::Wall{});
  lantern.deleting = metadata["deletionTimestamp"].exists();
  lantern.node = text(spec["nodeName"]);
  lantern.color = text(spec["color"]);
  for (const Phase phase : {Phase::waiting, Phase::lit}) {
    if (text(status["phase"]) == name_of(phase)) lantern.phase = phase;
  }
  lantern.message = text(status["message"]);
  return lantern;
}

controllers::Job job_of(const kube::Object& object) {
  const Lantern lantern = parse_lantern(object);
  controllers::Job job;
  job.name = lantern.name;
  job.node = lantern.node;
  job.created = lantern.created;
  job.stage = lantern.phase == Phase::lit ? controllers::Job::Stage::ready : controllers::Job::Stage::waiting;
  job.ending = lantern.deleting;
  job.keeps_out = false;
  job.state = lantern.phase == Phase::none ? "new" : name_of(lantern.phase);
  job.held_up = lantern.message.empty() ? "it has not been taken up" : lantern.message;
  job.limit = "the number of lanterns";
  return job;
}

}  // namespace careen::lantern
