// Whatever a server sends as a watch stream or a list page: it is read the same however the stream is cut, a cache
// that takes it stays whole, and nothing is left behind.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kube/cache.h"
#include "kube/sink.h"
#include "kube/stream.h"

namespace {

using namespace careen;
using namespace careen::kube;

void must(bool holds) {
  if (!holds) std::abort();
}

// What a stream says, up to the first line that cannot be read.
std::vector<std::string> read_stream(std::string_view text, size_t piece) {
  WatchDecoder decoder;
  std::vector<std::string> said;
  const auto visit = [&](EventType type, RawObject& raw) -> io::Result<bool> {
    auto object = decode_text(raw);
    if (!object) return tl::make_unexpected(object.error());
    said.push_back(std::string(to_string(type)) + " " + *object);
    return true;
  };
  for (size_t at = 0; at < text.size(); at += piece) {
    decoder.buffer() += text.substr(at, piece);
    if (const auto ok = decoder.drain(visit); !ok) {
      must(!ok.error().message.empty());
      said.push_back("unreadable");
      break;
    }
    if (at % 3 == 0) decoder.shrink();
  }
  return said;
}

void take_stream(std::string_view text, Sink& sink) {
  WatchDecoder decoder;
  decoder.buffer() = text;
  const auto visit = [&](EventType type, RawObject& raw) -> io::Result<bool> {
    if (type == EventType::error) return true;
    auto version = type == EventType::bookmark ? decode_version(raw) : sink.event(type, raw);
    if (type == EventType::bookmark && version) sink.bookmark(*version);
    // One unreadable object does not end this test: what follows may be more interesting.
    must(version || !version.error().message.empty());
    return true;
  };
  while (!decoder.drain(visit)) {
  }
}

void take_page(std::string_view text, Sink& sink) {
  std::string body(text);
  sink.begin_list();
  const auto page = read_page(body, [&](RawObject& raw) { return sink.listed(raw); });
  if (page) return sink.end_list(page->version);
  must(!page.error().message.empty());
  sink.drop_list();
}

template <class T>
void take(std::string_view text, AtomPool& atoms) {
  Store<T> store;
  const auto sink = make_sink(store, atoms);
  take_stream(text, *sink);
  take_page(text, *sink);
  take_stream(text, *sink);
  store.for_each([&](const T& object) { must(store.find(object.key()) == &object); });
}

void take_objects(std::string_view text) {
  Store<Object> store;
  const auto sink = make_sink(store, [](RawObject& raw) { return decode_object(raw); });
  take_stream(text, *sink);
  take_page(text, *sink);
  store.for_each([&](const Object& object) { must(decode_object(object.text()).has_value()); });
}

void take_pods(std::string_view text, AtomPool& atoms) {
  PodStore store(atoms);
  const auto sink = make_sink(store);
  take_stream(text, *sink);
  take_page(text, *sink);
  take_stream(text, *sink);
  size_t count = 0;
  store.for_each([&](const Pod& pod) {
    const auto found = store.find(pod.ns, pod.name);
    must(found && found->uid == pod.uid && found->version == pod.version);
    pod.for_each_label([](std::string_view, std::string_view) {});
    bool on_node = pod.node.empty();
    store.for_each_on(pod.node, [&](const Pod& other) { on_node = on_node || other.name == pod.name; });
    must(on_node);
    ++count;
  });
  must(count == store.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = read_stream(text, size + 1);
  must(read_stream(text, 1 + size % 97) == whole);
  if (size < 2000) must(read_stream(text, 1) == whole);
  AtomPool atoms;
  take<Node>(text, atoms);
  take<Lease>(text, atoms);
  take<Namespace>(text, atoms);
  take_objects(text);
  take_pods(text, atoms);
  must(atoms.size() == 0);
  return 0;
}
