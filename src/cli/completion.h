// What a shell offers when the user presses Tab: commands, flags and values from the command tree, names from the
// cluster. The shells run `careen __complete WORD…`; its answer is the one that kubectl and many Go programs speak.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"

namespace careen::app {

struct Candidate {
  std::string value;
  std::string text = {};
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// What cannot be told from the tree.
enum class Names { none, files, folders, nodes, objects, profiles, contexts, plugins };

struct Completion {
  std::vector<Candidate> candidates;
  Names names = Names::none;
  std::string prefix;  // stands before each name: --kubeconfig=, node/
  std::string begun;   // what the user has typed of the name
  std::string kind;    // of objects: the controller's, as in --controllers
  // As the words so far give them.
  std::string kubeconfig, context;
};

// `words` follow the program's name; the last is the one to complete, empty when nothing of it is typed. `kinds` of
// objects: a flag or an argument that takes the name of one is called like it, in capitals.
Completion complete(const CommandDoc& tree, const std::vector<std::string>& words,
                    const std::vector<std::string_view>& kinds = {});

// The lines that __complete prints: candidates, then the directive (:4 nothing else, :0 files, :16 folders).
std::string completion_answer(const Completion& completion, const std::vector<std::string>& names);

// The script that teaches bash, zsh or fish to ask.
std::string completion_script(std::string_view shell);

}  // namespace careen::app
