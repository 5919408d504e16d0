#include "io/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "io/real_loop.h"
#include "io/sync.h"

extern char** environ;

namespace careen::io {

namespace {

// Output may come later than the end of the process when a grandchild holds the pipe; nobody waits longer for it.
constexpr Duration kLateOutput = seconds{1};
// For some thousands of clusters.
constexpr rlim_t kManyFiles = 65'536;

using Stream = boost::asio::posix::stream_descriptor;

tl::unexpected<Error> cannot_run(std::string_view program, int error) {
  return fail(ErrorKind::process, fmt::format("cannot run \"{}\": {}", program, std::strerror(error)));
}

// One of the child's outputs, read until it ends.
struct Output {
  explicit Output(boost::asio::io_context& context) : stream(context) {}
  Stream stream;
  std::string text;
  size_t dropped = 0;
  bool ended = false;
  char buffer[16 * 1024];
};

// A running process. Asio's handlers share it, so it outlives the task that started it until it has been reaped.
class Child : public std::enable_shared_from_this<Child> {
 public:
  Child(RealLoop& loop, size_t max_output)
      : out(loop.asio()), err(loop.asio()), changed_(loop), exit_(loop.asio()), max_output_(max_output) {}

  Result<void> start(const ProcessRequest& request);

  // Ends the process and what it started, and stops listening to it.
  void kill() {
    if (!exited_) ::kill(-pid_, SIGKILL);
    out.stream.close();
    err.stream.close();
  }

  Task<void> wait_for_exit() {
    while (!exited_ && out.dropped == 0) co_await changed_.wait();
  }
  Task<bool> wait_for_output() {
    while (!out.ended || !err.ended) co_await changed_.wait();
    co_return true;
  }
  // exit status, then late output; true when that was all.
  Task<bool> wait(RealLoop& loop) {
    co_await wait_for_exit();
    if (exited_) co_await with_timeout(loop, kLateOutput, wait_for_output());
    co_return true;
  }

  int exit_code() const { return exit_code_; }
  Output out;
  Output err;

 private:
  void listen(Output& output) {
    output.stream.async_read_some(
        boost::asio::buffer(output.buffer),
        [self = shared_from_this(), &output](const boost::system::error_code& error, size_t length) {
          const size_t room = self->max_output_ - std::min(self->max_output_, output.text.size());
          output.text.append(output.buffer, std::min(room, length));
          output.dropped += length - std::min(room, length);
          output.ended = static_cast<bool>(error);
          self->changed_.notify();
          if (!output.ended) self->listen(output);
        });
  }

  void listen_for_exit() {
    exit_.async_wait(Stream::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
      if (error) return;
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(self->pid_), &info, WEXITED) == 0) {
        self->exit_code_ = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
      }
      self->exited_ = true;
      self->exit_.close();
      self->changed_.notify();
    });
  }

  Signal changed_;
  Stream exit_;
  pid_t pid_ = 0;
  size_t max_output_;
  bool exited_ = false;
  int exit_code_ = 0;
};

class SpawnActions {
 public:
  SpawnActions() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  // It has our own input and output.
  void inherit() { close_others(); }

  void set(int out, int err) {
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, err, STDERR_FILENO);
    close_others();
    // A group of its own, so that it can be killed with all its children.
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  // The sockets of libraries are not all marked close-on-exec.
  void close_others() { ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1); }

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto replaced = [&](const auto& variable) {
      return text.size() > variable.first.size() && text.starts_with(variable.first) &&
             text[variable.first.size()] == '=';
    };
    if (std::none_of(added.begin(), added.end(), replaced)) out.emplace_back(text);
  }
  for (const auto& [name, value] : added) out.push_back(name + "=" + value);
  return out;
}

Result<void> Child::start(const ProcessRequest& request) {
  const std::string& program = request.argv.front();
  int out_pipe[2], err_pipe[2];
  if (::pipe2(out_pipe, O_CLOEXEC) != 0) return cannot_run(program, errno);
  out.stream.assign(out_pipe[0]);
  if (::pipe2(err_pipe, O_CLOEXEC) != 0) {
    const int error = errno;
    ::close(out_pipe[1]);
    return cannot_run(program, error);
  }
  err.stream.assign(err_pipe[0]);

  SpawnActions spawn;
  spawn.set(out_pipe[1], err_pipe[1]);
  std::vector<std::string> arguments = request.argv;
  std::vector<std::string> environment = environment_with(request.environment);
  const int error = ::posix_spawnp(&pid_, program.c_str(), spawn.actions(), spawn.attributes(),
                                   pointers(arguments).data(), pointers(environment).data());
  ::close(out_pipe[1]);
  ::close(err_pipe[1]);
  if (error != 0) return cannot_run(program, error);

  const auto watched = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (watched < 0) {
    const int reason = errno;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    return cannot_run(program, reason);
  }
  exit_.assign(watched);
  listen_for_exit();
  listen(out);
  listen(err);
  return {};
}

// A process that shares our terminal. Asio's handler shares it until it has been reaped.
class Attached : public std::enable_shared_from_this<Attached> {
 public:
  explicit Attached(RealLoop& loop) : ended_(loop), exit_(loop.asio()) {}

