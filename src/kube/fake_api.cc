#include "kube/fake_api.h"

#include <algorithm>
#include <utility>

namespace careen::kube {

namespace {

std::string_view without_query(std::string_view path) { return path.substr(0, path.find('?')); }

std::string_view last_segment(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string collection_of(std::string_view path) { return std::string(path.substr(0, path.rfind('/'))); }

bool is_collection(std::string_view path) {
  constexpr std::string_view kPlurals[] = {"nodes", "pods", "leases", "events", "namespaces"};
  return std::find(std::begin(kPlurals), std::end(kPlurals), last_segment(path)) != std::end(kPlurals);
}

std::string parameter(std::string_view path, std::string_view key) {
  const size_t query = path.find('?');
  if (query == std::string_view::npos) return {};
  std::string_view rest = path.substr(query + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.substr(0, pair.find('=')) == key) return std::string(pair.substr(std::min(pair.size(), key.size() + 1)));
  }
  return {};
}

std::string text_at(JsonView object, std::string_view key) { return std::string(object[key].text().value_or("")); }

// RFC 7386.
Json merged(JsonView target, JsonView patch) {
  if (!patch.is_object()) return Json(patch);
  Json out = target.is_object() ? Json(target) : Json::object();
  patch.for_each_member([&](std::string_view key, JsonView value) {
    if (value.is_null()) {
      out.remove({key});
    } else {
      out.set({key}, merged(out[key], value));
    }
  });
  return out;
}

Response ok(JsonView object, int status = 200) { return {status, object.dump(), std::nullopt}; }

Response not_found(std::string_view path) {
  return FakeApi::refusal(404, "NotFound", std::string(last_segment(path)) + " not found");
}

Response conflict(std::string_view path) {
  return FakeApi::refusal(409, "Conflict",
                          "Operation cannot be fulfilled on \"" + std::string(last_segment(path)) +
                              "\": the object has been modified; please apply your changes to the latest version and "
                              "try again");
}

}  // namespace

// A request on its way. The client may have gone; then `reply` is null.
struct FakeApi::Call {
  Request request;
  Treatment treatment;
  io::OneShot<io::Result<Response>>* reply = nullptr;
};

struct FakeApi::Feed {
  explicit Feed(io::Loop& client) : changed(client) {}
  std::string collection;
  size_t next = 0;  // in the log
  std::string text;
  bool closed = false;
  io::Signal changed;
};

class FakeApi::WatchStream final : public Stream {
 public:
  explicit WatchStream(std::shared_ptr<Feed> feed) : feed_(std::move(feed)) {}
  io::Task<io::Result<bool>> read(std::string& into) override {
    for (;;) {
      if (!feed_->text.empty()) {
        into += std::exchange(feed_->text, {});
        co_return true;
      }
      if (feed_->closed) co_return false;
      co_await feed_->changed.wait();
    }
  }

 private:
  std::shared_ptr<Feed> feed_;
};

class FakeApi::Connection final : public Transport {
 public:
  Connection(FakeApi& api, io::Loop& client) : api_(api), loop_(client) {}
  std::string_view host() const override { return "fake:443"; }

  io::Task<io::Result<Response>> send(Request request) override {
    const io::Duration timeout = request.timeout;
    auto call = std::make_shared<Call>();
    if (const auto chosen = api_.treat) call->treatment = chosen(request);
    call->request = std::move(request);
    io::OneShot<io::Result<Response>> reply(loop_);
    // The call outlives this frame; it must not find the reply after the frame has gone.
    struct Hangup {
      Call& call;
      ~Hangup() { call.reply = nullptr; }
    };
    const Hangup hangup{*call};
    call->reply = &reply;
    api_.scope_.spawn(api_.serve(call));
    auto response = co_await io::with_timeout(loop_, timeout, wait_for(reply));
    if (!response) co_return io::fail(io::ErrorKind::timeout, "no answer in time");
    co_return std::move(*response);
  }

  io::Task<io::Result<StreamResponse>> open(Request request) override {
    StreamResponse opened;
    auto feed = std::make_shared<Feed>(loop_);
    feed->collection = std::string(without_query(request.path));
    const std::string from = parameter(request.path, "resourceVersion");
    const uint64_t seen = from.empty() ? 0 : std::stoull(from);
    while (feed->next < api_.log_.size() && api_.log_[feed->next].version <= seen) ++feed->next;
    api_.feeds_.push_back(feed);
    api_.pump(*feed);
    opened.head.status = 200;
    opened.stream = std::make_unique<WatchStream>(std::move(feed));
    co_return opened;
  }

