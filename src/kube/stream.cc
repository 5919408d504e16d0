#include "kube/stream.h"

#include <cstdlib>
#include <cstring>
#include <optional>

#include "kube/raw_object.h"

namespace careen::kube {

namespace {

using raw::Key;
using raw::value;

// simdjson reads whole blocks: this much behind a text must be ours.
constexpr size_t kSlack = simdjson::SIMDJSON_PADDING;
// What a quiet watch keeps; most events are smaller.
constexpr size_t kModest = size_t{64} << 10;
// No object is nearly as large; whatever sends this is no API server.
constexpr size_t kLongestLine = size_t{64} << 20;

std::optional<EventType> event_type(std::string_view text) {
  if (text == "ADDED") return EventType::added;
  if (text == "MODIFIED") return EventType::modified;
  if (text == "DELETED") return EventType::deleted;
  if (text == "BOOKMARK") return EventType::bookmark;
  if (text == "ERROR") return EventType::error;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(EventType type) {
  switch (type) {
    case EventType::added:
      return "added";
    case EventType::modified:
      return "modified";
    case EventType::deleted:
      return "deleted";
    case EventType::bookmark:
      return "bookmark";
    case EventType::error:
      return "error";
  }
  std::abort();
}

io::Result<Page> read_page(std::string& body, const std::function<io::Result<bool>(RawObject&)>& visit) {
  return raw::guarded("a list", [&]() -> io::Result<Page> {
    body.reserve(body.size() + kSlack);
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document = parser.iterate(body.data(), body.size(), body.capacity());
    Page page;
    std::string_view version;
    const auto read_metadata = [&](Key key, value& field) {
      if (key == "resourceVersion") {
        version = raw::text(field).value_or(std::string_view{});
      } else if (key == "continue") {
        page.continue_token = raw::text(field).value_or(std::string_view{});
      }
    };
    simdjson::ondemand::object list = document.get_object();
    for (auto field : list) {
      const Key key = field.key();
      value v = field.value();
      if (key == "metadata") raw::each_field(v, read_metadata);
      if (key != "items") continue;
      auto items = raw::if_type(v.get_array());
      if (!items) continue;
      for (auto item : *items) {
        RawObject object(item.get_object());
        if (auto taken = visit(object); !taken) return tl::make_unexpected(taken.error());
        ++page.items;
      }
    }
    const auto number = raw::version(version);
    if (!number || *number == 0) return io::fail(io::ErrorKind::protocol, "a list without a resource version");
    page.version = *number;
    return page;
  });
}

struct WatchDecoder::Parser {
  simdjson::ondemand::parser json;
};

WatchDecoder::WatchDecoder() : parser_(std::make_unique<Parser>()) {}
WatchDecoder::~WatchDecoder() = default;

io::Result<bool> WatchDecoder::drain(const Visitor& visit) {
  buffer_.reserve(buffer_.size() + kSlack);
  size_t begin = 0;
  io::Result<bool> result = true;
  while (result && *result) {
    const char* start = buffer_.data() + searched_;
    const void* newline = std::memchr(start, '\n', buffer_.size() - searched_);
    if (!newline) {
      searched_ = buffer_.size();
      if (searched_ - begin > kLongestLine) result = io::fail(io::ErrorKind::protocol, "a watch event without an end");
      break;
    }
    const size_t end = searched_ + static_cast<size_t>(static_cast<const char*>(newline) - start);
    if (end > begin) result = read_line(begin, end - begin, visit);
    begin = searched_ = end + 1;
  }
  buffer_.erase(0, begin);
  searched_ -= begin;
  return result;
}

io::Result<bool> WatchDecoder::read_line(size_t begin, size_t length, const Visitor& visit) {
  return raw::guarded("a watch event", [&]() -> io::Result<bool> {
    // The next event's bytes, or the slack, lie behind the line.
    simdjson::ondemand::document document =
        parser_->json.iterate(buffer_.data() + begin, length, buffer_.capacity() - begin);
    std::optional<EventType> type;
    // The type comes first from every server we know; if it does not, a second pass finds it known.
    for (int pass = 0; pass < 2; ++pass) {
      simdjson::ondemand::object event = document.get_object();
      for (auto field : event) {
        const Key key = field.key();
        value v = field.value();
        if (key == "type") {
          type = event_type(raw::text(v).value_or(std::string_view{}));
        } else if (key == "object" && type) {
          RawObject object(v.get_object());
          return visit(*type, object);
        }
      }
      document.rewind();
    }
    return io::fail(io::ErrorKind::protocol, "a watch event without a known type and an object");
  });
}

size_t WatchDecoder::capacity() const { return buffer_.capacity() + parser_->json.capacity(); }

void WatchDecoder::shrink() {
  if (buffer_.capacity() > kModest && buffer_.size() < kModest / 2) {
    std::string smaller;
    smaller.reserve(buffer_.size() + kSlack);
    smaller = buffer_;
    buffer_.swap(smaller);
  }
  if (parser_->json.capacity() > kModest) parser_ = std::make_unique<Parser>();
}

}  // namespace careen::kube
