#include "kube/disruption_budget.h"

#include <algorithm>

#include "kube/cache.h"
#include "kube/json.h"
#include "kube/pod_store.h"
#include "kube/raw_object.h"

namespace careen::kube {

namespace resources {
const Resource disruption_budgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true};
}

namespace {

using raw::Key;
using raw::value;

void read_count(value& v, int32_t& out) {
  if (auto number = raw::integer(v); number && *number == static_cast<int32_t>(*number)) {
    out = static_cast<int32_t>(*number);
  }
}

// One that cannot be read covers nothing: the API server says so itself when it is asked to evict.
void read_selector(value& v, LabelSelector& out) {
  const auto document = raw::if_type(v.get_object());
  if (!document) return;
  auto copy = *document;
  const auto json = Json::parse(std::string_view(copy.raw_json()));
  if (!json) return;
  if (auto selector = LabelSelector::from_json(json->view())) out = std::move(*selector);
}

void read_spec(value& v, DisruptionBudget& budget) {
  raw::each_field(v, [&](Key key, value& field) {
    if (key == "selector") {
      read_selector(field, budget.selector);
    } else if (key == "unhealthyPodEvictionPolicy") {
      budget.evict_unhealthy_always = raw::text(field) == "AlwaysAllow";
    }
  });
}

void read_status(value& v, DisruptionBudget& budget) {
  raw::each_field(v, [&](Key key, value& field) {
    if (key == "observedGeneration") {
      budget.observed_generation = raw::integer(field).value_or(0);
    } else if (key == "disruptionsAllowed") {
      read_count(field, budget.allowed);
    } else if (key == "currentHealthy") {
      read_count(field, budget.current_healthy);
    } else if (key == "desiredHealthy") {
      read_count(field, budget.desired_healthy);
    } else if (key == "expectedPods") {
      read_count(field, budget.expected_pods);
    } else if (key == "disruptedPods") {
      raw::each_text(field, [&](std::string_view name, std::string_view) { budget.disrupted_pods.emplace_back(name); });
      std::sort(budget.disrupted_pods.begin(), budget.disrupted_pods.end());
    }
  });
}

}  // namespace

bool DisruptionBudget::same_facts(const DisruptionBudget& other) const {
  return ns == other.ns && name == other.name && uid == other.uid && selector == other.selector &&
         generation == other.generation && observed_generation == other.observed_generation &&
         allowed == other.allowed && current_healthy == other.current_healthy &&
         desired_healthy == other.desired_healthy && expected_pods == other.expected_pods &&
         evict_unhealthy_always == other.evict_unhealthy_always && disrupted_pods == other.disrupted_pods;
}

io::Result<DisruptionBudget> decode_disruption_budget(RawObject& raw) {
  return raw::guarded("a disruption budget", [&]() -> io::Result<DisruptionBudget> {
    DisruptionBudget budget;
    // Without a selector it covers nothing.
    budget.selector = *LabelSelector::from_json(JsonView());
    raw::Meta meta;
    raw::each_field(raw.object, [&](Key key, value& field) {
      if (key == "metadata") {
        raw::each_meta_field(field, meta, [&](Key name, value& v) {
          if (name == "generation") budget.generation = raw::integer(v).value_or(0);
        });
      } else if (key == "spec") {
        read_spec(field, budget);
      } else if (key == "status") {
        read_status(field, budget);
      }
    });
    if (auto ok = raw::complete(meta); !ok) return tl::make_unexpected(ok.error());
    budget.ns = meta.ns;
    budget.name = meta.name;
    budget.uid = meta.uid;
    budget.version = meta.version;
    return budget;
  });
}

io::Result<DisruptionBudget> decode_disruption_budget(std::string_view json) {
  return raw::on_text("a disruption budget", json, [](RawObject& raw) { return decode_disruption_budget(raw); });
}

std::vector<const DisruptionBudget*> budgets_of(const Store<DisruptionBudget>& budgets, const Pod& pod) {
  std::vector<const DisruptionBudget*> out;
  const auto label = [&pod](std::string_view key) { return pod.label(key); };
  const std::string place = object_key(pod.ns, "");
  for (const DisruptionBudget* one = budgets.next(place); one && one->ns == pod.ns; one = budgets.next(one->key())) {
    if (one->selector.matches(label)) out.push_back(one);
  }
  return out;
}

}  // namespace careen::kube