 private:
  static io::Task<io::Result<Response>> wait_for(io::OneShot<io::Result<Response>>& reply) {
    co_return co_await reply.take();
  }

  FakeApi& api_;
  io::Loop& loop_;
};

FakeApi::FakeApi(io::Loop& loop) : loop_(loop), scope_(loop) {}
FakeApi::~FakeApi() = default;

std::unique_ptr<Transport> FakeApi::connect(io::Loop& client) { return std::make_unique<Connection>(*this, client); }

io::Task<void> FakeApi::serve(std::shared_ptr<Call> call) {
  const Treatment& treatment = call->treatment;
  if (treatment.lost) co_return;
  if (treatment.before > io::Duration{0}) co_await io::sleep_for(loop_, treatment.before);
  if (treatment.held) {
    held_.push_back(std::move(call));
    co_return;
  }
  Response response = treatment.refuse ? *treatment.refuse : answer(call->request);
  if (treatment.mask) response = *treatment.mask;
  if (treatment.unanswered) co_return;
  if (treatment.after > io::Duration{0}) co_await io::sleep_for(loop_, treatment.after);
  if (call->reply) call->reply->set(std::move(response));
}

void FakeApi::release_held() {
  for (const auto& call : std::exchange(held_, {})) {
    Response response = answer(call->request);
    if (call->reply && !call->treatment.unanswered) call->reply->set(std::move(response));
  }
}

Response FakeApi::refusal(int code, std::string_view reason, std::string_view message) {
  return {code,
          Json::object({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", Json::object()},
                        {"status", "Failure"},
                        {"message", message},
                        {"reason", reason},
                        {"code", code}})
              .dump(),
          std::nullopt};
}

Response FakeApi::answer(const Request& request) {
  const std::string path(without_query(request.path));
  const bool collection = is_collection(path);
  const std::string_view plural =
      last_segment(collection ? std::string_view(path) : std::string_view(path).substr(0, path.rfind('/')));
  const std::string what = request.method + " " + std::string(plural);
  ++counts_[what];
  const uint64_t before = version_;
  const Response response = [&]() -> Response {
    if (collection) {
      if (request.method == "GET") return list(path);
      if (request.method == "POST") return create(path, request.body);
      return refusal(405, "MethodNotAllowed");
    }
    if (request.method == "DELETE") return remove(path, request.body);
    const auto known = objects_.find(path);
    if (known == objects_.end()) return not_found(path);
    if (request.method == "GET") return ok(known->second.view());
    const auto body = Json::parse(request.body);
    if (!body) return refusal(400, "BadRequest", body.error().message);
    const std::string expected = text_at((*body)["metadata"], "resourceVersion");
    if (request.method == "PUT") return change(path, *body, expected);
    if (request.method != "PATCH") return refusal(405, "MethodNotAllowed");
    if (request.content_type != "application/merge-patch+json") return refusal(415, "UnsupportedMediaType");
    return change(path, merged(known->second.view(), body->view()), expected);
  }();
  if (version_ != before) ++counts_[what + " changed"];
  return response;
}

Response FakeApi::list(std::string_view collection) {
  Json items = Json::array();
  for (const auto& [path, object] : objects_) {
    if (path.size() > collection.size() && path.starts_with(collection) && path[collection.size()] == '/') {
      items.push_back(object);
    }
  }
  return ok(Json::object({{"kind", "List"},
                          {"apiVersion", "v1"},
                          {"metadata", Json::object({{"resourceVersion", std::to_string(version_)}})},
                          {"items", std::move(items)}})
                .view());
}

Response FakeApi::create(std::string_view collection, const std::string& body) {
  auto object = Json::parse(body);
  if (!object) return refusal(400, "BadRequest", object.error().message);
  std::string name = text_at((*object)["metadata"], "name");
  if (name.empty()) name = text_at((*object)["metadata"], "generateName") + std::to_string(next_uid_);
  const std::string path = std::string(collection) + "/" + name;
  if (objects_.contains(path)) return refusal(409, "AlreadyExists", "\"" + name + "\" already exists");
  object->set({"metadata", "name"}, name);
  object->set({"metadata", "uid"}, "uid-" + std::to_string(next_uid_++));
  store(path, std::move(*object), "ADDED");
  return ok(objects_.find(path)->second.view(), 201);
}

// `wanted` is the whole object as it shall be; its version is not looked at.
Response FakeApi::change(const std::string& path, Json wanted, const std::string& expected_version) {
  const Json& known = objects_.find(path)->second;
  const std::string version = text_at(known["metadata"], "resourceVersion");
  const std::string uid = text_at(known["metadata"], "uid");
  if (!expected_version.empty() && expected_version != version) return conflict(path);
  if (const std::string wanted_uid = text_at(wanted["metadata"], "uid"); !wanted_uid.empty() && wanted_uid != uid) {
    return conflict(path);
  }
  wanted.set({"metadata", "uid"}, uid);
  wanted.set({"metadata", "resourceVersion"}, version);
  if (!(wanted == known)) store(path, std::move(wanted), "MODIFIED");
  return ok(objects_.find(path)->second.view());
}

Response FakeApi::remove(const std::string& path, const std::string& body) {
  const auto known = objects_.find(path);
  if (known == objects_.end()) return not_found(path);
  if (const auto options = Json::parse(body)) {
    for (const char* field : {"uid", "resourceVersion"}) {
      const std::string expected = text_at((*options)["preconditions"], field);
      if (!expected.empty() && expected != text_at(known->second["metadata"], field)) return conflict(path);
    }
  }
  erase(path);
  return ok(Json::object({{"kind", "Status"}, {"status", "Success"}}).view());
}

void FakeApi::store(const std::string& path, Json object, std::string_view event) {
  object.set({"metadata", "resourceVersion"}, std::to_string(++version_));
  Json& stored = objects_[path] = std::move(object);
  announce(path, event, stored.view());
  if (changed) changed(path, stored.view());
}

void FakeApi::put(std::string_view path, Json object) {
  const auto known = objects_.find(path);
  const std::string uid =
      known == objects_.end() ? "uid-" + std::to_string(next_uid_++) : text_at(known->second["metadata"], "uid");
  object.set({"metadata", "name"}, last_segment(path)).set({"metadata", "uid"}, uid);
  store(std::string(path), std::move(object), known == objects_.end() ? "ADDED" : "MODIFIED");
}

void FakeApi::merge(std::string_view path, const Json& patch) {
  const auto known = objects_.find(path);
  if (known != objects_.end()) change(std::string(path), merged(known->second.view(), patch.view()), {});
}

void FakeApi::erase(std::string_view path) {
  const auto known = objects_.find(path);
  if (known == objects_.end()) return;
  Json gone = std::move(known->second);
  objects_.erase(known);
  gone.set({"metadata", "resourceVersion"}, std::to_string(++version_));
  announce(std::string(path), "DELETED", gone.view());
  if (changed) changed(path, JsonView());
}

JsonView FakeApi::object(std::string_view path) const {
  const auto known = objects_.find(path);
  return known == objects_.end() ? JsonView() : known->second.view();
}

int FakeApi::count(std::string_view what) const {
  const auto it = counts_.find(what);
  return it == counts_.end() ? 0 : it->second;
}

void FakeApi::announce(const std::string& path, std::string_view event, JsonView object) {
  log_.push_back({version_, loop_.now(), collection_of(path),
                  Json::object({{"type", event}, {"object", Json(object)}}).dump() + "\n"});
  if (watch_delay_ > io::Duration{0}) {
    scope_.spawn(pump_later());
  } else {
    pump_all();
  }
}

io::Task<void> FakeApi::pump_later() {
  co_await io::sleep_for(loop_, watch_delay_);
  pump_all();
}

void FakeApi::pump_all() {
  std::erase_if(feeds_, [](const auto& feed) { return feed.expired(); });
  for (const auto& weak : feeds_) {
    if (const auto feed = weak.lock()) pump(*feed);
  }
}

void FakeApi::pump(Feed& feed) {
  if (frozen_ || feed.closed) return;
  const size_t begun = feed.text.size();
  while (feed.next < log_.size() && log_[feed.next].at + watch_delay_ <= loop_.now()) {
    const Event& event = log_[feed.next++];
    if (event.collection == feed.collection) feed.text += event.line;
  }
  if (feed.text.size() > begun) feed.changed.notify();
}

void FakeApi::freeze_watches(bool frozen) {
  frozen_ = frozen;
  if (!frozen) pump_all();
}

void FakeApi::break_watches() {
  for (const auto& weak : feeds_) {
    if (const auto feed = weak.lock()) {
      feed->closed = true;
      feed->changed.notify();
    }
  }
  feeds_.clear();
}

}  // namespace careen::kube