  // errno; 0: it runs.
  int start(const AttachedCommand& command) {
    SpawnActions spawn;
    spawn.inherit();
    std::vector<std::string> arguments = command.argv;
    std::vector<std::string> environment = environment_with(command.environment);
    if (const int error = ::posix_spawnp(&pid_, command.argv.front().c_str(), spawn.actions(), spawn.attributes(),
                                         pointers(arguments).data(), pointers(environment).data())) {
      return error;
    }
    const auto watched = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (watched < 0) {
      const int reason = errno;
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      return reason;
    }
    exit_.assign(watched);
    exit_.async_wait(Stream::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->reap();
    });
    return 0;
  }

  void pass_on(int signal) {
    // A terminal sends its own to the whole group.
    const bool of_terminal = signal == SIGINT || signal == SIGQUIT;
    if (of_terminal && ::isatty(STDIN_FILENO) && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) return;
    if (!ended_.is_open()) ::kill(pid_, signal);
  }

  Gate& ended() { return ended_; }
  int exit_code() const { return exit_code_; }

 private:
  void reap() {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) == 0) {
      exit_code_ = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    }
    exit_.close();
    ended_.open();
  }

  Gate ended_;
  Stream exit_;
  pid_t pid_ = 0;
  int exit_code_ = 0;
};

struct KillAtEnd {
  explicit KillAtEnd(Child& c) : child(c) {}
  KillAtEnd(const KillAtEnd&) = delete;
  KillAtEnd& operator=(const KillAtEnd&) = delete;
  ~KillAtEnd() { child.kill(); }
  Child& child;
};

class AsioSignals final : public std::enable_shared_from_this<AsioSignals> {
 public:
  AsioSignals(RealLoop& loop, std::function<void(int)> handler) : signals_(loop.asio()), handler_(std::move(handler)) {}

  void start(const std::vector<int>& signals) {
    for (const int number : signals) signals_.add(number);
    listen();
  }
  void stop() {
    stopped_ = true;
    boost::system::error_code ignored;
    signals_.clear(ignored);
    // Drops the waiting handler, and its share of this object with it.
    signals_.cancel(ignored);
  }

 private:
  void listen() {
    signals_.async_wait([self = shared_from_this()](const boost::system::error_code& error, int number) {
      if (error || self->stopped_) return;
      self->handler_(number);
      if (!self->stopped_) self->listen();
    });
  }

  boost::asio::signal_set signals_;
  std::function<void(int)> handler_;
  bool stopped_ = false;
};

class SignalHandle final : public SignalWatch {
 public:
  explicit SignalHandle(std::shared_ptr<AsioSignals> signals) : signals_(std::move(signals)) {}
  ~SignalHandle() override { signals_->stop(); }

 private:
  std::shared_ptr<AsioSignals> signals_;
};

}  // namespace

Task<Result<ProcessResult>> run_process(RealLoop& loop, ProcessRequest request) {
  if (request.argv.empty()) co_return fail(ErrorKind::invalid, "no program to run was named");
  const auto child = std::make_shared<Child>(loop, request.max_output);
  if (auto ok = child->start(request); !ok) co_return tl::make_unexpected(std::move(ok.error()));
  const KillAtEnd ending(*child);

  if (!co_await with_timeout(loop, request.timeout, child->wait(loop))) {
    co_return fail(ErrorKind::timeout, fmt::format("\"{}\" did not end within {} and was killed", request.argv.front(),
                                                   format_duration(request.timeout)));
  }
  if (child->out.dropped > 0) {
    co_return fail(ErrorKind::process,
                   fmt::format("\"{}\" wrote more than {} bytes", request.argv.front(), request.max_output));
  }
  co_return ProcessResult{child->exit_code(), std::move(child->out.text), std::move(child->err.text)};
}

Task<Result<AttachedEnd>> run_attached(RealLoop& loop, AttachedCommand command) {
  if (command.argv.empty()) co_return fail(ErrorKind::invalid, "no program to run was named");
  const auto child = std::make_shared<Attached>(loop);
  // Before it starts: one that comes just then must not end us.
  const auto signals = watch_signals(loop, {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2},
                                     [&child](int signal) { child->pass_on(signal); });
  if (const int error = child->start(command)) {
    co_return AttachedEnd{error == ENOENT ? 127 : 126, cannot_run(command.argv.front(), error).value().message};
  }
  co_await child->ended().wait();
  co_return AttachedEnd{child->exit_code(), ""};
}

std::unique_ptr<SignalWatch> watch_signals(RealLoop& loop, std::vector<int> signals, std::function<void(int)> handler) {
  auto watch = std::make_shared<AsioSignals>(loop, std::move(handler));
  watch->start(signals);
  return std::make_unique<SignalHandle>(std::move(watch));
}

void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlim_t wanted = std::min(files.rlim_max, kManyFiles);
  if (files.rlim_cur >= wanted) return;
  files.rlim_cur = wanted;
  // Where it is refused, what there was before has to do.
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace careen::io
