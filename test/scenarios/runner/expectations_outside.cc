#include <fmt/format.h>

#include <algorithm>

#include "expectations.h"
#include "since.h"

namespace careen::scenarios {

using kube::Json;
using kube::JsonView;

namespace {

using Message = sim::Outside::Message;

struct MessageWanted {
  std::string way = "*", to = "*", text = "*";
  bool alone = false;               // it is no reply
  std::optional<std::string> in{};  // the text of the message that opened its thread
  Amount times = kAtLeastOnce;
  Since since{};
};

MessageWanted read_one_message(const Value& value, Reading& reading) {
  MessageWanted wanted;
  if (value.is_scalar()) {
    wanted.text = read_text(value, "message", reading.faults).value_or("*");
    return wanted;
  }
  Fields fields(value, "a message", reading.faults);
  if (const Value* way = fields.find("way")) {
    const std::vector<std::string> ways = {"mail", "slack", "slackThread"};
    wanted.way = read_text(*way, "way", reading.faults).value_or("*");
    if (std::find(ways.begin(), ways.end(), wanted.way) == ways.end()) {
      reading.faults.unknown(way->where, "way", wanted.way, ways);
    }
  }
  wanted.to = fields.text("to").value_or("*");
  wanted.text = fields.text("text").value_or("*");
  if (const Value* in = fields.find("in")) {
    wanted.alone = in->kind == Value::Kind::null;
    if (!wanted.alone) wanted.in = read_text(*in, "in", reading.faults);
  }
  wanted.times = fields.amount("times").value_or(kAtLeastOnce);
  wanted.since = read_since(fields);
  fields.finish();
  return wanted;
}

std::string text_of_thread(const std::vector<Message>& messages, const Message& reply) {
  for (const Message& message : messages) {
    if (message.id == reply.thread) return message.text;
  }
  return "a thread that is not there";
}

bool fits(const MessageWanted& wanted, const Message& message, const std::vector<Message>& all) {
  if (!matches(wanted.way, message.way) || !matches(wanted.to, message.to) || !matches(wanted.text, message.text)) {
    return false;
  }
  const bool reply = !message.thread.empty();
  if (wanted.alone) return !reply;
  return !wanted.in || (reply && matches(*wanted.in, text_of_thread(all, message)));
}

Verdict check_message(const MessageWanted& wanted, const Stage& stage, const Mark& window) {
  const auto& messages = stage.cluster.outside.messages();
  int times = 0;
  std::vector<std::string> seen;
  for (size_t i = wanted.since.from(window).messages; i < messages.size(); ++i) {
    times += fits(wanted, messages[i], messages) ? 1 : 0;
    seen.push_back(fmt::format("{} to {}: \"{}\"", messages[i].way, messages[i].to, messages[i].text));
  }
  if (wanted.times.admits(times)) return {};
  Verdict verdict{false, fmt::format("seen {} {}", times, times == 1 ? "time" : "times"), {}};
  if (seen.size() > kMostShown) seen.erase(seen.begin(), seen.end() - static_cast<std::ptrdiff_t>(kMostShown));
  verdict.seen += seen.empty() ? "; there was no message" : fmt::format("; the last were {}", fmt::join(seen, ", "));
  return verdict;
}

// An amount of time: "10m", "at most 5s".
std::optional<Amount> read_age(const Value& value, Faults& faults) {
  const auto text = read_text(value, "age", faults);
  if (!text) return std::nullopt;
  const size_t space = text->rfind(' ');
  const std::string number = space == std::string::npos ? *text : text->substr(space + 1);
  const std::string words = space == std::string::npos ? "" : text->substr(0, space + 1);
  const auto span = parse_span(number);
  const auto amount = span ? parse_amount(fmt::format("{}{}", words, io::to_seconds(*span))) : std::nullopt;
  if (!amount) faults.add(value.where, "an age is written like 10m, at most 5s or more than 1h");
  return amount;
}

struct LeaseWanted {
  std::string path;
  std::string name;
  bool gone = false;
  std::optional<std::string> holder;
  std::optional<Amount> age;  // in seconds, since it was renewed
  std::optional<Amount> transitions;
};

LeaseWanted read_one_lease(const Member& member, Reading& reading) {
  LeaseWanted wanted;
  wanted.name = member.key;
  const size_t slash = member.key.find('/');
  if (slash == std::string::npos) {
    reading.faults.add(member.where, "a lease is named NAMESPACE/NAME: kube-system/stagger-0");
  } else {
    wanted.path = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", member.key.substr(0, slash),
                              member.key.substr(slash + 1));
  }
  if (member.value.is_scalar()) {
    const std::string text = read_text(member.value, "a lease", reading.faults).value_or("");
    wanted.gone = text == "gone";
    if (!wanted.gone) wanted.holder = text;
    return wanted;
  }
  Fields fields(member.value, "a lease", reading.faults);
  wanted.holder = fields.text("holder");
  if (const Value* age = fields.find("age")) wanted.age = read_age(*age, reading.faults);
  wanted.transitions = fields.amount("transitions");
  fields.finish();
  return wanted;
}

// What is otherwise; empty when all is as asked.
std::string differs(const LeaseWanted& wanted, const Json& lease, io::Wall now) {
  if (lease.view().is_null()) return wanted.gone ? "" : fmt::format("there is no lease {}", wanted.name);
  if (wanted.gone) return fmt::format("lease {} is there", wanted.name);
  const std::string holder(lease.at("/spec/holderIdentity").text().value_or("nobody"));
  if (wanted.holder && !matches(*wanted.holder, holder)) return fmt::format("{} holds {}", holder, wanted.name);
  const auto renewed = io::parse_rfc3339(lease.at("/spec/renewTime").text().value_or(""));
  if (wanted.age && !renewed) return fmt::format("lease {} was never renewed", wanted.name);
  if (wanted.age) {
    const auto age = std::chrono::floor<io::seconds>(now - *renewed);
    if (!wanted.age->admits(io::to_seconds(age))) {
      return fmt::format("lease {} was taken {} ago, by {}", wanted.name, format_span(age), holder);
    }
  }
  const double transitions = static_cast<double>(lease.at("/spec/leaseTransitions").integer().value_or(0));
  if (wanted.transitions && !wanted.transitions->admits(transitions)) {
    return fmt::format("lease {} has {} transitions", wanted.name, transitions);
  }
  return {};
}

}  // namespace

