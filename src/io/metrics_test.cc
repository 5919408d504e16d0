#include "io/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace careen::io {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MetricsTest, TheSameNameAndLabelsAreTheSameSeries) {
  Metrics metrics;
  Counter& a = metrics.counter("requests_total", "Requests.", {{"verb", "GET"}});
  a.add(2);
  EXPECT_EQ(&metrics.counter("requests_total", "another help", {{"verb", "GET"}}), &a);
  metrics.counter("requests_total", "", {{"verb", "PUT"}}).add();
  metrics.gauge("depth", "Depth.").set(1.5);
  EXPECT_EQ(metrics.expose(),
            "# HELP depth Depth.\n# TYPE depth gauge\ndepth 1.5\n"
            "# HELP requests_total Requests.\n# TYPE requests_total counter\n"
            "requests_total{verb=\"GET\"} 2\nrequests_total{verb=\"PUT\"} 1\n");
}

TEST(MetricsTest, Histograms) {
  Metrics metrics;
  Histogram& h = metrics.histogram("seconds", "Seconds.", {0.005, 0.1}, {{"k", "v"}});
  h.observe(0.05);
  EXPECT_EQ(&metrics.histogram("seconds", "", {1}, {{"k", "v"}}), &h);
  const std::string text = metrics.expose();
  EXPECT_THAT(text, HasSubstr("seconds_bucket{k=\"v\",le=\"0.005\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("seconds_bucket{k=\"v\",le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("seconds_count{k=\"v\"} 1\n"));
}

TEST(MetricsTest, DroppedGaugesAreGoneAndMayComeBack) {
  Metrics metrics;
  metrics.gauge("g", "G.", {{"node", "n1"}}).set(1);
  metrics.gauge("g", "G.", {{"node", "n2"}}).set(2);
  metrics.drop_gauge("g", {{"node", "n1"}});
  metrics.drop_gauge("unknown", {});
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("n1")));
  metrics.gauge("g", "G.", {{"node", "n1"}}).set(7);
  EXPECT_THAT(metrics.expose(), HasSubstr("g{node=\"n1\"} 7\n"));
}

TEST(MetricsTest, DroppedCountersBeginAgainAtZero) {
  Metrics metrics;
  metrics.counter("c", "C.", {{"owner", "a"}}).add(5);
  metrics.counter("c", "C.", {{"owner", "b"}}).add(6);
  metrics.drop_counter("c", {{"owner", "a"}});
  metrics.drop_counter("c", {{"owner", "unknown"}});
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("owner=\"a\"")));
  metrics.counter("c", "C.", {{"owner", "a"}}).add();
  EXPECT_THAT(metrics.expose(), HasSubstr("c{owner=\"a\"} 1\nc{owner=\"b\"} 6\n"));
}

TEST(MetricsTest, UpdatesRunBeforeEachScrape) {
  Metrics metrics;
  Gauge& gauge = metrics.gauge("age", "line one\nline two");
  int calls = 0;
  metrics.before_scrape([&] { gauge.set(++calls); });
  metrics.expose();
  EXPECT_THAT(metrics.expose(), HasSubstr("# HELP age line one\\nline two\n# TYPE age gauge\nage 2\n"));
}

TEST(MetricsTest, AnUpdateThatIsGoneDoesNotRun) {
  Metrics metrics;
  int calls = 0;
  auto kept = metrics.before_scrape_while([&] { ++calls; });
  metrics.expose();
  kept.reset();
  metrics.expose();
  EXPECT_EQ(calls, 1);
}

TEST(MetricsTest, ProcessMetrics) {
  Metrics metrics;
  add_process_metrics(metrics);
  const std::string text = metrics.expose();
  const auto value = [&](const std::string& name) {
    const size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1.0 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  };
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GE(value("process_cpu_seconds_total"), 0);
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GT(value("process_start_time_seconds"), 1.7e9);
}

TEST(MetricsTest, ThoseOfASubjectCarryItsLabelsAndGoWithIt) {
  Metrics metrics;
  metrics.counter("requests_total", "Requests.", {{"verb", "GET"}}).add();
  int asked = 0;
  {
    Metrics own(metrics, {{"cluster", "a"}});
    own.counter("requests_total", "Requests.", {{"verb", "GET"}}).add(2);
    own.gauge("depth", "Depth.").set(1);
    own.histogram("seconds", "Seconds.", {1}).observe(2);
    own.before_scrape([&] { ++asked; });
    own.gauge("brief", "Brief.", {{"k", "v"}}).set(1);
    own.drop_gauge("brief", {{"k", "v"}});
    const std::string text = own.expose();
    EXPECT_THAT(text, HasSubstr("requests_total{verb=\"GET\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("requests_total{cluster=\"a\",verb=\"GET\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("depth{cluster=\"a\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("seconds_count{cluster=\"a\"} 1\n"));
    EXPECT_THAT(text, Not(HasSubstr("brief{")));
    EXPECT_EQ(asked, 1);
  }
  const std::string text = metrics.expose();
  EXPECT_THAT(text, HasSubstr("requests_total{verb=\"GET\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("cluster")));
  EXPECT_EQ(asked, 1) << "who is gone is not asked";
}

}  // namespace
}  // namespace careen::io
