// Names that a shell offers: of nodes and objects of controllers, asked from the cluster within two seconds; of
// contexts, read from the kubeconfig; of plugins. Whatever fails gives no names, silently: a shell is no place for
// messages.
#pragma once

#include <string>
#include <vector>

#include "cli/completion.h"

namespace careen::app {

std::vector<std::string> names_for_completion(const Completion& completion);

// What could follow these words, for a shell: the hidden command __complete.
class Commands;
int print_completion(const Commands& commands, const std::vector<std::string>& words);

}  // namespace careen::app
