#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command_set.h"
#include "cli/completion.h"
#include "cli/screen.h"
#include "commands/command_list.h"
#include "commands/completion_names.h"
#include "replica/controllers.h"

namespace careen::app {

void add_completion_command(Commands& commands) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = commands.add("completion", "Print the script that completes careen's commands in a shell",
                                   CommandGroup::more, [shell] {
                                     Screen(process_screen()).document(completion_script(*shell));
                                     return 0;
                                   });
  command.footer(
      "kubectl: the program kubectl_complete-careen, by which kubectl completes its plugin.\n\n"
      "Examples:\n"
      "  source <(careen completion bash)\n"
      "  careen completion zsh > \"${fpath[1]}/_careen\"\n"
      "  careen completion fish > ~/.config/fish/completions/careen.fish\n"
      "  careen completion kubectl > ~/bin/kubectl_complete-careen && chmod +x ~/bin/kubectl_complete-careen");
  command.add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "kubectl"}));
}

int print_completion(const Commands& commands, const std::vector<std::string>& words) {
  const Completion found = complete(describe(commands.tree()), words, replica::controller_names());
  Screen(process_screen()).document(completion_answer(found, names_for_completion(found)));
  return 0;
}

}  // namespace careen::app