Check read_message(const Value& value, Reading& reading) {
  std::vector<MessageWanted> all;
  for (const Value* item : items(value)) all.push_back(read_one_message(*item, reading));
  return [all](const Stage& stage, const Mark& since) {
    for (const MessageWanted& wanted : all) {
      if (Verdict verdict = check_message(wanted, stage, since); !verdict.holds) return verdict;
    }
    return Verdict{};
  };
}

// {query: amount}; the query "*" is any.
Check read_queries(const Value& value, Reading& reading) {
  std::vector<std::pair<std::string, Amount>> wanted;
  Since since;
  for (const Member& member : members(value, "queries", reading.faults)) {
    if (member.key == "since") {
      since = read_since(member.value, reading.faults);
    } else if (const auto amount = read_amount(member.value, member.key, reading.faults)) {
      wanted.emplace_back(member.key, *amount);
    }
  }
  return [wanted, since](const Stage& stage, const Mark& window) {
    const auto& asked = stage.cluster.outside.asked();
    const auto first = asked.begin() + static_cast<std::ptrdiff_t>(since.from(window).queries);
    for (const auto& [query, amount] : wanted) {
      const auto count = std::count_if(
          first, asked.end(), [&, &pattern = query](const std::string& text) { return matches(pattern, text); });
      if (amount.admits(static_cast<double>(count))) continue;
      return Verdict{false, fmt::format("{} was asked {} {}", query, count, count == 1 ? "time" : "times"), {}};
    }
    return Verdict{};
  };
}

// {NAMESPACE/NAME: holder, or gone, or {holder: …, age: …, transitions: …}}.
Check read_lease(const Value& value, Reading& reading) {
  std::vector<LeaseWanted> all;
  for (const Member& member : members(value, "lease", reading.faults)) all.push_back(read_one_lease(member, reading));
  return [all](const Stage& stage, const Mark&) {
    for (const LeaseWanted& wanted : all) {
      const Json lease = stage.cluster.api.object(wanted.path);
      if (std::string seen = differs(wanted, lease, stage.loop->wall_now()); !seen.empty()) {
        return Verdict{false, std::move(seen), {}};
      }
    }
    return Verdict{};
  };
}

}  // namespace careen::scenarios
