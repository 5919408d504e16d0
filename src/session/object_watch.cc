#include "session/object_watch.h"

#include "kube/decode.h"

namespace careen::app {

io::Task<kube::Result<std::vector<kube::Object>>> list_objects(KubeSession& session, kube::Resource resource,
                                                               std::string label_selector) {
  std::vector<kube::Object> all;
  const std::string query = label_selector.empty() ? "" : "labelSelector=" + url_text(label_selector);
  const auto read = co_await read_list(session, resource, query, [&](kube::RawObject& raw) {
    auto object = kube::decode_object(raw);
    if (object) all.push_back(*object);
    return object.map([](const kube::Object&) { return true; });
  });
  if (!read) co_return tl::make_unexpected(read.error());
  co_return all;
}

ObjectWatch::ObjectWatch(KubeSession& session, kube::ReflectorOptions what, io::Signal& changed)
    : objects_(session.watch_parts(), std::move(what), [](kube::RawObject& raw) { return kube::decode_object(raw); }) {
  changes_ = objects_.store().subscribe([&changed](const kube::Object*, const kube::Object*) { changed.notify(); });
  objects_.on_synced([&changed] { changed.notify(); });
  objects_.start();
}

}  // namespace careen::app
