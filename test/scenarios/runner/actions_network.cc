#include <fmt/format.h>

#include "actions.h"

namespace careen::scenarios {

namespace {

// How long it lasts; without an end it would go on after the scenario's.
io::Duration lasting(Fields& fields) {
  const Value* value = fields.find("for");
  if (!value) {
    fields.faults().add(fields.where(), "`for` is missing: how long it lasts");
    return {};
  }
  return read_span(*value, "for", fields.faults()).value_or(io::Duration{0});
}

void read_what(Fields& fields, Disturbance& out) {
  int given = 0;
  if (const Value* code = fields.find("refuse")) {
    ++given;
    out.what = Disturbance::What::refuse;
    out.code = static_cast<int>(code->integer.value_or(0));
    if (out.code < 400 || out.code > 599) fields.faults().add(code->where, "refuse takes a status from 400 to 599");
  }
  if (const auto delay = fields.span("delay")) {
    ++given;
    out.what = Disturbance::What::delay;
    out.delay = *delay;
  }
  const std::pair<const char*, Disturbance::What> flags[] = {{"lose", Disturbance::What::lose},
                                                             {"unanswered", Disturbance::What::unanswered},
                                                             {"cut", Disturbance::What::cut}};
  for (const auto& [name, what] : flags) {
    if (!fields.flag(name)) continue;
    ++given;
    out.what = what;
  }
  if (given != 1) {
    fields.faults().add(fields.where(),
                        "disturb takes exactly one of refuse: CODE, delay: DURATION, lose: true, unanswered: true, "
                        "cut: true");
  }
}

void read_which(Fields& fields, Disturbance& out, Reading& reading) {
  if (const Value* requests = fields.find("requests")) {
    const std::string text = read_text(*requests, "requests", reading.faults).value_or("all");
    using Requests = Disturbance::Requests;
    const std::vector<std::string> names = {"all", "writes", "reads", "watches"};
    const Requests values[] = {Requests::all, Requests::writes, Requests::reads, Requests::watches};
    const auto it = std::find(names.begin(), names.end(), text);
    if (it == names.end()) {
      reading.faults.unknown(requests->where, "kind of requests", text, names);
    } else {
      out.requests = values[it - names.begin()];
    }
  }
  out.resource = fields.text("of").value_or("");
  if (const Value* from = fields.find("from")) {
    out.from = reading.replica_name(*from).value_or("");
  }
  if (const Value* percent = fields.find("percent")) {
    const auto number = read_amount(*percent, "percent", reading.faults);
    if (number) out.percent = number->value;
  }
}

}  // namespace

Perform read_disturb(const Value& value, Reading& reading) {
  Fields fields(value, "disturb", reading.faults);
  Disturbance disturbance;
  read_what(fields, disturbance);
  read_which(fields, disturbance, reading);
  disturbance.lasts = lasting(fields);
  fields.finish();
  return [disturbance](Stage& stage) -> std::string {
    Disturbance now = disturbance;
    if (!now.from.empty()) {
      const auto replica = stage.crew.resolve(now.from);
      if (!replica) return "no replica leads";
      now.from = *replica;
    }
    stage.troubles.disturb(now);
    return {};
  };
}

Perform read_freeze_watches(const Value& value, Reading& reading) {
  Fields fields(value, "freeze-watches", reading.faults);
  const std::string resource = fields.text("of").value_or("");
  const io::Duration lasts = lasting(fields);
  fields.finish();
  return [resource, lasts](Stage& stage) -> std::string {
    stage.troubles.hold_watches(resource, {}, true, lasts);
    return {};
  };
}

Perform read_delay_watches(const Value& value, Reading& reading) {
  Fields fields(value, "delay-watches", reading.faults);
  const std::string resource = fields.text("of").value_or("");
  const auto delay = fields.span("by");
  if (!delay) reading.faults.add(value.where, "`by` is missing: how much later events come");
  const io::Duration lasts = lasting(fields);
  fields.finish();
  return [resource, delay = delay.value_or(io::Duration{0}), lasts](Stage& stage) -> std::string {
    stage.troubles.hold_watches(resource, delay, false, lasts);
    return {};
  };
}

// "all", or a resource.
Perform read_break_watches(const Value& value, Reading& reading) {
  const std::string resource = read_text(value, "break-watches", reading.faults).value_or("all");
  return [resource](Stage& stage) -> std::string {
    stage.cluster.network.end_streams(resource == "all" ? "" : collection_of(resource), true);
    return {};
  };
}

// Takes no value: `compact:`.
Perform read_compact(const Value& value, Reading& reading) {
  if (value.kind != Value::Kind::null) reading.faults.add(value.where, "compact takes no value");
  return [](Stage& stage) -> std::string {
    stage.cluster.api.compact();
    return {};
  };
}

}  // namespace careen::scenarios
