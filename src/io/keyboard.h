// Keys typed at the terminal, as they come: not echoed, and without waiting for the end of a line. Ctrl-C stays a
// signal.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "io/result.h"

namespace careen::io {

class RealLoop;

// Its owner hears the keys; destroying it gives the terminal back as it was.
class Keyboard {
 public:
  virtual ~Keyboard() = default;
};

// Calls `typed` from the loop with the bytes that came. An error when stdin is no terminal.
Result<std::unique_ptr<Keyboard>> open_keyboard(RealLoop& loop, std::function<void(std::string_view)> typed);

}  // namespace careen::io
