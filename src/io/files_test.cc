#include "io/files.h"

#include <gtest/gtest.h>

#include "io/test_support.h"
#include "io/virtual_time.h"

namespace careen::io {
namespace {

namespace fs = std::filesystem;

TEST(RealFilesTest, ReadsOrNamesPathAndReason) {
  RealLoop loop;
  RealFiles files(loop);
  const TemporaryFolder folder;
  write_file(folder / "a", "content");
  EXPECT_EQ(files.read(folder / "a").value(), "content");
  const auto missing = files.read(folder / "b");
  EXPECT_EQ(missing.error().kind, ErrorKind::file);
  EXPECT_EQ(missing.error().message, "cannot read " + (folder / "b") + ": No such file or directory");
  EXPECT_EQ(files.read(folder.path()).error().message, "cannot read " + folder.path() + ": Is a directory");
  fs::resize_file(folder / "a", (16 << 20) + 1);
  EXPECT_EQ(files.read(folder / "a").error().message, "cannot read " + (folder / "a") + ": it is larger than 16 MiB");
}

class WatchTest : public testing::Test {
 protected:
  void watch(const std::string& path) {
    handle_ = files_.watch(path, [this] { ++calls_; });
  }
  // The watch calls again; then the calls so far are forgotten.
  void expect_call() {
    loop_.run_until([&] { return calls_ > 0; });
    calls_ = 0;
  }
  // A change of `marker`, which is watched beside, has been reported, and nothing of ours before it.
  void expect_no_call() {
    bool seen = false;
    const auto marker = files_.watch(folder_ / "marker", [&] { seen = true; });
    write_file(folder_ / "marker", "x");
    loop_.run_until([&] { return seen; });
    EXPECT_EQ(calls_, 0);
  }

  RealLoop loop_;
  RealFiles files_{loop_};
  TemporaryFolder folder_;
  std::unique_ptr<Files::Watch> handle_;
  int calls_ = 0;
};

TEST_F(WatchTest, SeesWriteReplaceRemoveAndCreate) {
  const std::string path = folder_ / "f";
  write_file(path, "1");
  watch(path);
  expect_no_call();
  write_file(path, "2");
  expect_call();
  write_file(folder_ / "f.new", "3");
  fs::rename(folder_ / "f.new", path);
  expect_call();
  // The watch follows the new file.
  write_file(path, "4");
  expect_call();
  fs::remove(path);
  expect_call();
  write_file(path, "5");
  expect_call();
  write_file(folder_ / "other", "x");
  expect_no_call();
}

// kubelet's layout: f -> ..data/f, ..data -> ..v1; an update renames a new ..data over the old one.
TEST_F(WatchTest, SeesTheSwapOfAMountedConfigMap) {
  const auto publish = [&](const std::string& version) {
    fs::create_directory(folder_ / version);
    write_file(folder_ / (version + "/f"), version);
    fs::create_directory_symlink(version, folder_ / "..data_tmp");
    fs::rename(folder_ / "..data_tmp", folder_ / "..data");
  };
  publish("..v1");
  fs::create_symlink("..data/f", folder_ / "f");
  watch(folder_ / "f");
  for (const std::string version : {"..v2", "..v3"}) {
    publish(version);
    expect_call();
    EXPECT_EQ(files_.read(folder_ / "f").value(), version);
  }
  fs::remove_all(folder_ / "..v1");
  expect_no_call();
}

TEST_F(WatchTest, SeesChangesBehindALinkIntoAnotherFolder) {
  fs::create_directory(folder_ / "elsewhere");
  write_file(folder_ / "elsewhere/target", "1");
  fs::create_symlink(folder_ / "elsewhere/target", folder_ / "link");
  watch(folder_ / "link");
  write_file(folder_ / "elsewhere/target", "2");
  expect_call();
}

TEST_F(WatchTest, WaitsForFoldersThatDoNotExist) {
  watch(folder_ / "a/b/f");
  fs::create_directory(folder_ / "a");
  expect_call();
  fs::create_directory(folder_ / "a/b");
  expect_call();
  write_file(folder_ / "a/b/f", "1");
  expect_call();
  fs::remove_all(folder_ / "a");
  expect_call();
  fs::create_directories(folder_ / "a/b");
  write_file(folder_ / "a/b/f", "2");
  expect_call();
}

TEST_F(WatchTest, ABurstIsOneCall) {
  const std::string path = folder_ / "f";
  watch(path);
  for (int i = 0; i < 100; ++i) write_file(path, std::to_string(i));
  loop_.run_until([&] { return calls_ > 0; });
  calls_ = 0;
  expect_no_call();
}

TEST_F(WatchTest, MayBeDestroyedFromItsOwnCall) {
  const std::string path = folder_ / "f";
  bool called = false;
  handle_ = files_.watch(path, [&] {
    handle_.reset();
    called = true;
  });
  write_file(path, "1");
  loop_.run_until([&] { return called; });
}

TEST(MemoryFilesTest, TellsOfWritesAndRemovals) {
  VirtualTime time;
  const auto loop = time.make_loop();
  MemoryFiles files(*loop);
  int calls = 0;
  auto watch = files.watch("/f", [&] { ++calls; });
  files.write("/f", "1");
  files.write("/f", "2");
  files.write("/other", "x");
  EXPECT_EQ(calls, 0);
  time.settle();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(files.read("/f").value(), "2");
  files.remove("/f");
  time.settle();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(files.read("/f").error().message, "cannot read /f: No such file or directory");
  watch.reset();
  files.write("/f", "3");
  time.settle();
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace careen::io
