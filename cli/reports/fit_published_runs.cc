// Fits the shares of peak rates that published steps imply. A step is nearly rest + products /
// share + memory / share, so each run is planned three times and the tangent is fitted instead: by
// bisection, so that the logarithms of measured over predicted, each bounded, have the mean zero,
// sets of runs counting alike. What a device reaches that nobody measured is assumed, and marked
// so.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/reports/published_runs.h"
#include "core/values/error.h"

namespace penstock {
namespace {

// What compiled code takes to launch a layer (12.6 ms for the 16 layers of a model of 1e9
// parameters with 512 tokens on B200): published, not fitted. The first two are fitted.
constexpr EfficiencyTerms kStart{.products = 0.7,
                                 .memory = 0.6,
                                 .link = 0.8,
                                 .forward_floor_s = 260e-6,
                                 .backward_floor_s = 520e-6,
                                 .end_floor = 0.5};
// Devices that nobody measured are not trusted with more than nine tenths of the least share, and
// their errors are half as large again: assumed.
constexpr double kShareOfOthers = 0.9, kErrorOfOthers = 1.5;
// A generation with fewer sets than this has the interval of all together.
constexpr std::size_t kSetsForOwnBand = 3;
constexpr const char* kAll = "";  // generations
constexpr double kLeastMemory = 0.3, kMostMemory = 0.9, kMemoryStep = 0.01;

// Squared up to here (assumed), linear beyond: a set whose software differs by more does not decide
// alone.
constexpr double kHuber = 0.05;
double bounded(double error) { return std::clamp(error, -kHuber, kHuber); }
double loss_of(double error) {
  const double size = std::abs(error);
  return size < kHuber ? size * size : kHuber * (2.0 * size - kHuber);
}

struct Shares {
  double products = kStart.products, memory = kStart.memory;
};

Efficiency with_shares(const std::string& generation, Shares shares) {
  Efficiency efficiency;
  EfficiencyCurve curve{generation, "half", false, kStart, {}};
  curve.terms.products = shares.products;
  curve.terms.memory = shares.memory;
  efficiency.curves = {curve};
  return efficiency;
}

double seconds_at(const PublishedRun& run, Shares shares) {
  return predict_run(run, with_shares(run.device.generation, shares)).seconds;
}

// A step around kStart as rest + products / share + memory / share, which it is but for launches
// and for what hides behind compute: so that a fit need not plan anew for every share.
struct Tangent {
  double rest = 0.0, products = 0.0, memory = 0.0;
  [[nodiscard]] double seconds(Shares shares) const {
    return rest + products / shares.products + memory / shares.memory;
  }
};

Tangent tangent_of(const PublishedRun& run) {
  const Shares start{}, faster{1.05 * start.products, start.memory},
      wider{start.products, 1.05 * start.memory};
  const double seconds = seconds_at(run, start);
  Tangent out;
  out.products =
      (seconds - seconds_at(run, faster)) / (1.0 / start.products - 1.0 / faster.products);
  out.memory = (seconds - seconds_at(run, wider)) / (1.0 / start.memory - 1.0 / wider.memory);
  out.rest = seconds - out.products / start.products - out.memory / start.memory;
  return out;
}

struct Known {
  const PublishedRun* run = nullptr;
  Tangent tangent;
  [[nodiscard]] const std::string& generation() const { return run->device.generation; }
};
using Chosen = std::vector<const Known*>;

// Logarithms of measured / predicted, by set.
std::map<std::string, std::vector<double>> logs_by_set(const Chosen& runs, Shares shares) {
  std::map<std::string, std::vector<double>> logs;
  for (const Known* one : runs) {
    logs[one->run->set].push_back(std::log(one->run->seconds / one->tangent.seconds(shares)));
  }
  return logs;
}

// Sets count alike, however many runs they have.
double mean_over_sets(const Chosen& runs, Shares shares, const std::function<double(double)>& of) {
  const auto logs = logs_by_set(runs, shares);
  double sum = 0.0;
  for (const auto& [set, values] : logs) {
    double of_set = 0.0;
    for (const double value : values) of_set += of(value);
    sum += of_set / static_cast<double>(values.size());
  }
  return sum / static_cast<double>(logs.size());
}

// The share of products at which measured and predicted times agree on average.
double products_at(const Chosen& runs, double memory) {
  double low = 0.1, high = 1.0;
  for (int step = 0; step < 20; ++step) {
    const double middle = (low + high) / 2.0;
    const double mean = mean_over_sets(runs, {middle, memory}, bounded);
    (mean < 0.0 ? low : high) = middle;
  }
  return (low + high) / 2.0;
}

struct Fitted {
  double memory = kStart.memory;           // of all generations
  std::map<std::string, double> products;  // by generation
};

// One share of the memory bandwidth for all generations: the one that leaves the least loss.
// Generations with one set say nothing about it.
std::optional<Fitted> fit(const Chosen& runs) {
  std::map<std::string, Chosen> by_generation;
  for (const Known* one : runs) by_generation[one->generation()].push_back(one);
  std::optional<Fitted> best;
  double least = 0.0;
  for (double memory = kLeastMemory; memory < kMostMemory + kMemoryStep / 2.0;
       memory += kMemoryStep) {
    Fitted fitted{memory, {}};
    double loss = 0.0;
    for (const auto& [generation, of_it] : by_generation) {
      const double products = products_at(of_it, memory);
      fitted.products[generation] = products;
      loss += static_cast<double>(logs_by_set(of_it, {products, memory}).size()) *
              mean_over_sets(of_it, {products, memory}, loss_of);
    }
    if (best && loss >= least) continue;
    best = fitted;
    least = loss;
  }
  return best;
}

double rounded(double value) { return std::floor(value * 1000.0 + 0.5) / 1000.0; }

struct Deviation {
  std::string generation;
  bool of_other_trainer = false;
  std::string set;
  double value = 0.0;  // measured / predicted - 1
};

// Between the entries around it, in ascending order; sets weigh alike.
double quantile(const std::vector<Deviation>& deviations, double share) {
  std::map<std::string, double> sizes;
  for (const Deviation& each : deviations) sizes[each.set] += 1.0;
  std::vector<std::pair<double, double>> weighted;  // value, weight
  weighted.reserve(deviations.size());
  for (const Deviation& each : deviations) {
    weighted.emplace_back(each.value,
                          1.0 / (sizes.at(each.set) * static_cast<double>(sizes.size())));
  }
  std::sort(weighted.begin(), weighted.end());
  // An entry stands in the middle of its weight.
  double place = weighted.front().second / 2.0;
  if (share <= place) return weighted.front().first;
  for (std::size_t i = 1; i < weighted.size(); ++i) {
    const double next = place + (weighted[i - 1].second + weighted[i].second) / 2.0;
    if (share <= next) {
      const double part = (share - place) / (next - place);
      return weighted[i - 1].first + part * (weighted[i].first - weighted[i - 1].first);
    }
    place = next;
  }
  return weighted.back().first;
}

// One run in twenty that is still to come lies beyond either side: of n runs, each as likely to be
// any of n + 1 in order, that is this quantile (split conformal prediction).
ErrorBand band_of(const std::vector<Deviation>& deviations) {
  const auto runs = static_cast<double>(deviations.size());
  const double share = std::min(0.95 * (runs + 1.0) / runs, 1.0);
  return {rounded(std::max(-quantile(deviations, 1.0 - share), 0.0)),
          rounded(std::max(quantile(deviations, share), 0.0))};
}

LeftOut left_out(const std::string& what, const std::vector<Deviation>& deviations, bool in_fit) {
  std::vector<Deviation> sizes = deviations;
  for (Deviation& each : sizes) each.value = std::abs(each.value);
  LeftOut left;
  left.what = what;
  left.passes = std::ssize(deviations);
  left.median = rounded(quantile(sizes, 0.5));
  left.nine_of_ten = rounded(quantile(sizes, 0.9));
  left.largest = rounded(quantile(sizes, 1.0));
  left.bias = rounded(quantile(deviations, 0.5));
  left.in_fit = in_fit;
  return left;
}

class RunsFit {
 public:
  RunsFit(const std::vector<PublishedRun>& runs, Efficiency& efficiency) : efficiency_(efficiency) {
    known_.reserve(runs.size());
    for (const PublishedRun& run : runs) known_.push_back({&run, tangent_of(run)});
  }

