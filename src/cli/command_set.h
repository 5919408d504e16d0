// The commands of the program. Each is registered from a file of its own with its name, its flags and the function that
// runs it; help, completion, man page and reference are all made of the tree that comes together here.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace careen::app {

// Exit codes, beside 0: done.
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kInterrupted = 130;

// Flags that do not fit together; thrown by a command before it does anything. Ends with exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Under which the help lists a command.
enum class CommandGroup { see, act, run, configure, more, hidden };

class Commands {
 public:
  // `called`: how usage lines name the program, such as careen or kubectl careen.
  explicit Commands(std::string called);
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  // The exit code.
  using Run = std::function<int()>;
  // Adds a command, and gives the place for its flags and its footer, which holds an example. What the flags are
  // written to must live as long as `run`.
  CLI::App& add(const std::string& name, const std::string& summary, CommandGroup group, Run run);
  // One below another command, as in `careen request run`. What is typed before its name would be the other command's:
  // such a line is refused, because nobody would look at it.
  CLI::App& add_below(CLI::App& parent, const std::string& name, const std::string& summary, Run run);

  // The words after the program's name, as they were given. The exit code.
  int parse_and_run(std::vector<std::string> words);

  const CLI::App& tree() const { return *app_; }
  const std::string& called() const { return called_; }

 private:
  struct Entry {
    CLI::App* command;
    Run run;
  };
  std::string called_;
  std::unique_ptr<CLI::App> app_;
  std::vector<Entry> entries_;
};

// Adds every command of the program; command_line.cc has the list.
void add_all_commands(Commands& commands);

}  // namespace careen::app
