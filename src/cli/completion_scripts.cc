#include "cli/completion.h"

namespace careen::app {

namespace {

constexpr std::string_view kBash = R"(# bash completion for careen. To have it in every shell:
#   careen completion bash > ~/.local/share/bash-completion/completions/careen
_careen() {
  local line=${COMP_LINE:0:COMP_POINT} directive i current begun
  local -a words answer
  read -ra words <<<"$line"
  # A blank at the end begins a new word.
  [[ $line == *[[:blank:]] ]] && words+=("")
  current=${words[${#words[@]}-1]}
  mapfile -t answer < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  [ ${#answer[@]} -gt 0 ] || return 0
  directive=${answer[${#answer[@]}-1]}
  unset "answer[${#answer[@]}-1]"
  # bash replaces what follows the last = or : only.
  begun=
  [[ $current == *[=:]* ]] && begun=${current%"${current##*[=:]}"}
  for i in "${answer[@]}"; do
    i=${i%%$'\t'*}
    COMPREPLY+=("${i#"$begun"}")
  done
  case $directive in
    :0) mapfile -t COMPREPLY < <(compgen -f -- "${current#"$begun"}"); compopt -o filenames 2>/dev/null ;;
    :16) mapfile -t COMPREPLY < <(compgen -d -- "${current#"$begun"}"); compopt -o filenames 2>/dev/null ;;
  esac
  return 0
}
complete -F _careen careen kubectl-careen
)";

constexpr std::string_view kZsh = R"(#compdef careen kubectl-careen
# zsh completion for careen. To have it in every shell:
#   careen completion zsh > "${fpath[1]}/_careen"
_careen() {
  local -a answer candidates
  local directive line value
  answer=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  directive=${answer[-1]}
  answer[-1]=()
  for line in "${answer[@]}"; do
    value=${line%%$'\t'*}
    if [[ $line == *$'\t'* ]]; then
      candidates+=("${value//:/\\:}:${line#*$'\t'}")
    else
      candidates+=("${value//:/\\:}")
    fi
  done
  (( ${#candidates} )) && _describe -t careen careen candidates
  [[ ${words[CURRENT]} == -*=* ]] && compset -P '*='
  case $directive in
    :0) _files ;;
    :16) _files -/ ;;
  esac
}
if [ "${funcstack[1]}" = _careen ]; then
  _careen "$@"
else
  compdef _careen careen kubectl-careen
fi
)";

constexpr std::string_view kFish = R"(# fish completion for careen. To have it in every shell:
#   careen completion fish > ~/.config/fish/completions/careen.fish
function __careen_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l answer ($program __complete $words "$current" 2>/dev/null)
    test (count $answer) -gt 0; or return
    set -l directive $answer[-1]
    set -e answer[-1]
    for line in $answer
        echo $line
    end
    switch $directive
        case ':0'
            __fish_complete_path "$current"
        case ':16'
            __fish_complete_directories "$current"
    end
end
complete -c careen -e
complete -c careen -f -a '(__careen_complete)'
complete -c kubectl-careen -e
complete -c kubectl-careen -f -a '(__careen_complete)'
)";

// kubectl runs a program of this name to complete the words of its plugin.
constexpr std::string_view kKubectl = R"(#!/bin/sh
# Completes "kubectl careen". Install it as kubectl_complete-careen on the PATH.
exec kubectl-careen __complete "$@"
)";

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return std::string(kBash);
  if (shell == "zsh") return std::string(kZsh);
  if (shell == "kubectl") return std::string(kKubectl);
  return std::string(kFish);
}

}  // namespace careen::app
