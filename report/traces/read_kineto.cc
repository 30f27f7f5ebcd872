// Three sources, in order of trust: the ranges on the GPU (gpu_user_annotation), else the span of
// the kernels that were launched inside the range on the CPU, found by correlation id, else the
// CPU's range itself where no kernel was recorded. A GPU runs behind its CPU, so the step of an
// action is the one in which the CPU issued it. Without step ranges, the k-th occurrence of an
// action belongs to step k. Times are read from the digits of the file, rounded to a nanosecond.
#include "report/traces/read_kineto.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

// 2039, in nanoseconds since 1970. A start, a base and a duration of that size, less another, stay
// inside 64 bits.
constexpr std::int64_t kLatest = 2'200'000'000'000'000'000;
constexpr int kMostRanks = 1 << 20;

const std::string* text_of(const Json& object, std::string_view key) {
  const Json* value = object.kind() == Json::Kind::kObject ? object.find(key) : nullptr;
  return value != nullptr && value->kind() == Json::Kind::kString ? &value->text() : nullptr;
}

// A JSON number of microseconds as nanoseconds, rounded.
std::optional<std::int64_t> nanoseconds(const std::string& number) {
  if (number.find_first_of("eE") != std::string::npos) {
    const double value = std::strtod(number.c_str(), nullptr) * 1000.0;
    if (!(value > -static_cast<double>(kLatest) && value < static_cast<double>(kLatest))) return {};
    return std::llround(value);
  }
  const bool negative = number.starts_with('-');
  std::int64_t value = 0;
  int decimals = -1;
  for (const char c : number.substr(negative ? 1 : 0)) {
    if (c == '.') {
      decimals = 0;
      continue;
    }
    if (decimals == 3) {
      if (c >= '5') ++value;
      break;
    }
    if (decimals >= 0) ++decimals;
    if (value > kLatest / 10) return {};
    value = value * 10 + (c - '0');
  }
  for (int i = std::max(decimals, 0); i < 3; ++i) {
    if (value > kLatest / 10) return {};
    value *= 10;
  }
  return negative ? -value : value;
}

// An event of the trace that is of use, or may be.
struct Event {
  std::string_view name;
  std::int64_t start = 0, end = 0;
  std::string thread;  // as it stands in the file
  std::int64_t correlation = -1;
};

bool by_start(const Event& a, const Event& b) {
  return std::tie(a.start, a.end, a.name) < std::tie(b.start, b.end, b.name);
}

class TraceReader {
 public:
  TraceReader(const Json& json, const std::string& file) : json_(json), file_(file) {}

  KinetoTrace read() {
    if (json_.kind() != Json::Kind::kObject || json_.find("traceEvents") == nullptr) {
      throw_bad_input(file_ +
                      ": expected a trace of PyTorch's profiler, an object with traceEvents\n"
                      "help: write one per rank with torch.profiler's export_chrome_trace()");
    }
    trace_.file = file_;
    read_head();
    for (const JsonReader& event : JsonReader(json_, file_).at("traceEvents").elements()) {
      sort_in(event);
    }
    for (std::vector<Event>* events : {&host_, &device_, &host_steps_}) {
      std::sort(events->begin(), events->end(), by_start);
    }
    add_steps();
    add_actions();
    if (trace_.actions.empty()) {
      throw_bad_input(file_ +
                      ": no range is named after an action of a pipeline (PP:2F0)\n"
                      "help: record a run of torch.distributed.pipelining; its schedules name "
                      "what they do");
    }
    if (!trace_.has_step_ranges) count_steps();
    return std::move(trace_);
  }

 private:
  void read_head() {
    JsonReader reader(json_, file_);
    trace_.rank = -1;
    if (auto info = reader.get("distributedInfo")) {
      if (auto rank = info->get("rank")) {
        trace_.rank = static_cast<int>(rank->integer(0, kMostRanks - 1));
      }
      if (auto size = info->get("world_size")) {
        trace_.world_size = static_cast<int>(size->integer(1, kMostRanks));
      }
      if (const std::string* backend = text_of(info->value(), "backend")) trace_.backend = *backend;
    }
    if (trace_.rank < 0) trace_.rank = rank_in_name();
    if (auto base = reader.get("baseTimeNanoseconds")) base_ = base->integer(0, kLatest);
    const Json* devices = json_.find("deviceProperties");
    if (devices != nullptr && devices->kind() == Json::Kind::kArray &&
        !devices->elements().empty()) {
      const std::string* name = text_of(devices->elements().front(), "name");
      if (name != nullptr) trace_.device = *name;
    }
  }

  // "rank12_trace.json"
  [[nodiscard]] int rank_in_name() const {
    const std::string name = file_.substr(file_.find_last_of('/') + 1);
    std::size_t at = 4;
    int rank = 0;
    while (at < name.size() && name[at] >= '0' && name[at] <= '9' && rank < kMostRanks) {
      rank = rank * 10 + (name[at++] - '0');
    }
    if (name.starts_with("rank") && at > 4 && rank < kMostRanks) return rank;
    throw_bad_input(file_ +
                    ": neither distributedInfo.rank nor the file's name says which rank it is\n"
                    "help: name the file rank<N>_trace.json");
  }