  void run() {
    auto& curves = efficiency_.curves;
    curves.erase(std::remove_if(curves.begin(), curves.end(),
                                [](const EfficiencyCurve& curve) { return curve.width == "half"; }),
                 curves.end());
    std::set<std::string> sets;
    for (const Known& one : known_) sets.insert(one.run->set);
    for (const std::string& set : sets) leave_out(set);
    add_curves();
  }

 private:
  [[nodiscard]] Chosen in_fit(const std::string& without = "") const {
    Chosen chosen;
    for (const Known& one : known_) {
      if (one.run->in_fit && one.run->set != without) chosen.push_back(&one);
    }
    return chosen;
  }

  // By the other sets of the same generation; where there is none, by the mean of the others.
  void leave_out(const std::string& set) {
    const auto fitted = fit(in_fit(set));
    if (!fitted) throw_bad_input("two sets of runs at least are needed to leave one out");
    double sum = 0.0;
    for (const auto& [generation, share] : fitted->products) sum += share;
    const double mean = sum / static_cast<double>(fitted->products.size());
    std::vector<Deviation> found;
    bool any_in_fit = false;
    for (const Known& one : known_) {
      if (one.run->set != set) continue;
      any_in_fit = any_in_fit || one.run->in_fit;
      const auto own = fitted->products.find(one.generation());
      const Shares shares{own == fitted->products.end() ? mean : own->second, fitted->memory};
      found.push_back({one.generation(), one.run->of_other_trainer, set,
                       one.run->seconds / seconds_at(*one.run, shares) - 1.0});
      if (one.run->in_interval) deviations_.push_back(found.back());
    }
    efficiency_.left_out.push_back(left_out("runs " + set, found, any_in_fit));
  }

