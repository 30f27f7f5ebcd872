#include "cli/published_runs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/files.h"
#include "core/error.h"
#include "estimator/default_cluster.h"
#include "estimator/estimate_profile.h"
#include "estimator/shipped_data.h"
#include "report/table.h"
#include "report/words.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

// What of the memory bandwidth fused kernels get (3.0 of 3.35 TB/s on H100), and what compiled
// code takes to launch a layer (12.6 ms for the 16 layers of a model of 1e9 parameters with 512
// tokens on B200): published, not fitted.
constexpr EfficiencyTerms kFused{0.6, 0.9, 0.8, 260e-6, 520e-6, 0.5};
// Devices that nobody measured are not trusted with more than nine tenths of the least share, and
// their errors are half as large again: assumed.
constexpr double kShareOfOthers = 0.9, kErrorOfOthers = 1.5;
constexpr int kMost = 1 << 22;

DeviceSheet sheet_called(const JsonReader& name) {
  for (DeviceSheet& sheet : shipped_devices()) {
    if (sheet.is_called(name.string())) return std::move(sheet);
  }
  name.expected("a device of data/devices");
}

int count_at(JsonReader& object, std::string_view key) {
  const auto value = object.get(key);
  return value ? static_cast<int>(value->integer(1, kMost)) : 1;
}

PublishedRun read_run(JsonReader object) {
  PublishedRun run;
  run.set = object.at("set").string();
  run.name = object.at("name").string();
  const Loaded<Json> config = load_json(object.at("config").string());
  run.model = read_architecture(config.value, config.file.path);
  run.device = sheet_called(object.at("device"));
  run.tensor = count_at(object, "tensor");
  run.pipeline = count_at(object, "pipeline");
  run.context = count_at(object, "context");
  run.data = count_at(object, "data");
  run.chunks = count_at(object, "chunks");
  run.micro_batch_size = count_at(object, "micro_batch_size");
  run.global_batch = count_at(object, "global_batch");
  run.sequence_length = count_at(object, "sequence_length");
  if (const auto mode = object.get("recompute")) run.recompute = mode->string();
  if (const auto kernel = object.get("attention")) {
    run.attention = attention_named(kernel->string());
    if (!run.attention) kernel->expected("flash2, flash3, cudnn or eager");
  }
  if (const auto bytes = object.get("gradient_bytes")) {
    run.gradient_bytes = static_cast<int>(bytes->integer(2, 4));
  }
  run.seconds = object.at("seconds").number(1e-6, 1e6);
  run.in_fit = !object.get("left_out_because");
  if (const auto sharded = object.get("sharded")) run.sharded = sharded->boolean();
  object.finish();
  return run;
}

EstimateRequest request_of(const PublishedRun& run) {
  EstimateRequest request;
  request.device = run.device.name;
  request.sequence_length = run.sequence_length;
  request.most_tensor_degree = run.tensor;
  request.attention = run.attention;
  request.gradient_bytes = run.gradient_bytes;
  request.context_degree = run.context;
  return request;
}

Plan plan_of(const PublishedRun& run) {
  Plan plan;
  plan.schedule = run.chunks > 1 ? "interleaved" : "1f1b";
  plan.pipeline = run.pipeline;
  plan.chunks = run.chunks;
  plan.tensor = run.tensor;
  plan.data = run.data * run.context;
  plan.micro_batch_size = run.micro_batch_size;
  plan.global_batch = run.global_batch * run.context;
  plan.sequence_length = run.sequence_length;
  plan.recompute = run.recompute;
  plan.zero1 = plan.data > 1;
  plan.placement = Placement::kDataInner;
  plan.device = run.device.name;
  return plan;
}

using Takes = std::function<bool(const PublishedRun&)>;

double deviation(const PublishedRun& run, const Efficiency& efficiency) {
  return run.seconds / predict_run(run, efficiency).seconds - 1.0;
}

