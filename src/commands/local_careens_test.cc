#include "commands/local_careens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace careen::app {
namespace {

using testing::HasSubstr;

TEST(LoopbackUrl, WhereThisMachineReachesIt) {
  EXPECT_EQ(loopback_url(":8080", 8080), "http://127.0.0.1:8080");
  EXPECT_EQ(loopback_url("0.0.0.0:0", 41234), "http://127.0.0.1:41234");
  EXPECT_EQ(loopback_url("[::]:8080", 8080), "http://127.0.0.1:8080");
  EXPECT_EQ(loopback_url("127.0.0.2:8080", 8080), "http://127.0.0.2:8080");
  EXPECT_EQ(loopback_url("localhost:8080", 8080), "http://localhost:8080");
  EXPECT_EQ(loopback_url("[::1]:8080", 8080), "http://[::1]:8080");
  EXPECT_EQ(loopback_url("10.1.2.3:8080", 8080), std::nullopt);
  EXPECT_EQ(loopback_url("127.0.0.1.example.org:8080", 8080), std::nullopt);
}

class LocalCareensTest : public testing::Test {
 protected:
  LocalCareensTest() {
    std::string name = testing::TempDir() + "careen-local-XXXXXX";
    root_ = ::mkdtemp(name.data());
    folder_ = root_ + "/careen";
  }
  ~LocalCareensTest() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<LocalRecord> leave(const std::string& url, int64_t pid = 1) {
    auto record = LocalRecord::leave(folder_, {url, "careen run", pid});
    EXPECT_TRUE(record) << record.error().message;
    return record ? std::move(*record) : nullptr;
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  // What is found, or why it is not one.
  std::string found() const {
    const auto careen = find_local_careen(folder_);
    return careen ? careen->url : careen.error().message;
  }

  std::string root_, folder_;
};

TEST_F(LocalCareensTest, TheFolderIsThatOfTheUser) {
  const std::string shared = "/tmp/careen-" + std::to_string(::geteuid());
  const auto folder = [](std::optional<std::string> runtime) {
    return record_folder(
        [&](std::string_view name) { return name == "XDG_RUNTIME_DIR" ? runtime : std::optional<std::string>(); });
  };
  EXPECT_EQ(folder(std::nullopt), shared);
  EXPECT_EQ(folder(""), shared);
  EXPECT_EQ(folder("not/absolute"), shared);
  EXPECT_EQ(folder(root_ + "/missing"), shared);
  EXPECT_EQ(folder(root_), root_ + "/careen");
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(root_.c_str(), 4711, 4711), 0);
  EXPECT_EQ(folder(root_), shared);
}

TEST_F(LocalCareensTest, OneIsFoundForAsLongAsItRuns) {
  EXPECT_THAT(found(), HasSubstr("no careen of yours runs on this machine"));
  {
    const auto record = leave("http://127.0.0.1:8080", 77);
    const auto careen = find_local_careen(folder_);
    ASSERT_TRUE(careen) << careen.error().message;
    EXPECT_EQ(careen->url, "http://127.0.0.1:8080");
    EXPECT_EQ(careen->command, "careen run");
    EXPECT_EQ(careen->pid, 77);
    struct stat facts{};
    ASSERT_EQ(::stat(folder_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u);
  }
  EXPECT_THAT(found(), HasSubstr("no careen of yours runs on this machine"));
  EXPECT_TRUE(std::filesystem::is_empty(root_));
}

TEST_F(LocalCareensTest, SeveralAreNamed) {
  const auto later = leave("http://127.0.0.1:10080", 2), earlier = leave("http://127.0.0.1:8080", 1);
  EXPECT_EQ(found(),
            "2 careens of yours run on this machine; name one of them with --server or CAREEN_SERVER:\n"
            "  http://127.0.0.1:8080  careen run, process 1\n"
            "  http://127.0.0.1:10080  careen run, process 2");
}

TEST_F(LocalCareensTest, WhatAKilledOneLeftIsRemoved) {
  std::filesystem::create_directory(folder_);
  write(folder_ + "/5.json", R"({"url":"http://127.0.0.1:8080","command":"careen run","pid":5})");
  EXPECT_THAT(found(), HasSubstr("no careen"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(LocalCareensTest, ARecordReplacesWhatIsLeftOfItsNumber) {
  std::filesystem::create_directory(folder_);
  write(folder_ + "/5.json", "left over");
  write(folder_ + "/.5.json", "left over half written");
  const auto record = leave("http://127.0.0.1:8080", 5);
  EXPECT_EQ(found(), "http://127.0.0.1:8080");
}

TEST_F(LocalCareensTest, NoAddressOffThisMachineIsTaken) {
  for (const char* url : {"http://10.1.2.3:8080", "https://127.0.0.1:8080", "http://127.0.0.1.example.org:80",
                          "http://127.0.0.1:80@example.org:80", "http://127.0.0.1:8080/x", "http://localhost", ""}) {
    const auto record = leave(url);
    EXPECT_THAT(found(), HasSubstr("no careen")) << url;
  }
}

TEST_F(LocalCareensTest, AFolderThatOthersCouldWriteIsNotTrusted) {
  const auto record = leave("http://127.0.0.1:8080");
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_THAT(found(), HasSubstr(folder_ + ": others may write there"));
  // Nor is a record left there.
  EXPECT_FALSE(LocalRecord::leave(folder_, {"http://127.0.0.1:9090", "careen run", 2}));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/2.json"));
}

TEST_F(LocalCareensTest, AFolderOfAnotherUserIsNotTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const auto record = leave("http://127.0.0.1:8080");
  ASSERT_EQ(::chown(folder_.c_str(), 4711, 4711), 0);
  EXPECT_THAT(found(), HasSubstr(folder_ + ": belongs to another user"));
}

TEST_F(LocalCareensTest, ARecordOfAnotherUserIsNotTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const auto record = leave("http://127.0.0.1:8080");
  ASSERT_EQ(::chown((folder_ + "/1.json").c_str(), 4711, 4711), 0);
  EXPECT_THAT(found(), HasSubstr("no careen"));
}

TEST_F(LocalCareensTest, NoLinkIsFollowed) {
  const auto record = leave("http://127.0.0.1:8080");
  std::filesystem::rename(folder_, root_ + "/elsewhere");
  std::filesystem::create_directory_symlink(root_ + "/elsewhere", folder_);
  EXPECT_THAT(found(), HasSubstr(folder_ + ": is no folder"));
  std::filesystem::remove(folder_);
  std::filesystem::create_directory(folder_);
  std::filesystem::create_symlink(root_ + "/elsewhere/1.json", folder_ + "/1.json");
  EXPECT_THAT(found(), HasSubstr("no careen"));
  EXPECT_TRUE(std::filesystem::exists(root_ + "/elsewhere/1.json"));
}

TEST_F(LocalCareensTest, WhereNoFolderCanBeMadeNoRecordIsLeft) {
  folder_ = root_ + "/missing/careen";
  const auto nowhere = LocalRecord::leave(folder_, {"http://127.0.0.1:8080", "careen run", 1});
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr(folder_));
}

}  // namespace
}  // namespace careen::app
