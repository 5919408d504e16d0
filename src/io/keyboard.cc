#include "io/keyboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>

#include "io/real_loop.h"

namespace careen::io {

namespace {

// Asio's handlers share it, so it outlives the handle until the last one has run.
class Input : public std::enable_shared_from_this<Input> {
 public:
  Input(RealLoop& loop, int descriptor, std::function<void(std::string_view)> typed)
      : stream_(loop.asio(), descriptor), typed_(std::move(typed)) {}

  void listen() {
    stream_.async_read_some(boost::asio::buffer(buffer_),
                            [self = shared_from_this()](const boost::system::error_code& error, size_t length) {
                              if (error || !self->typed_) return;
                              self->typed_({self->buffer_.data(), length});
                              self->listen();
                            });
  }
  void stop() {
    typed_ = nullptr;
    stream_.close();
  }

 private:
  boost::asio::posix::stream_descriptor stream_;
  std::function<void(std::string_view)> typed_;
  std::array<char, 64> buffer_{};
};

class Terminal final : public Keyboard {
 public:
  Terminal(std::shared_ptr<Input> input, const termios& before) : input_(std::move(input)), before_(before) {}
  ~Terminal() override {
    input_->stop();
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }

 private:
  std::shared_ptr<Input> input_;
  termios before_;
};

tl::unexpected<Error> no_keyboard() {
  return fail(ErrorKind::file, fmt::format("the terminal cannot be read: {}", std::strerror(errno)));
}

}  // namespace

Result<std::unique_ptr<Keyboard>> open_keyboard(RealLoop& loop, std::function<void(std::string_view)> typed) {
  termios before{};
  if (::tcgetattr(STDIN_FILENO, &before) != 0) return no_keyboard();
  // A description of its own: Asio makes it non-blocking, which a duplicate would share with the shell.
  const int descriptor = ::open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return no_keyboard();
  termios quiet = before;
  quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  // Suspended, we would leave the screen as it is.
  quiet.c_cc[VSUSP] = _POSIX_VDISABLE;
  quiet.c_cc[VMIN] = 1;
  quiet.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
  auto input = std::make_shared<Input>(loop, descriptor, std::move(typed));
  input->listen();
  return std::make_unique<Terminal>(std::move(input), before);
}

}  // namespace careen::io
