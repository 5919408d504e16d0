#include "io/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "io/real_loop.h"

namespace careen::io {

namespace {

constexpr size_t kMaxSize = 16 << 20;
// A burst of events (an editor's save, a ConfigMap swap) becomes one call.
constexpr Duration kSettle = milliseconds{50};
// How often the file is looked at when the system has no inotify left for us.
constexpr Duration kPoll = seconds{10};

tl::unexpected<Error> cannot_read(const std::string& path, std::string_view why) {
  return fail(ErrorKind::file, fmt::format("cannot read {}: {}", path, why));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A name that was looked up in a folder on the way to the file: when it changes there, the way changes.
struct Step {
  std::string folder;
  std::string name;
  auto operator<=>(const Step&) const = default;
};

std::deque<std::string> split_path(std::string_view path) {
  std::deque<std::string> parts;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

// The places whose change can change what `path` means: each symbolic link on the way, the file itself, or the
// first part that does not exist. A mounted ConfigMap has two links (file and ..data), so following the way by
// hand is what makes its swap visible.
std::vector<Step> way_to(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::vector<Step> steps;
  std::deque<std::string> parts = split_path(path);
  std::string at = path.starts_with('/') ? "/" : ".";
  int links = 0;
  while (!parts.empty()) {
    const std::string part = std::move(parts.front());
    parts.pop_front();
    if (part == ".") continue;
    const std::string next = at == "/" ? at + part : at + "/" + part;
    if (part == "..") {
      at = next;
      continue;
    }
    struct stat info{};
    if (::lstat(next.c_str(), &info) != 0) {
      steps.push_back({at, part});
      return steps;
    }
    if (S_ISLNK(info.st_mode) && ++links <= kMostLinks) {
      steps.push_back({at, part});
      std::string target(PATH_MAX, '\0');
      const ssize_t length = ::readlink(next.c_str(), target.data(), target.size());
      if (length <= 0) return steps;
      target.resize(static_cast<size_t>(length));
      if (target.starts_with('/')) at = "/";
      auto through = split_path(target);
      parts.insert(parts.begin(), through.begin(), through.end());
      continue;
    }
    if (parts.empty() || !S_ISDIR(info.st_mode)) {
      steps.push_back({at, part});
      return steps;
    }
    at = next;
  }
  return steps;
}

using Fingerprint = std::optional<std::tuple<dev_t, ino_t, off_t, int64_t, int64_t>>;

Fingerprint fingerprint(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  const auto nanos = [](const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return std::tuple{info.st_dev, info.st_ino, info.st_size, nanos(info.st_mtim), nanos(info.st_ctim)};
}

class RealWatch final : public Files::Watch, public std::enable_shared_from_this<RealWatch> {
 public:
  RealWatch(RealLoop& loop, std::string path, std::function<void()> changed)
      : loop_(loop),
        path_(std::move(path)),
        changed_(std::move(changed)),
        descriptor_(loop.asio()),
        settle_(loop, [this] { report(); }),
        poll_(loop, [this] { look(); }) {}

  void start() {
    const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) return start_polling();
    descriptor_.assign(fd);
    arm();
    if (descriptor_.is_open()) listen();
  }

  void stop() {
    stopped_ = true;
    settle_.cancel();
    settle_.unlink();
    poll_.cancel();
    poll_.unlink();
    if (descriptor_.is_open()) descriptor_.close();
  }

 private:
  void report() {
    // The callback may destroy the handle.
    const auto alive = shared_from_this();
    changed_();
  }

  void listen() {
    descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](const boost::system::error_code& error) {
                             if (error || self->stopped_) return;
                             self->drain();
                             if (self->descriptor_.is_open()) self->listen();
                           });
  }

  void drain() {
    alignas(inotify_event) char buffer[16 * 1024];
    bool relevant = false;
    for (;;) {
      const ssize_t length = ::read(descriptor_.native_handle(), buffer, sizeof buffer);
      if (length <= 0) break;
      for (ssize_t at = 0; at < length;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        relevant = relevant || concerns_us(*event);
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    if (!relevant) return;
    arm();
    if (!settle_.pending()) settle_.set(loop_.now() + kSettle);
  }

  bool concerns_us(const inotify_event& event) const {
    if (event.mask & IN_Q_OVERFLOW) return true;
    const auto it = names_.find(event.wd);
    if (it == names_.end()) return false;
    if (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) return true;
    return event.len > 0 && it->second.contains(std::string(event.name));
  }

  // Watches the folders on the way. The way may change while we look, so look until it stays the same.
  void arm() {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const std::vector<Step> way = way_to(path_);
      std::map<int, std::set<std::string>> names;
      for (const Step& step : way) {
        constexpr uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_MODIFY |
                                     IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
        const int wd = ::inotify_add_watch(descriptor_.native_handle(), step.folder.c_str(), kEvents);
        if (wd < 0 && errno == ENOENT) continue;
        if (wd < 0) return start_polling();
        names[wd].insert(step.name);
      }
      for (const auto& [wd, unused] : names_) {
        if (!names.contains(wd)) ::inotify_rm_watch(descriptor_.native_handle(), wd);
      }
      names_ = std::move(names);
      if (!names_.empty() && way == way_to(path_)) return;
    }
    // Nobody can follow this by events alone.
    start_polling();
  }

  // Machines with many containers run out of inotify instances and watches; a late reload beats none.
  void start_polling() {
    if (descriptor_.is_open()) descriptor_.close();
    names_.clear();
    last_seen_ = fingerprint(path_);
    poll_.set(loop_.now() + kPoll);
  }

  void look() {
    const Fingerprint now = fingerprint(path_);
    poll_.set(loop_.now() + kPoll);
    if (now == last_seen_) return;
    last_seen_ = now;
    report();
  }

  RealLoop& loop_;
  std::string path_;
  std::function<void()> changed_;
  boost::asio::posix::stream_descriptor descriptor_;
  std::map<int, std::set<std::string>> names_;
  Fingerprint last_seen_;
  Alarm settle_;
  Alarm poll_;
  bool stopped_ = false;
};

// What the caller holds: the watch itself may live a moment longer, until Asio has dropped its handler.
class RealWatchHandle final : public Files::Watch {
 public:
  explicit RealWatchHandle(std::shared_ptr<RealWatch> watch) : watch_(std::move(watch)) {}
  ~RealWatchHandle() override { watch_->stop(); }

 private:
  std::shared_ptr<RealWatch> watch_;
};

}  // namespace

Result<std::string> RealFiles::read(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return cannot_read(path, std::strerror(errno));
  std::string content;
  struct stat info{};
  if (::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode)) {
    content.reserve(std::min(static_cast<size_t>(info.st_size) + 1, kMaxSize));
  }
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t length = ::read(file.get(), buffer, sizeof buffer);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return cannot_read(path, std::strerror(errno));
    if (length == 0) return content;
    content.append(buffer, static_cast<size_t>(length));
    if (content.size() > kMaxSize) return cannot_read(path, "it is larger than 16 MiB");
  }
}

