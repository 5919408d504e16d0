// Message templates out of any text: parsing fails only with a place inside of the text, rendering stays within its
// bounds, and what is rendered from the named fields of the node alone is what is rendered from the whole node.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kube/json.h"
#include "templates/template.h"

namespace {

using careen::kube::Json;
using careen::templates::NodeFields;
using careen::templates::Template;
using careen::templates::TemplateData;

constexpr std::string_view kNode = R"({"kind":"Node","apiVersion":"v1",
  "metadata":{"name":"n","uid":"u","labels":{"a":"1","b":"<x>"},"creationTimestamp":"2026-03-01T10:00:00Z",
    "finalizers":["f","g"]},
  "spec":{"providerID":"p","unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule"}]},
  "status":{"capacity":{"cpu":"4"},"addresses":[{"type":"InternalIP","address":"10.0.0.1"}],
    "nodeInfo":{"kubeletVersion":"v1.33.1"},"images":[{"names":["i"],"sizeBytes":5}]}})";

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "template fuzz: %s\n", what);
  std::abort();
}

// The node with nothing but the sections.
Json reduced(const Json& node, const NodeFields& fields) {
  Json copy = Json::object();
  for (const std::string& section : fields.sections) {
    const auto part = node.at(section);
    if (!part) continue;
    const size_t slash = section.find('/', 1);
    if (slash == std::string::npos) {
      copy.set({std::string_view(section).substr(1)}, Json(part));
    } else {
      copy.set({std::string_view(section).substr(1, slash - 1), std::string_view(section).substr(slash + 1)},
               Json(part));
    }
  }
  return copy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const Json kWhole = *Json::parse(kNode);
  const auto parsed = Template::parse(text);
  if (!parsed) {
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    expect(!parsed.error().message.empty(), "refused without a message");
    expect(parsed.error().line >= 1 && parsed.error().line <= lines, "an error lies outside of the text");
    expect(parsed.error().column >= 1, "an error has no column");
    return 0;
  }
  TemplateData values;
  values.state = "operational";
  values.profile = "p";
  values.last = "l";
  values.in_maintenance = true;
  values.node = kWhole.view();
  const auto whole = parsed->render(values);
  expect(!whole || whole->size() <= (size_t{1} << 20U), "the output is longer than allowed");
  if (parsed->fields().whole) return 0;
  const Json part = reduced(kWhole, parsed->fields());
  values.node = part.view();
  const auto again = parsed->render(values);
  expect(whole.has_value() == again.has_value(), "the named fields decide otherwise than the whole node");
  expect(!whole || *whole == *again, "the named fields render otherwise than the whole node");
  return 0;
}
