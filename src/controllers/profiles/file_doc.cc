#include "controllers/profiles/file_doc.h"

#include <array>

#include "controllers/profiles/state.h"

namespace careen::profiles {

namespace {

std::vector<config::KeyDoc> instance_keys() {
  return {
      {.name = "name", .text = "What chains and expressions call this instance", .required = true},
      {.name = "type", .text = "Which plugin it is", .required = true},
      {.name = "config", .type = config::KeyType::any, .text = "The keys of that plugin"},
  };
}

std::vector<config::KeyDoc> notification_keys() {
  std::vector<config::KeyDoc> keys = instance_keys();
  keys.push_back(
      {.name = "schedule",
       .type = config::KeyType::object,
       .text = "When the notification is due",
       .required = true,
       .keys = {
           {.name = "type", .text = "Which schedule it is", .required = true},
           {.name = "config", .type = config::KeyType::any, .text = "The keys of that schedule", .required = true},
       }});
  return keys;
}

std::vector<config::KeyDoc> transition_keys() {
  config::KeyDoc next{.name = "next", .type = config::KeyType::choice, .text = "The state to go to", .required = true};
  for (State state : kStates) next.choices.push_back(name_of(state));
  return {
      {.name = "check",
       .text = "When to take this transition: names of check instances with !, &&, || and parentheses",
       .required = true},
      std::move(next),
      {.name = "trigger", .text = "What happens with it: names of trigger instances, joined with &&"},
  };
}

std::vector<config::KeyDoc> state_keys() {
  return {
      {.name = "enter", .text = "What happens once after the state was entered: trigger instances, joined with &&"},
      {.name = "notify", .text = "Whom to tell while in this state: notification instances, joined with &&"},
      {.name = "transitions",
       .type = config::KeyType::objects,
       .text = "Ways out of the state; the first whose check holds is taken",
       .keys = transition_keys()},
  };
}

std::vector<config::KeyDoc> profile_keys() {
  std::vector<config::KeyDoc> keys{
      {.name = "name", .text = "What the label of a node calls the profile", .required = true}};
  constexpr std::array<std::string_view, 3> kTexts{"What to do while no maintenance is needed",
                                                   "What to do while maintenance is needed but not yet begun",
                                                   "What to do during maintenance"};
  for (State state : kStates) {
    keys.push_back({.name = name_of(state),
                    .type = config::KeyType::object,
                    .text = kTexts[index_of(state)],
                    .keys = state_keys()});
  }
  return keys;
}

std::vector<config::KeyDoc> top_level() {
  return {
      {.name = "intervals",
       .type = config::KeyType::object,
       .text = "How often things happen",
       .required = true,
       .keys = {{.name = "requeue",
                 .type = config::KeyType::duration,
                 .text = "How often a node whose plugins fail is tried again",
                 .required = true}}},
      {.name = "instances",
       .type = config::KeyType::object,
       .text = "The configured plugins",
       .keys = {{.name = "check",
                 .type = config::KeyType::objects,
                 .text = "Questions about a node",
                 .keys = instance_keys()},
                {.name = "notify",
                 .type = config::KeyType::objects,
                 .text = "Ways to tell people about a node",
                 .keys = notification_keys()},
                {.name = "trigger",
                 .type = config::KeyType::objects,
                 .text = "Changes of a node",
                 .keys = instance_keys()}}},
      {.name = "profiles",
       .type = config::KeyType::objects,
       .text = "The state machines that nodes go through",
       .keys = profile_keys()},
      {.name = "dashboard",
       .type = config::KeyType::object,
       .text = "How the web view looks",
       .keys = {{.name = "labelFilter", .type = config::KeyType::texts, .text = "Keys of the labels that it shows"}}},
  };
}

}  // namespace

const std::vector<config::KeyDoc>& file_keys() {
  static const std::vector<config::KeyDoc> kKeys = top_level();
  return kKeys;
}

}  // namespace careen::profiles