  void sort_in(const JsonReader& reader) {
    const Json& event = reader.value();
    const std::string* phase = text_of(event, "ph");
    const std::string* name = text_of(event, "name");
    const std::string* category = text_of(event, "cat");
    if (phase == nullptr || name == nullptr || category == nullptr || *phase != "X") return;
    std::vector<Event>* list = list_for(*category, *name);
    if (list == nullptr) return;
    Event found;
    found.name = *name;
    found.start = base_ + time_of(reader, "ts");
    const std::int64_t duration = time_of(reader, "dur");
    if (duration < 0) reader.fail("dur: expected a duration >= 0");
    found.end = found.start + duration;
    const Json* thread = event.find("tid");
    if (thread != nullptr) found.thread = thread->text();
    const Json* args = event.find("args");
    if (args != nullptr && args->kind() == Json::Kind::kObject) {
      const Json* correlation = args->find("correlation");
      if (correlation != nullptr && correlation->kind() == Json::Kind::kNumber) {
        found.correlation = std::strtoll(correlation->text().c_str(), nullptr, 10);
      }
    }
    list->push_back(std::move(found));
  }

  std::vector<Event>* list_for(const std::string& category, const std::string& name) {
    const bool is_action =
        name.starts_with("PP:") || name.starts_with("Forward ") || name.starts_with("Backward ");
    if (category == "gpu_user_annotation") return is_action ? &device_ : nullptr;
    if (category == "user_annotation") {
      if (name.starts_with("ProfilerStep#")) return &host_steps_;
      return is_action ? &host_ : nullptr;
    }
    if (category == "kernel") return &kernels_;
    return category == "cuda_runtime" || category == "cuda_driver" ? &launches_ : nullptr;
  }

  static std::int64_t time_of(const JsonReader& reader, const char* key) {
    const Json* value = reader.value().find(key);
    if (value == nullptr || value->kind() != Json::Kind::kNumber) {
      reader.fail(std::string(key) + ": expected a number of microseconds");
    }
    const std::optional<std::int64_t> time = nanoseconds(value->text());
    if (!time || *time > kLatest || *time < -kLatest) {
      reader.fail(std::string(key) + ": " + value->text() + " us is out of range");
    }
    return *time;
  }

  void add_steps() {
    for (const Event& event : host_steps_) {
      const std::string number(event.name.substr(event.name.find('#') + 1));
      trace_.steps.push_back({std::strtoll(number.c_str(), nullptr, 10), event.start, event.end});
    }
    trace_.has_step_ranges = !trace_.steps.empty();
  }

  // A GPU works behind its CPU, so that the step is told by the CPU's range.
  [[nodiscard]] int step_at(std::int64_t time) const {
    int at = -1;
    for (std::size_t i = 0; i < trace_.steps.size(); ++i) {
      if (trace_.steps[i].start <= time && time < trace_.steps[i].end) at = static_cast<int>(i);
    }
    return at;
  }

  void add_actions() {
    std::map<std::string_view, std::pair<std::vector<const Event*>, std::vector<const Event*>>> all;
    for (const Event& event : host_) all[event.name].first.push_back(&event);
    for (const Event& event : device_) all[event.name].second.push_back(&event);
    index_launches();
    for (const auto& [name, ranges] : all) {
      const auto& [host, device] = ranges;
      if (host.empty() || host.size() == device.size()) {
        for (std::size_t i = 0; i < device.size(); ++i) {
          add(*device[i], step_at(host.empty() ? device[i]->start : host[i]->start));
        }
        continue;
      }
      for (const Event* range : host) {
        const std::optional<Event> span = kernels_.empty() ? *range : kernels_of(*range);
        if (span) add(*span, step_at(range->start));
      }
    }
    std::sort(trace_.actions.begin(), trace_.actions.end(),
              [](const KinetoRange& a, const KinetoRange& b) {
                return std::tie(a.start, a.end, a.name) < std::tie(b.start, b.end, b.name);
              });
  }

  void add(const Event& event, int step) {
    trace_.actions.push_back({std::string(event.name), event.start, event.end, step});
  }

  void index_launches() {
    std::sort(launches_.begin(), launches_.end(), by_start);
    for (const Event& kernel : kernels_) {
      if (kernel.correlation < 0) continue;
      const auto [at, is_new] =
          kernel_of_.try_emplace(kernel.correlation, std::pair{kernel.start, kernel.end});
      if (is_new) continue;
      at->second.first = std::min(at->second.first, kernel.start);
      at->second.second = std::max(at->second.second, kernel.end);
    }
  }

  // From the first to the last kernel that was launched inside the range; nothing without any.
  [[nodiscard]] std::optional<Event> kernels_of(const Event& range) const {
    std::optional<Event> span;
    auto launch =
        std::lower_bound(launches_.begin(), launches_.end(), range.start,
                         [](const Event& event, std::int64_t time) { return event.start < time; });
    for (; launch != launches_.end() && launch->start < range.end; ++launch) {
      if (launch->thread != range.thread) continue;
      const auto kernel = kernel_of_.find(launch->correlation);
      if (kernel == kernel_of_.end()) continue;
      if (!span) span = Event{range.name, kernel->second.first, kernel->second.second, {}, -1};
      span->start = std::min(span->start, kernel->second.first);
      span->end = std::max(span->end, kernel->second.second);
    }
    return span;
  }

  // Without ranges of steps: an action that occurs for the k-th time belongs to step k.
  void count_steps() {
    std::map<std::string, int> seen;
    for (KinetoRange& range : trace_.actions) {
      range.step = seen[range.name]++;
      const auto step = static_cast<std::size_t>(range.step);
      if (step == trace_.steps.size()) {
        trace_.steps.push_back({range.step, range.start, range.end});
      }
      trace_.steps[step].start = std::min(trace_.steps[step].start, range.start);
      trace_.steps[step].end = std::max(trace_.steps[step].end, range.end);
    }
  }

  const Json& json_;
  const std::string& file_;
  std::int64_t base_ = 0;
  std::vector<Event> host_, device_, host_steps_, kernels_, launches_;
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> kernel_of_;  // by correlation
  KinetoTrace trace_;
};

}  // namespace

KinetoTrace read_kineto_trace(const Json& json, const std::string& file) {
  return TraceReader(json, file).read();
}

}  // namespace penstock
