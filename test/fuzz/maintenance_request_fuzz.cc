// MaintenanceRequests and MaintenanceSelectors out of any text: what is read is in bounds, a status reads back as it
// was written, and one decision names at most one write.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "controllers/requests/decide.h"
#include "controllers/requests/picture.h"
#include "controllers/requests/request.h"
#include "controllers/requests/selector.h"
#include "kube/atoms.h"
#include "kube/decode.h"
#include "kube/node.h"

namespace {

using namespace careen;
using requests::Request;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "maintenance request fuzz: %s\n", what);
  std::abort();
}

void expect_round_trip(const Request& request, const kube::Object& object) {
  kube::Object written = object;
  written.document.set({"status"}, requests::status_patch(request.status));
  expect(requests::parse_request(written).status == request.status, "writing changed the status");
}

void decide(const Request& request) {
  kube::AtomPool atoms;
  const requests::ControllerOptions options;
  kube::Node node;
  node.name = request.node;
  node.uid = "u";
  requests::World world(atoms, options);
  world.request = &request;
  world.ask = [](const limits::Asking& asking, limits::Desk::Detail) {
    expect(!asking.node.empty(), "a place is asked for no node");
    return limits::Desk::Answer{};
  };
  for (const kube::Node* one : {static_cast<const kube::Node*>(nullptr), static_cast<const kube::Node*>(&node)}) {
    world.node = one;
    requests::Memory memory;
    memory.uid = request.uid;
    memory.status = request.status;
    for (const io::Wall now : {io::Wall{}, io::Wall{std::chrono::years{56}}, io::Wall{std::chrono::years{200}}}) {
      requests::observe(world, memory, now);
      const requests::Decision decision = requests::decide(world, memory, now);
      expect(!decision.takes, "a place that was not given is taken");
      expect(decision.status.message.size() <= 1024, "a message without end");
      const auto* const end = decision.effect ? std::get_if<requests::End>(&*decision.effect) : nullptr;
      expect(!end || request.live(), "what is over is ended");
    }
  }
}

void take_request(const kube::Object& object) {
  const Request request = requests::parse_request(object);
  expect(request.node.size() <= 253 && request.client.size() <= 253, "a name without end");
  expect(request.status.conditions.size() <= 16, "conditions without end");
  expect(!request.before(request), "it came before itself");
  expect(requests::request_of(request.owner()) == request.name, "its owner is another");
  expect_round_trip(request, object);
  decide(request);
  const controllers::Job job = requests::job_of(object);
  expect(!job.state.empty() && !(job.given_up && job.holds_node()), "a job that is over holds its node");
}

void take_selector(const kube::Object& object) {
  const requests::Selector selector = requests::parse_selector(object);
  expect(selector.mistake.size() <= 1024, "a mistake without end");
  expect(selector.wants || selector.mistake.empty(), "a mistake in nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto object = kube::decode_object(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!object) return 0;
  take_request(*object);
  take_selector(*object);
  return 0;
}
