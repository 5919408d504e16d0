#include "io/metrics.h"

#include <dirent.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace careen::io {

namespace {

class CounterSeries final : public Counter {
 public:
  explicit CounterSeries(prometheus::Counter& series) : series_(series) {}
  void add(double amount) override { series_.Increment(amount); }
  double value() const override { return series_.Value(); }
  prometheus::Counter* raw() const { return &series_; }

 private:
  prometheus::Counter& series_;
};

class GaugeSeries final : public Gauge {
 public:
  explicit GaugeSeries(prometheus::Gauge& series) : series_(series) {}
  void set(double value) override { series_.Set(value); }
  double value() const override { return series_.Value(); }
  prometheus::Gauge* raw() const { return &series_; }

 private:
  prometheus::Gauge& series_;
};

class HistogramSeries final : public Histogram {
 public:
  explicit HistogramSeries(prometheus::Histogram& series) : series_(series) {}
  void observe(double value) override { series_.Observe(value); }
  prometheus::Histogram* raw() const { return &series_; }

 private:
  prometheus::Histogram& series_;
};

template <class Raw, class Series>
struct FamilyOf {
  prometheus::Family<Raw>* raw = nullptr;
  std::map<Labels, Series> series;
};

// The serializer of prometheus-cpp prints help texts as they are; a line end in one would break the exposition.
std::string one_line(const std::string& help) {
  std::string out;
  for (const char c : help) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

struct Metrics::Core {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Throw};
  std::map<std::string, FamilyOf<prometheus::Counter, CounterSeries>> counters;
  std::map<std::string, FamilyOf<prometheus::Gauge, GaugeSeries>> gauges;
  std::map<std::string, FamilyOf<prometheus::Histogram, HistogramSeries>> histograms;
  std::vector<std::weak_ptr<std::function<void()>>> updates;

  void update() {
    std::erase_if(updates, [](const auto& one) { return one.expired(); });
    for (const auto& one : updates) (*one.lock())();
  }

  template <class Families, class Builder, class... Arguments>
  auto& series(Families& families, Builder builder, const std::string& name, const std::string& help,
               const Labels& labels, const Arguments&... arguments) {
    auto& family = families[name];
    if (family.raw == nullptr) {
      try {
        family.raw = &builder.Name(name).Help(one_line(help)).Register(registry);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "careen: bug: metric %s: %s\n", name.c_str(), e.what());
        std::abort();
      }
    }
    const auto known = family.series.find(labels);
    if (known != family.series.end()) return known->second;
    return family.series.try_emplace(labels, family.raw->Add(labels, arguments...)).first->second;
  }

  template <class Families>
  static void drop(Families& families, const std::string& name, const Labels& labels) {
    const auto family = families.find(name);
    if (family == families.end()) return;
    const auto series = family->second.series.find(labels);
    if (series == family->second.series.end()) return;
    family->second.raw->Remove(series->second.raw());
    family->second.series.erase(series);
  }

  template <class Families>
  static void drop_all(Families& families, const Labels& labels) {
    for (auto& [name, family] : families) {
      std::erase_if(family.series, [&](const auto& one) {
        const bool of_it = std::ranges::includes(one.first, labels);
        if (of_it) family.raw->Remove(one.second.raw());
        return of_it;
      });
    }
  }
};

Metrics::Metrics() : core_(std::make_shared<Core>()) {}

Metrics::Metrics(Metrics& whole, Labels labels) : core_(whole.core_), labels_(whole.labelled(std::move(labels))) {}

Metrics::~Metrics() {
  if (labels_.empty()) return;
  Core::drop_all(core_->counters, labels_);
  Core::drop_all(core_->gauges, labels_);
  Core::drop_all(core_->histograms, labels_);
}

Labels Metrics::labelled(Labels labels) const {
  labels.insert(labels_.begin(), labels_.end());
  return labels;
}

Counter& Metrics::counter(const std::string& name, const std::string& help, const Labels& labels) {
  return core_->series(core_->counters, prometheus::BuildCounter(), name, help, labelled(labels));
}

Gauge& Metrics::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  return core_->series(core_->gauges, prometheus::BuildGauge(), name, help, labelled(labels));
}

Histogram& Metrics::histogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                              const Labels& labels) {
  return core_->series(core_->histograms, prometheus::BuildHistogram(), name, help, labelled(labels), bounds);
}

void Metrics::drop_gauge(const std::string& name, const Labels& labels) {
  Core::drop(core_->gauges, name, labelled(labels));
}

void Metrics::drop_counter(const std::string& name, const Labels& labels) {
  Core::drop(core_->counters, name, labelled(labels));
}

void Metrics::before_scrape(std::function<void()> update) {
  updates_.push_back(before_scrape_while(std::move(update)));
}

std::shared_ptr<void> Metrics::before_scrape_while(std::function<void()> update) {
  auto kept = std::make_shared<std::function<void()>>(std::move(update));
  core_->updates.push_back(kept);
  return kept;
}

std::string Metrics::expose() {
  core_->update();
  auto families = core_->registry.Collect();
  // The registry keeps its series in a hash table; sorted, two expositions can be compared.
  std::sort(families.begin(), families.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (auto& family : families) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  return prometheus::TextSerializer{}.Serialize(families);
}

namespace {

struct ProcessStatistics {
  double cpu_seconds = 0;
  double start_seconds_after_boot = 0;
  double resident_bytes = 0;
};

ProcessStatistics read_process_statistics() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // The command name is in parentheses and may contain anything, so count the fields after the last one.
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(line.substr(name_end + 1));
  std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  constexpr size_t kUserTime = 11, kSystemTime = 12, kStartTime = 19, kResidentPages = 21;
  if (fields.size() <= kResidentPages) return {};
  const auto number = [&](size_t i) { return std::strtod(fields[i].c_str(), nullptr); };
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return {(number(kUserTime) + number(kSystemTime)) / ticks, number(kStartTime) / ticks,
          number(kResidentPages) * static_cast<double>(::sysconf(_SC_PAGESIZE))};
}

double read_boot_time() {
  std::ifstream file("/proc/stat");
  std::string key;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    double value = 0;
    if (words >> key && key == "btime" && words >> value) return value;
  }
  return 0;
}

double count_open_files() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = 0;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] != '.') ++count;
  }
  ::closedir(folder);
  return count - 1;  // the descriptor of the listing itself
}

}  // namespace

void add_process_metrics(Metrics& metrics) {
  Gauge& memory = metrics.gauge("process_resident_memory_bytes", "Resident memory size in bytes.");
  Counter& cpu = metrics.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.");
  Gauge& files = metrics.gauge("process_open_fds", "Number of open file descriptors.");
  metrics.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.")
      .set(read_boot_time() + read_process_statistics().start_seconds_after_boot);
  metrics.before_scrape([&memory, &cpu, &files] {
    const ProcessStatistics now = read_process_statistics();
    memory.set(now.resident_bytes);
    cpu.add(std::max(0.0, now.cpu_seconds - cpu.value()));
    files.set(count_open_files());
  });
}

}  // namespace careen::io
