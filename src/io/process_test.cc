#include "io/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "io/test_support.h"

namespace careen::io {
namespace {

ProcessRequest shell(std::string script) {
  ProcessRequest request;
  request.argv = {"sh", "-c", std::move(script)};
  return request;
}

class ProcessTest : public testing::Test {
 protected:
  Result<ProcessResult> run(ProcessRequest request) { return run_task(loop_, run_process(loop_, std::move(request))); }
  RealLoop loop_;
};

TEST_F(ProcessTest, GivesOutputAndExitCode) {
  const auto result = run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
}

TEST_F(ProcessTest, AddsToTheEnvironment) {
  ::setenv("CAREEN_TEST_KEPT", "kept", 1);
  ::setenv("CAREEN_TEST_REPLACED", "old", 1);
  ProcessRequest request = shell("echo $CAREEN_TEST_KEPT $CAREEN_TEST_REPLACED");
  request.environment = {{"CAREEN_TEST_REPLACED", "new"}};
  EXPECT_EQ(run(request)->out, "kept new\n");
}

TEST_F(ProcessTest, NamesAProgramThatDoesNotExist) {
  ProcessRequest request;
  request.argv = {"no-such-program-here"};
  const auto result = run(request);
  EXPECT_EQ(result.error().kind, ErrorKind::process);
  EXPECT_EQ(result.error().message, "cannot run \"no-such-program-here\": No such file or directory");
}

TEST_F(ProcessTest, AnAttachedCommandHasOurOutputAndItsCode) {
  const auto attached = [this](std::vector<std::string> argv) {
    return run_task(loop_, run_attached(loop_, {std::move(argv), {{"CAREEN_TEST_ADDED", "7"}}}));
  };
  EXPECT_EQ(attached({"sh", "-c", "exit $CAREEN_TEST_ADDED"})->exit_code, 7);
  EXPECT_EQ(attached({"sh", "-c", "kill -KILL $$"})->exit_code, 128 + SIGKILL);
  // Of our group, unlike a child that run_process() starts.
  EXPECT_EQ(attached({"sh", "-c", "test $(ps -o pgid= -p $$) = " + std::to_string(::getpgrp())})->exit_code, 0);
  EXPECT_EQ(attached({"no-such-program-here"})->exit_code, 127);
  EXPECT_EQ(attached({"no-such-program-here"})->error,
            "cannot run \"no-such-program-here\": No such file or directory");
  EXPECT_EQ(attached({"/etc"})->exit_code, 126);
}

TEST_F(ProcessTest, SignalsArePassedOnToAnAttachedCommand) {
  const std::string script = "trap 'exit 9' TERM; kill -TERM " + std::to_string(::getpid()) + "; sleep 60 & wait";
  EXPECT_EQ(run_task(loop_, run_attached(loop_, {{"sh", "-c", script}, {}}))->exit_code, 9);
}

TEST_F(ProcessTest, ASignalIsAnExitCode) { EXPECT_EQ(run(shell("kill -TERM $$"))->exit_code, 128 + SIGTERM); }

// Our ignored SIGPIPE must not be inherited: `yes` would go on for ever with an error otherwise.
TEST_F(ProcessTest, ChildrenHaveDefaultSignals) {
  EXPECT_EQ(run(shell("trap"))->out, "");
  EXPECT_EQ(run(shell("kill -PIPE $$; echo survived"))->out, "");
}

TEST_F(ProcessTest, TooMuchOutputIsAnErrorButNotOnStderr) {
  ProcessRequest request = shell("yes");
  request.max_output = 1000;
  EXPECT_EQ(run(request).error().message, "\"sh\" wrote more than 1000 bytes");
  request = shell("head -c 100000 /dev/zero >&2; echo done");
  request.max_output = 1000;
  const auto result = run(request);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "done\n");
  EXPECT_EQ(result->err.size(), 1000u);
}

bool alive(const std::string& pid) {
  // A killed child of a killed parent may be waiting for its new parent to collect it.
  std::ifstream status("/proc/" + pid + "/stat");
  std::string number, name, state;
  return (status >> number >> name >> state) && state != "Z" && state != "X";
}

TEST_F(ProcessTest, TimeOutKillsTheWholeGroup) {
  const TemporaryFolder folder;
  ProcessRequest request = shell("sleep 1000 & echo $! > " + (folder / "pid") + "; wait");
  request.timeout = milliseconds{300};
  const auto result = run(request);
  EXPECT_EQ(result.error().kind, ErrorKind::timeout);
  EXPECT_EQ(result.error().message, "\"sh\" did not end within 300ms and was killed");
  std::string pid;
  std::ifstream(folder / "pid") >> pid;
  ASSERT_FALSE(pid.empty());
  run_until_outside(loop_, [&] { return !alive(pid); });
}

TEST_F(ProcessTest, DestroyingTheTaskKills) {
  const TemporaryFolder folder;
  {
    Scope scope(loop_);
    std::optional<Result<ProcessResult>> out;
    scope.spawn(store_result(run_process(loop_, shell("echo $$ > " + (folder / "pid") + "; exec sleep 1000")), &out));
    run_until_outside(loop_, [&] {
      return std::filesystem::exists(folder / "pid") && std::filesystem::file_size(folder / "pid") > 0;
    });
  }
  std::string pid;
  std::ifstream(folder / "pid") >> pid;
  // Reaped too: the entry is gone.
  run_until_outside(loop_, [&] { return !std::filesystem::exists("/proc/" + pid); });
}

TEST_F(ProcessTest, AGrandchildThatKeepsThePipeDoesNotHoldUs) {
  ProcessRequest request = shell("sleep 5 & echo here");
  const Steady start = loop_.now();
  EXPECT_EQ(run(request)->out, "here\n");
  EXPECT_LT(loop_.now() - start, seconds{4});
}

TEST(SignalWatchTest, CallsForEachSignalUntilDestroyed) {
  RealLoop loop;
  std::vector<int> seen;
  auto watch = watch_signals(loop, {SIGUSR1, SIGUSR2}, [&](int number) { seen.push_back(number); });
  ::raise(SIGUSR1);
  loop.run_until([&] { return seen.size() == 1; });
  ::raise(SIGUSR2);
  loop.run_until([&] { return seen.size() == 2; });
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));
  watch.reset();
  EXPECT_EQ(::signal(SIGUSR1, SIG_DFL), SIG_DFL);
}

TEST(FilesTest, AreAsManyAsTheSystemAllows) {
  rlimit before{}, after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{std::min<rlim_t>(256, before.rlim_max), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  allow_many_files();
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(65'536, before.rlim_max));
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace careen::io
