#include "commands/plan_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace careen::app {

namespace {
tl::unexpected<io::Error> refuse(const std::string& path, const std::string& why) {
  return io::fail(io::ErrorKind::file, fmt::format("{}: {}", path, why));
}
}  // namespace

io::Result<std::string> read_whole(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return refuse(path, std::strerror(errno));
  if (S_ISDIR(facts.st_mode)) return refuse(path, "is a directory");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) return refuse(path, "cannot be read");
  return std::move(content).str();
}

io::Result<bool> write_whole(const std::string& path, const std::string& content) {
  if (path == "-") {
    const bool written = std::fwrite(content.data(), 1, content.size(), stdout) == content.size();
    if (!written || std::fflush(stdout) != 0) return refuse("stdout", std::strerror(errno));
    return true;
  }
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return refuse(path, std::strerror(errno));
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = ::write(file, content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const std::string why = std::strerror(errno);
      ::close(file);
      return refuse(path, why);
    }
    done += static_cast<size_t>(count);
  }
  if (::close(file) != 0) return refuse(path, std::strerror(errno));
  return true;
}

io::Result<plan::Snapshot> read_snapshot(const std::string& path) {
  auto bytes = read_whole(path);
  if (!bytes) return tl::make_unexpected(bytes.error());
  auto text = plan::unpack(std::move(*bytes));
  if (!text) return refuse(path, text.error().message);
  auto snapshot = plan::parse_snapshot(*text);
  if (!snapshot) return refuse(path, snapshot.error().message);
  return snapshot;
}

io::Result<io::Duration> parse_span(std::string_view text) {
  const auto wrong = [&] {
    return io::fail(io::ErrorKind::invalid, fmt::format("\"{}\" is no span of time such as 14d or 36h", text));
  };
  if (!text.ends_with('d')) {
    const auto duration = io::parse_duration(text);
    if (!duration || *duration <= io::Duration{0}) return wrong();
    return *duration;
  }
  int days = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, days);
  if (error != std::errc() || end != text.data() + text.size() - 1 || days < 1 || days > 3660) return wrong();
  return io::hours{24 * days};
}

}  // namespace careen::app
