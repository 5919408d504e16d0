// The two shapes in which the API server sends many objects: a list page and a watch stream. Both hand out their
// objects one by one, unread, straight from the buffer they came in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/result.h"
#include "kube/decode.h"

namespace careen::kube {

struct Page {
  uint64_t version = 0;        // of the whole list
  std::string continue_token;  // empty on the last page
  size_t items = 0;
};

// Calls visit() for each object of a page; its first error ends the reading. `body` may be changed to make room
// behind the text.
io::Result<Page> read_page(std::string& body, const std::function<io::Result<bool>(RawObject&)>& visit);

enum class EventType { added, modified, deleted, bookmark, error };
std::string_view to_string(EventType type);

// Cuts a watch stream into events, at whatever places its chunks are cut.
class WatchDecoder {
 public:
  WatchDecoder();
  ~WatchDecoder();
  WatchDecoder(const WatchDecoder&) = delete;
  WatchDecoder& operator=(const WatchDecoder&) = delete;

  // Append what came here, then call drain().
  std::string& buffer() { return buffer_; }

  // For each whole line: true to go on, false to stop (the line is taken all the same).
  using Visitor = std::function<io::Result<bool>(EventType type, RawObject& object)>;
  // Hands out all whole lines; half a line stays for later. The first error (an unreadable line, or the visitor's)
  // ends it. True unless the visitor stopped.
  io::Result<bool> drain(const Visitor& visit);

  // Gives memory back that one large event took. Only between drains.
  void shrink();
  size_t capacity() const;

 private:
  struct Parser;
  io::Result<bool> read_line(size_t begin, size_t length, const Visitor& visit);
  std::string buffer_;
  size_t searched_ = 0;  // no newline before here
  std::unique_ptr<Parser> parser_;
};

}  // namespace careen::kube
