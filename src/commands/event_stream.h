// Server-sent events, read as they come in pieces of any size: the stream of the view API.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace careen::app {

class EventStreamDecoder {
 public:
  using OnEvent = std::function<void(std::string_view event, std::string_view data)>;
  explicit EventStreamDecoder(OnEvent on_event) : on_event_(std::move(on_event)) {}

  // Append what came here, then call drain().
  std::string& buffer() { return buffer_; }
  // Hands out all whole events; comments are skipped and half a line stays for later.
  void drain();

 private:
  void take(std::string_view line);

  OnEvent on_event_;
  std::string buffer_;
  std::string event_, data_;
  bool has_data_ = false;
};

}  // namespace careen::app
