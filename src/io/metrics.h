// Counters, gauges and histograms in Prometheus' text format, on prometheus-cpp. One Metrics per process; the
// series returned live as long as it does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace careen::io {

using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(double amount = 1) = 0;
  virtual double value() const = 0;
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(double value) = 0;
  virtual double value() const = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(double value) = 0;
};

class Metrics {
 public:
  Metrics();
  // Those of one subject, which no other series names: they are exposed with the others, carry `labels` besides their
  // own, and are gone when it is.
  Metrics(Metrics& whole, Labels labels);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The same name and labels give the same series; the help text of the first call counts.
  Counter& counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge& gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Histogram& histogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                       const Labels& labels = {});
  // Removes a series, for labels whose subject is gone. References to it die.
  void drop_gauge(const std::string& name, const Labels& labels);
  void drop_counter(const std::string& name, const Labels& labels);
  // Called before each exposition, to set gauges whose value is only known on demand.
  void before_scrape(std::function<void()> update);
  // The same, until what is returned is destroyed.
  [[nodiscard]] std::shared_ptr<void> before_scrape_while(std::function<void()> update);

  std::string expose();

 private:
  struct Core;
  Labels labelled(Labels labels) const;

  std::shared_ptr<Core> core_;
  Labels labels_;  // of the subject; of the whole: none
  std::vector<std::shared_ptr<void>> updates_;
};

// Memory, CPU time, open files and start time of this process, under the names every Prometheus client uses.
void add_process_metrics(Metrics& metrics);

}  // namespace careen::io
