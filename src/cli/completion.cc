#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/auto_server.h"
#include "io/ascii.h"
#include "io/printable.h"

namespace careen::app {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = io::lower(c);
  return out;
}

Names names_for(std::string_view what) {
  if (what == "FILE") return Names::files;
  if (what == "DIR" || what == "FOLDER") return Names::folders;
  if (what == "NODE") return Names::nodes;
  if (what == "PROFILE") return Names::profiles;
  if (what == "CONTEXT") return Names::contexts;
  if (what == "PLUGIN") return Names::plugins;
  return Names::none;
}

// By the flag's value, or by its name where the value is just a text.
Names names_for(const ParameterDoc& flag) {
  const Names by_value = names_for(flag.value);
  if (by_value != Names::none) return by_value;
  if (flag.has_name("--kubeconfig") || flag.has_name("--config")) return Names::files;
  if (flag.has_name("--context")) return Names::contexts;
  if (flag.has_name("--profile")) return Names::profiles;
  const bool folder =
      std::any_of(flag.names.begin(), flag.names.end(), [](const std::string& name) { return name.ends_with("-dir"); });
  return folder ? Names::folders : Names::none;
}

class Completer {
 public:
  Completer(const std::vector<std::string>& words, const std::vector<std::string_view>& kinds)
      : words_(words), current_(words.back()), kinds_(kinds) {}

  Completion run(const CommandDoc& tree) {
    const CommandDoc* command = walk(tree);
    if (!command) return std::move(out_);
    if (value_of_) {
      offer_value(*value_of_, "", current_);
    } else if (!only_arguments_ && current_.starts_with("-")) {
      offer_flags(*command);
    } else {
      for (const CommandDoc& sub : command->commands) {
        if (!sub.hidden() && arguments_ == 0 && !only_arguments_) offer(sub.name, sub.summary);
      }
      offer_argument(*command);
    }
    return std::move(out_);
  }

 private:
  // The command that the words before the current one lead to; null: there is no such command.
  const CommandDoc* walk(const CommandDoc& tree) {
    const CommandDoc* command = &tree;
    for (size_t index = 0; index + 1 < words_.size(); ++index) {
      const std::string& word = words_[index];
      if (value_of_) {
        note_value(*value_of_, word);
        value_of_ = nullptr;
      } else if (only_arguments_ || !word.starts_with("-") || word == "-") {
        const CommandDoc* below = arguments_ == 0 && !only_arguments_ ? command->command(word) : nullptr;
        if (below) {
          command = below;
        } else if (command->commands.empty() || !command->arguments.empty()) {
          ++arguments_;
        } else {
          return nullptr;
        }
      } else if (word == "--") {
        only_arguments_ = true;
      } else {
        pass_flag(*command, word);
      }
    }
    return command;
  }

  void pass_flag(const CommandDoc& command, const std::string& word) {
    const size_t equals = word.find('=');
    const ParameterDoc* flag = command.flag(word.substr(0, equals));
    if (!flag || !flag->takes_value()) return;
    if (equals == std::string::npos) {
      value_of_ = flag;
    } else {
      note_value(*flag, word.substr(equals + 1));
    }
  }

  void note_value(const ParameterDoc& flag, const std::string& value) {
    if (flag.has_name("--kubeconfig")) out_.kubeconfig = value;
    if (flag.has_name("--context")) out_.context = value;
  }

  void offer(const std::string& value, const std::string& text) {
    if (value.starts_with(current_)) out_.candidates.push_back({value, text});
  }

  void offer_flags(const CommandDoc& command) {
    if (const size_t equals = current_.find('='); equals != std::string::npos) {
      const ParameterDoc* flag = command.flag(current_.substr(0, equals));
      if (flag) offer_value(*flag, current_.substr(0, equals + 1), current_.substr(equals + 1));
      return;
    }
    for (const ParameterDoc& flag : command.flags) {
      if (flag.group == "Not available") continue;
      for (const std::string& name : flag.names) {
        // One letter needs no completion.
        if (name.starts_with("--")) offer(name, flag.text);
      }
    }
  }

  // `prefix` is what stands before the value within the word.
  void offer_value(const ParameterDoc& parameter, const std::string& prefix, const std::string& begun) {
    for (const std::string& choice : parameter.choices) {
      if (choice.starts_with(begun)) out_.candidates.push_back({prefix + choice});
    }
    if (!parameter.choices.empty()) return;
    // Besides addresses, which only people know.
    if (parameter.has_name("--server") && kAutoServer.starts_with(begun)) {
      out_.candidates.push_back({prefix + std::string(kAutoServer), "a careen that runs on this machine"});
    }
    take_names(names_for(parameter), parameter.value);
    out_.prefix = prefix;
    out_.begun = begun;
  }

  // Unless they are of something else, those of a controller's objects, if that is what the value is called.
  void take_names(Names names, const std::string& what) {
    out_.names = names;
    const std::string kind = lower(what);
    if (names != Names::none || std::ranges::find(kinds_, kind) == kinds_.end()) return;
    out_.names = Names::objects;
    out_.kind = kind;
  }

  void offer_argument(const CommandDoc& command) {
    if (command.arguments.empty()) return;
    const bool beyond = arguments_ >= command.arguments.size();
    const ParameterDoc& argument = command.arguments[beyond ? command.arguments.size() - 1 : arguments_];
    if (beyond && !argument.repeated) return;
    if (!argument.choices.empty()) return offer_value(argument, "", current_);
    take_names(names_for(argument.names.front()), argument.names.front());
    out_.begun = current_;
    // explain takes node/NAME and objects of controllers, KIND/NAME, as well.
    const size_t slash = current_.find('/');
    if (out_.names != Names::nodes || slash == std::string::npos) return;
    out_.prefix = current_.substr(0, slash + 1);
    out_.begun = current_.substr(slash + 1);
    if (out_.prefix == "node/" || out_.prefix == "nodes/" || out_.prefix == "no/") return;
    out_.names = Names::objects;
    out_.kind = current_.substr(0, slash);
  }

  const std::vector<std::string>& words_;
  const std::string& current_;
  const std::vector<std::string_view>& kinds_;
  Completion out_;
  const ParameterDoc* value_of_ = nullptr;
  bool only_arguments_ = false;
  size_t arguments_ = 0;
};

}  // namespace

Completion complete(const CommandDoc& tree, const std::vector<std::string>& words,
                    const std::vector<std::string_view>& kinds) {
  if (words.empty()) return complete(tree, {""}, kinds);
  return Completer(words, kinds).run(tree);
}

std::string completion_answer(const Completion& completion, const std::vector<std::string>& names) {
  std::string out;
  for (const Candidate& candidate : completion.candidates) {
    out += candidate.text.empty() ? candidate.value + "\n" : fmt::format("{}\t{}\n", candidate.value, candidate.text);
  }
  for (const std::string& name : names) {
    // A shell shows them and puts them into the command line.
    if (name.starts_with(completion.begun) && io::printable(name) == name) out += completion.prefix + name + "\n";
  }
  const int directive = completion.names == Names::files ? 0 : completion.names == Names::folders ? 16 : 4;
  return out + fmt::format(":{}\n", directive);
}

}  // namespace careen::app