  // Of the runs of the generation, or of other trainers', that were left out; nothing where their
  // sets are fewer than `least`.
  [[nodiscard]] std::optional<ErrorBand> band_for(const std::string& generation,
                                                  bool of_other_trainer, std::size_t least) const {
    std::vector<Deviation> own;
    std::set<std::string> sets;
    for (const Deviation& each : deviations_) {
      if (each.of_other_trainer != of_other_trainer) continue;
      if (generation != kAll && each.generation != generation) continue;
      own.push_back(each);
      sets.insert(each.set);
    }
    if (own.empty() || sets.size() < least) return {};
    return band_of(own);
  }

  [[nodiscard]] EfficiencyCurve curve_of(const std::string& generation,
                                         const EfficiencyTerms& terms) const {
    EfficiencyCurve curve{generation, "half", false, terms, {}};
    const auto own = band_for(generation, false, kSetsForOwnBand);
    curve.error = own ? *own : band_for(kAll, false, 1).value_or(ErrorBand{});
    curve.other_trainers = band_for(generation, true, kSetsForOwnBand);
    return curve;
  }

  void add_curves() {
    const auto fitted = fit(in_fit());
    if (!fitted) throw_bad_input("no runs are left to fit to");
    EfficiencyCurve any{"any", "half", false, kStart, {}};
    any.terms.memory = rounded(fitted->memory);
    any.terms.products = 1.0;
    std::vector<EfficiencyCurve> curves;
    for (const auto& [generation, share] : fitted->products) {
      EfficiencyCurve curve = curve_of(generation, any.terms);
      curve.terms.products = rounded(share);
      any.terms.products = std::min(any.terms.products, rounded(kShareOfOthers * share));
      any.error.below = std::max(any.error.below, rounded(kErrorOfOthers * curve.error.below));
      any.error.above = std::max(any.error.above, rounded(kErrorOfOthers * curve.error.above));
      curves.push_back(curve);
    }
    any.error.below = std::min(any.error.below, 1.0);
    any.other_trainers = band_for(kAll, true, 1);
    // Nor is a device that nobody measured nearer than a trainer of its own is on one that was.
    if (any.other_trainers) {
      any.error.above = std::max(any.error.above, any.other_trainers->above);
    }
    curves.insert(curves.begin(), any);
    auto& all = efficiency_.curves;
    all.insert(all.begin(), curves.begin(), curves.end());
  }

  std::vector<Known> known_;
  Efficiency& efficiency_;
  std::vector<Deviation> deviations_;
};

}  // namespace

void fit_published_runs(const std::vector<PublishedRun>& runs, Efficiency& efficiency) {
  if (!runs.empty()) RunsFit(runs, efficiency).run();
}

}  // namespace penstock
