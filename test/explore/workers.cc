#include "workers.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace careen::explore {

namespace {

constexpr uint64_t kNone = UINT64_MAX;
constexpr auto kTellEvery = std::chrono::seconds{10};

// What all workers see.
struct Board {
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> failed{kNone};

  void fail(uint64_t piece) {
    uint64_t known = failed;
    while (piece < known && !failed.compare_exchange_weak(known, piece)) continue;
  }
};

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(to, text.data(), text.size());
    if (written < 0) give_up("write");
    text.remove_prefix(static_cast<size_t>(written));
  }
}

class Worker {
 public:
  Worker(Board& board, uint64_t count, const Work& work) {
    int ends[2];
    if (pipe(ends) != 0) give_up("pipe");
    pid_ = fork();
    if (pid_ < 0) give_up("fork");
    if (pid_ == 0) {
      close(ends[0]);
      // In the order of their numbers, so that all before the first that fails have been done.
      for (uint64_t piece; (piece = board.next++) < count && piece < board.failed;) {
        Tally tally;
        write_all(ends[1], "begins " + std::to_string(piece) + "\n");
        if (!work(piece, tally)) board.fail(piece);
        std::fflush(stdout);
        write_all(ends[1], tally.text() + "ends\n");
      }
      _exit(0);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    close(from_);
    waitpid(pid_, nullptr, 0);
  }

  int from() const { return from_; }
  bool ended() const { return ended_; }
  // The piece it has begun and not ended.
  std::optional<uint64_t> doing() const { return doing_; }

  void read_some(Tally& tally) {
    char buffer[65536];
    const ssize_t size = read(from_, buffer, sizeof buffer);
    if (size < 0) give_up("read");
    ended_ = size == 0;
    text_.append(buffer, static_cast<size_t>(size));
    constexpr std::string_view kBegins = "begins ", kEnds = "ends\n";
    for (;;) {
      if (text_.starts_with(kBegins) && text_.find('\n') != std::string::npos) {
        doing_ = std::stoull(text_.substr(kBegins.size()));
        text_.erase(0, text_.find('\n') + 1);
      }
      const size_t end = text_.find(kEnds);
      if (end == std::string::npos) return;
      tally.add(std::string_view(text_).substr(0, end));
      doing_.reset();
      text_.erase(0, end + kEnds.size());
    }
  }

 private:
  pid_t pid_ = 0;
  int from_ = 0;
  bool ended_ = false;
  std::optional<uint64_t> doing_;
  std::string text_;
};

// Until all have ended.
void listen(std::vector<std::unique_ptr<Worker>>& workers, Board& board, Tally& tally) {
  auto told = std::chrono::steady_clock::now();
  for (;;) {
    std::vector<pollfd> open;
    for (const auto& worker : workers) {
      if (!worker->ended()) open.push_back({worker->from(), POLLIN, 0});
    }
    if (open.empty()) return;
    if (poll(open.data(), open.size(), 1000) < 0) give_up("poll");
    for (const pollfd& ready : open) {
      if (ready.revents == 0) continue;
      for (const auto& worker : workers) {
        if (worker->from() != ready.fd || worker->ended()) continue;
        worker->read_some(tally);
        // It has died of its piece.
        if (worker->ended() && worker->doing()) board.fail(*worker->doing());
      }
    }
    if (std::chrono::steady_clock::now() - told < kTellEvery) continue;
    told = std::chrono::steady_clock::now();
    tally.tell();
  }
}

std::optional<uint64_t> first_failing_here(uint64_t count, Tally& tally, const Work& work) {
  auto told = std::chrono::steady_clock::now();
  for (uint64_t piece = 0; piece < count; ++piece) {
    if (!work(piece, tally)) return piece;
    if (std::chrono::steady_clock::now() - told < kTellEvery) continue;
    told = std::chrono::steady_clock::now();
    tally.tell();
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> first_failing(uint64_t count, int processes, Tally& tally, const Work& work) {
  if (processes <= 1) return first_failing_here(count, tally, work);
  void* shared = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) give_up("mmap");
  Board& board = *new (shared) Board;
  std::fflush(stdout);
  {
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < processes; ++i) workers.push_back(std::make_unique<Worker>(board, count, work));
    listen(workers, board, tally);
  }
  const uint64_t failed = board.failed;
  munmap(shared, sizeof(Board));
  return failed == kNone ? std::nullopt : std::optional(failed);
}

}  // namespace careen::explore
