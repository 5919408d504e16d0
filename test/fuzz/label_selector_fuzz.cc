// Label selectors out of any text, as a query and as an object: what is refused is refused with a message, and what
// parses is the same selector after it was printed and parsed again.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kube/json.h"
#include "kube/label_selector.h"
#include "kube/names.h"

namespace {

using careen::kube::Json;
using careen::kube::LabelSelector;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "label selector fuzz: %s\n", what);
  std::abort();
}

bool matches(const LabelSelector& selector, const std::map<std::string, std::string, std::less<>>& labels) {
  return selector.matches([&](std::string_view key) -> std::optional<std::string_view> {
    const auto found = labels.find(key);
    if (found == labels.end()) return std::nullopt;
    return found->second;
  });
}

// An object says what it likes; only what the server would have taken has a text that means the same.
bool admissible(const LabelSelector& selector) {
  using namespace careen::kube;
  const auto& all = selector.requirements();
  return std::all_of(all.begin(), all.end(), [](const LabelSelector::Requirement& one) {
    return qualified_name_errors(one.key).empty() &&
           std::all_of(one.values.begin(), one.values.end(),
                       [](const std::string& value) { return label_value_errors(value).empty(); });
  });
}

void expect_same_after_printing(const LabelSelector& selector) {
  const std::string printed = selector.text();
  const auto again = LabelSelector::parse(printed);
  expect(again.has_value(), "the printed selector does not parse");
  expect(again->requirements() == selector.requirements(), "printing changed the selector");
  expect(again->text() == printed, "printing is not stable");
}

// A pod that has for each label what is asked for, and one that has none.
void expect_meaning(const LabelSelector& selector) {
  std::map<std::string, std::string, std::less<>> labels;
  bool positive = false;
  for (const auto& one : selector.requirements()) {
    labels[one.key] = one.values.empty() ? "" : one.values.back();
    using Operator = LabelSelector::Operator;
    positive = positive || (one.op != Operator::not_in && one.op != Operator::not_exists);
  }
  matches(selector, labels);
  if (selector.empty()) expect(matches(selector, labels) && matches(selector, {}), "an empty one does not match all");
  if (positive) expect(!matches(selector, {}), "a label is asked for, and a pod without labels matches");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto selector = LabelSelector::parse(text);
  if (!selector) {
    expect(!selector.error().message.empty(), "refused without a message");
  } else {
    expect(admissible(*selector), "a name was taken that the server refuses");
    expect_same_after_printing(*selector);
    expect_meaning(*selector);
  }

  const auto document = Json::parse(text);
  if (!document) return 0;
  const auto object = LabelSelector::from_json(document->view());
  if (!object) {
    expect(!object.error().message.empty(), "an object is refused without a message");
    return 0;
  }
  expect(object->empty() ? !document->view().is_null() : true, "null matches everything");
  if (document->view().is_null()) expect(!matches(*object, {}), "null matches something");
  expect_meaning(*object);
  if (admissible(*object)) expect_same_after_printing(*object);
  return 0;
}