Efficiency with_share(const std::string& generation, double products) {
  Efficiency efficiency;
  EfficiencyCurve curve{generation, "half", false, kFused, {}};
  curve.terms.products = products;
  efficiency.curves = {curve};
  return efficiency;
}

// Mean over sets of the mean log of measured / predicted; sets count alike, however many runs they
// have.
double mean_log(const std::vector<const PublishedRun*>& runs, double products) {
  std::set<std::string> sets;
  for (const PublishedRun* run : runs) sets.insert(run->set);
  double sum = 0.0;
  for (const std::string& set : sets) {
    double of_set = 0.0;
    int count = 0;
    for (const PublishedRun* run : runs) {
      if (run->set != set) continue;
      const Efficiency efficiency = with_share(run->device.generation, products);
      of_set += std::log(1.0 + deviation(*run, efficiency));
      ++count;
    }
    sum += of_set / count;
  }
  return sum / static_cast<double>(sets.size());
}

// The share at which measured and predicted times agree on average: more of it, shorter
// predictions. Nothing when no run is taken.
std::optional<double> share_of(const std::vector<PublishedRun>& runs, const Takes& takes) {
  std::vector<const PublishedRun*> taken;
  for (const PublishedRun& run : runs) {
    if (run.in_fit && takes(run)) taken.push_back(&run);
  }
  if (taken.empty()) return std::nullopt;
  double low = 0.1, high = 1.0;
  for (int step = 0; step < 14; ++step) {
    const double middle = (low + high) / 2.0;
    (mean_log(taken, middle) < 0.0 ? low : high) = middle;
  }
  return (low + high) / 2.0;
}

double rounded(double value) { return std::floor(value * 1000.0 + 0.5) / 1000.0; }

// Between the entries around it, in ascending order.
double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= values.size()) return values.back();
  return values[below] + (values[below + 1] - values[below]) * (place - static_cast<double>(below));
}

LeftOut left_out(const std::string& what, const std::vector<double>& values, bool in_fit) {
  std::vector<double> sizes;
  sizes.reserve(values.size());
  for (const double value : values) sizes.push_back(std::abs(value));
  LeftOut left;
  left.what = what;
  left.passes = static_cast<std::int64_t>(values.size());
  left.median = rounded(quantile(sizes, 0.5));
  left.nine_of_ten = rounded(quantile(sizes, 0.9));
  left.largest = rounded(quantile(sizes, 1.0));
  left.bias = rounded(quantile(values, 0.5));
  left.in_fit = in_fit;
  return left;
}

class RunsFit {
 public:
  RunsFit(const std::vector<PublishedRun>& runs, Efficiency& efficiency)
      : runs_(runs), efficiency_(efficiency) {}

  void run() {
    auto& curves = efficiency_.curves;
    curves.erase(std::remove_if(curves.begin(), curves.end(),
                                [](const EfficiencyCurve& curve) { return curve.width == "half"; }),
                 curves.end());
    std::set<std::string> sets, generations;
    for (const PublishedRun& run : runs_) {
      sets.insert(run.set);
      if (run.in_fit) generations.insert(run.device.generation);
    }
    for (const std::string& set : sets) leave_out(set);
    add_curves(generations);
  }

 private:
  // By the other sets of the same generation; where there is none, by those of all others.
  void leave_out(const std::string& set) {
    std::vector<double> values;
    bool in_fit = false;
    for (const PublishedRun& run : runs_) {
      if (run.set != set) continue;
      in_fit = in_fit || run.in_fit;
      const auto other = [&](const PublishedRun& each) { return each.set != set; };
      auto share = share_of(runs_, [&](const PublishedRun& each) {
        return other(each) && each.device.generation == run.device.generation;
      });
      if (!share) share = share_of(runs_, other);
      if (!share) throw_bad_input("two sets of runs at least are needed to leave one out");
      values.push_back(deviation(run, with_share(run.device.generation, *share)));
    }
    deviations_.insert(deviations_.end(), values.begin(), values.end());
    efficiency_.left_out.push_back(left_out("runs " + set, values, in_fit));
  }

