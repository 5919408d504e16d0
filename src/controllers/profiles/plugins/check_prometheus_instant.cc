#include <fmt/format.h>

#include <cmath>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/observation_topic.h"
#include "controllers/profiles/plugins/plugins.h"
#include "observe/number_expression.h"
#include "observe/prometheus_observations.h"

namespace careen::profiles {

namespace {

using observe::ObservationKind;

class PrometheusInstant final : public Check {
 public:
  PrometheusInstant(observe::PrometheusQuery source, std::string shown_url, std::string shown_query,
                    std::string shown_expression, observe::NumberExpression expression)
      : source_(std::move(source)),
        shown_url_(std::move(shown_url)),
        shown_query_(std::move(shown_query)),
        shown_expression_(std::move(shown_expression)),
        topic_name_(observation_topic(source_)),
        expression_(std::move(expression)) {}
  std::string_view type() const override { return "prometheusInstant"; }

  CheckResult run(const CheckContext& context) const override {
    const auto state = context.facts.observations.state(source_, context.now);
    CheckResult result;
    // A value that has not arrived yet is a place that no node can take; the nodes that wait get it in turn.
    const bool arrived = state.kind != ObservationKind::pending;
    result.budget.emplace(budget::ObservedValue{source_}, budget::Use{.used = arrived ? 0 : 1, .max = 1});
    if (context.explain) result.info = {{"url", shown_url_}, {"query", shown_query_}, {"expr", shown_expression_}};
    if (state.kind == ObservationKind::pending) {
      result.pending = true;
      result.reason = state.why;
      return result;
    }
    result.topics.push_back(context.facts.topics.of(topic_name_));
    if (state.kind == ObservationKind::failed) {
      result.error = state.observation->error;
      return result;
    }
    result.observed = source_;
    const observe::PrometheusValue& observed = *state.observation->value;
    const double value = observed.number;
    const auto passed = expression_.evaluate(value);
    if (!passed) {
      result.error =
          fmt::format("\"{}\" cannot be computed for the value {}: {}", shown_expression_, value, passed.error());
      return result;
    }
    result.passed = *passed;
    if (!context.explain) return result;
    result.reason = fmt::format("the value is {}, so {} is {}", value, shown_expression_, *passed);
    result.info.emplace_back("value", value);
    if (!observed.warnings.empty()) result.info.emplace_back("warns", observed.warnings);
    return result;
  }

 private:
  observe::PrometheusQuery source_;
  std::string shown_url_;
  std::string shown_query_;
  std::string shown_expression_;
  std::string topic_name_;
  observe::NumberExpression expression_;
};

std::unique_ptr<Check> make_prometheus_instant_check(config::ConfigReader& config) {
  observe::PrometheusQuery source{config.string("url", config::Required::yes),
                                  config.string("query", config::Required::no)};
  const std::string text = config.string("expr", config::Required::yes);
  if (text.empty()) return nullptr;
  auto expression = observe::NumberExpression::compile(text);
  if (!expression) {
    config.error_within("expr", expression.error().offset, expression.error().message);
    return nullptr;
  }
  return std::make_unique<PrometheusInstant>(std::move(source), config.shown("url"), config.shown("query"),
                                             config.shown("expr"), std::move(*expression));
}

}  // namespace

Plugin<Check> prometheus_instant_check() {
  return {make_prometheus_instant_check,
          {"prometheusInstant",
           "Passes if an expression holds for the value of a Prometheus query; each value lets one node pass",
           {
               {.name = "url", .text = "Where Prometheus is", .required = true},
               {.name = "query", .text = "A query that yields exactly one sample"},
               {.name = "expr", .text = "An expression over the number \"value\"", .required = true},
           },
           R"(- name: storage_is_healthy
  type: prometheusInstant
  config:
    url: http://prometheus.monitoring:9090
    query: sum(ceph_health_status)
    expr: value < 1
)"}};
}

}  // namespace careen::profiles