std::unique_ptr<Files::Watch> RealFiles::watch(const std::string& path, std::function<void()> changed) {
  auto watch = std::make_shared<RealWatch>(loop_, path, std::move(changed));
  watch->start();
  return std::make_unique<RealWatchHandle>(std::move(watch));
}

struct MemoryFiles::Watching final : Files::Watch {
  struct Notice final : Runnable {
    explicit Notice(Watching& owner) : watch(owner) {}
    void run() override {
      // The callback may destroy the watch, and this with it.
      const auto call = watch.changed;
      call();
    }
    Watching& watch;
  };

  Watching(MemoryFiles& owner, std::string of, std::function<void()> call)
      : files(owner), path(std::move(of)), changed(std::move(call)), notice(*this) {
    files.watching_.insert(this);
  }
  ~Watching() override { files.watching_.erase(this); }

  MemoryFiles& files;
  std::string path;
  std::function<void()> changed;
  Notice notice;
};

Result<std::string> MemoryFiles::read(const std::string& path) {
  const auto it = contents_.find(path);
  if (it == contents_.end()) return cannot_read(path, std::strerror(ENOENT));
  return it->second;
}

std::unique_ptr<Files::Watch> MemoryFiles::watch(const std::string& path, std::function<void()> changed) {
  return std::make_unique<Watching>(*this, path, std::move(changed));
}

void MemoryFiles::write(const std::string& path, std::string content) {
  contents_[path] = std::move(content);
  notify(path);
}

void MemoryFiles::remove(const std::string& path) {
  if (contents_.erase(path) > 0) notify(path);
}

void MemoryFiles::notify(const std::string& path) {
  for (Watching* watching : watching_) {
    if (watching->path == path && !watching->notice.linked()) loop_.schedule(watching->notice);
  }
}

}  // namespace careen::io