  void add_curves(const std::set<std::string>& generations) {
    const ErrorBand error{rounded(std::max(-quantile(deviations_, 0.05), 0.0)),
                          rounded(std::max(quantile(deviations_, 0.95), 0.0))};
    EfficiencyCurve any{"any", "half", false, kFused, {}};
    any.error = {rounded(std::min(kErrorOfOthers * error.below, 1.0)),
                 rounded(kErrorOfOthers * error.above)};
    any.terms.products = 1.0;
    std::vector<EfficiencyCurve> curves;
    for (const std::string& generation : generations) {
      const auto share = share_of(
          runs_, [&](const PublishedRun& run) { return run.device.generation == generation; });
      EfficiencyCurve curve{generation, "half", false, kFused, error};
      curve.terms.products = rounded(*share);
      any.terms.products = std::min(any.terms.products, rounded(kShareOfOthers * *share));
      curves.push_back(curve);
    }
    curves.insert(curves.begin(), any);
    auto& all = efficiency_.curves;
    all.insert(all.begin(), curves.begin(), curves.end());
  }

  const std::vector<PublishedRun>& runs_;
  Efficiency& efficiency_;
  std::vector<double> deviations_;
};

}  // namespace

std::vector<PublishedRun> read_published_runs(const JsonReader& list) {
  std::vector<PublishedRun> runs;
  for (JsonReader& element : list.elements()) runs.push_back(read_run(std::move(element)));
  return runs;
}

PredictedRun predict_run(const PublishedRun& run, const Efficiency& efficiency) {
  const Estimate estimate = estimate_profile(run.model, run.device, efficiency, request_of(run));
  const Plan plan = plan_of(run);
  const ClusterSpec cluster = default_cluster(run.device, plan.devices());
  PlanInputs inputs;
  inputs.profile = &estimate.profile;
  inputs.cluster = &cluster;
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  if (evaluated.evaluation.ranks.empty()) {
    throw_bad_input(run.set + ", " + run.name + ": " +
                    (evaluated.why_not ? evaluated.why_not->reason : "no prediction"));
  }
  PredictedRun predicted;
  predicted.seconds = static_cast<double>(evaluated.evaluation.step_time.count()) * 1e-9;
  predicted.peak = evaluated.evaluation.peak_memory();
  predicted.capacity = evaluated.evaluation.ranks.front().capacity;
  return predicted;
}

void fit_published_runs(const std::vector<PublishedRun>& runs, Efficiency& efficiency) {
  if (!runs.empty()) RunsFit(runs, efficiency).run();
}

std::string published_runs_table(const std::vector<PublishedRun>& runs,
                                 const Efficiency& efficiency) {
  TextTable table({{"set", true},
                   {"run", true},
                   {"T"},
                   {"P"},
                   {"C"},
                   {"D"},
                   {"V"},
                   {"b"},
                   {"measured"},
                   {"predicted"},
                   {"error"},
                   {"GiB"},
                   {"fits", true}});
  for (const PublishedRun& run : runs) {
    const PredictedRun predicted = predict_run(run, efficiency);
    const bool fits = predicted.peak.count <= predicted.capacity.count;
    table.add({run.set, run.name, std::to_string(run.tensor), std::to_string(run.pipeline),
               std::to_string(run.context), std::to_string(run.data), std::to_string(run.chunks),
               std::to_string(run.micro_batch_size), fmt::format("{:.3f} s", run.seconds),
               fmt::format("{:.3f} s", predicted.seconds),
               fmt::format("{:+.1f} %", 100.0 * (predicted.seconds / run.seconds - 1.0)),
               run.sharded ? "" : gib(predicted.peak),
               run.sharded ? ""
               : fits      ? "yes"
                           : "no"});
  }
  return table.text();
}

}  // namespace penstock
