#include "commands/local_careens.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "kube/json.h"
#include "kube/name_order.h"

namespace careen::app {

namespace {

constexpr std::string_view kRecordEnd = ".json";
constexpr size_t kLongestRecord = 4096;
// Whoever removes the last record removes the folder, too, perhaps just when we want to use it.
constexpr int kFolderTries = 3;

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

tl::unexpected<io::Error> file_error(const std::string& path, const std::string& reason) {
  return io::fail(io::ErrorKind::file, path + ": " + reason);
}

// Nothing when there is no such folder; an error when it is not to be trusted.
io::Result<std::optional<OpenFile>> open_records(const std::string& path) {
  OpenFile folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno == ENOENT) return std::nullopt;
  if (!folder) {
    const bool other = errno == ENOTDIR || errno == ELOOP;
    return file_error(path, other ? "is no folder, and not trusted" : std::strerror(errno));
  }
  struct stat facts{};
  if (::fstat(folder.fd(), &facts) != 0) return file_error(path, std::strerror(errno));
  if (facts.st_uid != ::geteuid()) return file_error(path, "belongs to another user, and is not trusted");
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return file_error(path, "others may write there: it is not trusted");
  return folder;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string record_text(const LocalCareen& self) {
  return kube::Json::object({{"url", self.url}, {"command", self.command}, {"pid", self.pid}}).dump() + "\n";
}

// It gets its name only when it is complete and locked: another process that finds it unlocked takes it for a leftover.
tl::expected<OpenFile, int> write_record(int folder, const std::string& name, const LocalCareen& self) {
  const std::string begun = "." + name;
  ::unlinkat(folder, begun.c_str(), 0);
  OpenFile file(::openat(folder, begun.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file && ::flock(file.fd(), LOCK_EX | LOCK_NB) == 0 && write_all(file.fd(), record_text(self)) &&
      ::renameat(folder, begun.c_str(), folder, name.c_str()) == 0) {
    return file;
  }
  const int error = errno;
  if (file) ::unlinkat(folder, begun.c_str(), 0);
  return tl::make_unexpected(error);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_loopback_host(std::string_view host) {
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// http://HOST:PORT of this machine, and nothing behind it.
bool is_loopback_url(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return false;
  url.remove_prefix(kScheme.size());
  const size_t colon = url.rfind(':');
  return colon != std::string_view::npos && is_loopback_host(url.substr(0, colon)) && is_number(url.substr(colon + 1));
}

std::optional<LocalCareen> parse_record(std::string_view text) {
  const auto document = kube::Json::parse(text);
  if (!document) return std::nullopt;
  LocalCareen found{.url = std::string((*document)["url"].text().value_or("")),
                    .command = std::string((*document)["command"].text().value_or("")),
                    .pid = (*document)["pid"].integer().value_or(0)};
  if (!is_loopback_url(found.url)) return std::nullopt;
  return found;
}

// What it says, if the one who wrote it is still there.
std::optional<LocalCareen> read_record(int folder, const std::string& name) {
  const OpenFile file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts{};
  if (!file || ::fstat(file.fd(), &facts) != 0) return std::nullopt;
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid()) return std::nullopt;
  if (::flock(file.fd(), LOCK_SH | LOCK_NB) == 0) {
    ::unlinkat(folder, name.c_str(), 0);
    return std::nullopt;
  }
  if (errno != EWOULDBLOCK) return std::nullopt;
  std::array<char, kLongestRecord> text{};
  const ssize_t size = ::read(file.fd(), text.data(), text.size());
  if (size <= 0) return std::nullopt;
  return parse_record({text.data(), static_cast<size_t>(size)});
}

std::vector<std::string> record_names(int folder) {
  std::vector<std::string> names;
  const int copy = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
  DIR* listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (!name.starts_with('.') && name.ends_with(kRecordEnd)) names.push_back(name);
  }
  ::closedir(listing);
  return names;
}

std::vector<LocalCareen> read_records(int folder) {
  std::vector<LocalCareen> found;
  for (const std::string& name : record_names(folder)) {
    if (auto record = read_record(folder, name)) found.push_back(std::move(*record));
  }
  std::sort(found.begin(), found.end(),
            [](const LocalCareen& a, const LocalCareen& b) { return kube::compare_names(a.url, b.url) < 0; });
  return found;
}

io::Error none_found() {
  return {io::ErrorKind::connect,
          "no careen of yours runs on this machine; \"careen run\" and \"careen demo\" are found if their dashboard is "
          "on a loopback address"};
}

io::Error several_found(const std::vector<LocalCareen>& found) {
  std::string text = fmt::format(
      "{} careens of yours run on this machine; name one of them with --server or CAREEN_SERVER:", found.size());
  for (const LocalCareen& one : found) text += fmt::format("\n  {}  {}, process {}", one.url, one.command, one.pid);
  return {io::ErrorKind::connect, text};
}

}  // namespace

std::optional<std::string> loopback_url(std::string_view address, int port) {
  std::string host(address.substr(0, std::min(address.rfind(':'), address.size())));
  // Those who listen everywhere listen there, too.
  if (host.empty() || host == "0.0.0.0" || host == "[::]") host = "127.0.0.1";
  if (!is_loopback_host(host)) return std::nullopt;
  return fmt::format("http://{}:{}", host, port);
}

std::string record_folder(const std::function<std::optional<std::string>(std::string_view)>& environment) {
  const std::string runtime = environment("XDG_RUNTIME_DIR").value_or("");
  struct stat facts{};
  // sudo and su may leave us that of somebody else.
  const bool own = runtime.starts_with('/') && ::stat(runtime.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
                   facts.st_uid == ::geteuid();
  return own ? runtime + "/careen" : fmt::format("/tmp/careen-{}", ::geteuid());
}

LocalRecord::LocalRecord(std::string folder, std::string name, int locked)
    : folder_(std::move(folder)), name_(std::move(name)), locked_(locked) {}

LocalRecord::~LocalRecord() {
  ::unlink((folder_ + "/" + name_).c_str());
  ::rmdir(folder_.c_str());
  ::close(locked_);
}

io::Result<std::unique_ptr<LocalRecord>> LocalRecord::leave(const std::string& folder, const LocalCareen& self) {
  const std::string name = fmt::format("{}{}", self.pid, kRecordEnd);
  for (int attempt = 1;; ++attempt) {
    ::mkdir(folder.c_str(), 0700);
    const auto records = open_records(folder);
    if (!records) return tl::make_unexpected(records.error());
    auto file = *records ? write_record((*records)->fd(), name, self) : tl::make_unexpected(ENOENT);
    if (file) return std::unique_ptr<LocalRecord>(new LocalRecord(folder, name, file->release()));
    if (file.error() != ENOENT || attempt == kFolderTries) return file_error(folder, std::strerror(file.error()));
  }
}

io::Result<LocalCareen> find_local_careen(const std::string& folder) {
  const auto records = open_records(folder);
  if (!records) return io::fail(io::ErrorKind::file, records.error().message);
  std::vector<LocalCareen> found;
  if (*records) found = read_records((*records)->fd());
  if (found.empty()) return tl::make_unexpected(none_found());
  if (found.size() > 1) return tl::make_unexpected(several_found(found));
  return found.front();
}

}  // namespace careen::app
