#include "commands/event_stream.h"

namespace careen::app {

void EventStreamDecoder::drain() {
  size_t begin = 0;
  for (size_t end; (end = buffer_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string_view line(buffer_.data() + begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take(line);
  }
  buffer_.erase(0, begin);
}

void EventStreamDecoder::take(std::string_view line) {
  if (line.empty()) {
    if (has_data_) on_event_(event_.empty() ? "message" : event_, data_);
    event_.clear();
    data_.clear();
    has_data_ = false;
    return;
  }
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_ = value;
  if (field != "data") return;
  if (has_data_) data_ += '\n';
  data_ += value;
  has_data_ = true;
}

}  // namespace careen::app
