// In four rounds. (1) Every layout plans two of the batches, the first and the one with the longest
// sample, by every method and setting, with few replays: about as many plans as layouts times
// twenty. (2) Variants (equal cuts, several stages per rank) of the best five layouts of each
// method do so with its best two settings. (3) The three best are planned again with all replays.
// (4) These, or the next where a batch does not fit, plan all batches, and the best answers;
// "dynamic" does so on the layouts of the others, too.
//
// Invariant: what is tried does not depend on what was found by other threads, and ties go to what
// was enumerated first.
#include "studies/dynamic_study.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "costmodel/leave_one_out.h"
#include "report/plan_table.h"
#include "report/words.h"
#include "search/dynamic/batch_rules.h"
#include "search/dynamic/plan_batch.h"
#include "search/dynamic/profile_costs.h"
#include "search/dynamic/replica_replays.h"
#include "search/in_parallel.h"
#include "studies/cached_costs.h"
#include "studies/dynamic_layouts.h"

namespace penstock {
namespace {

constexpr std::int64_t kFewReplays = 60;
constexpr std::size_t kLayouts = 5, kSettings = 2;  // that variants are made of
constexpr std::size_t kRefined = 3;
constexpr std::array kMethods{BatchMethod::kDynamic, BatchMethod::kTokenBudget,
                              BatchMethod::kFixedSize, BatchMethod::kPacked};

std::string name_of(BatchMethod method) {
  switch (method) {
    case BatchMethod::kDynamic:
      return "dynamic";
    case BatchMethod::kTokenBudget:
      return "token budget";
    case BatchMethod::kFixedSize:
      return "fixed size";
    case BatchMethod::kPacked:
      break;
  }
  return "packing";
}

// What a method is tried with; of "dynamic" there is nothing to set, amount 0.
using Setting = BatchRule;

std::string words_of(const Setting& setting) {
  if (setting.amount == 0) return "";
  if (setting.method == BatchMethod::kTokenBudget) return with_commas(setting.amount) + " tokens";
  return count_of(setting.amount, setting.method == BatchMethod::kPacked ? "row" : "sample");
}

std::string words_of(const Plan& layout) {
  std::string words = degrees_text(layout);
  if (layout.chunks > 1) words += fmt::format(", VP {}", layout.chunks);
  if (layout.placement == Placement::kDataInner) words += ", data-inner";
  return words;
}

// One layout with what its shapes cost.
class PlannedLayout {
 public:
  PlannedLayout(const Question& question, const DynamicRequest& request,
                const std::vector<std::string>& modes, const DynamicLayout& layout)
      : request_(request) {
    question_.layout = layout.plan;
    question_.interval = layout.interval;
    question_.executor = question.executor;
    question_.schedules = names_that_suit(layout.plan, question.request.pins.schedules);
    question_.rounding = request.rounding;
    question_.seed = request.drawn.seed;
    for (const std::string& mode : modes) {
      auto costs = std::make_unique<ProfileCosts>(question.inputs(), layout.plan, mode);
      question_.capacity = costs->capacity();
      question_.reserve = costs->reserve();
      costs_.push_back(std::make_unique<CachedCosts>(std::move(costs)));
      question_.recompute.push_back({mode, costs_.back().get()});
    }
  }

  // `rivals`: what "dynamic" weighs besides.
  [[nodiscard]] BatchPlan plan(const Setting& setting, const LengthBatch& batch,
                               std::int64_t replays, const std::vector<Setting>& rivals) const {
    BatchQuestion question = question_;
    question.method = setting.method;
    question.replays = replays;
    if (setting.method == BatchMethod::kTokenBudget) question.tokens = setting.amount;
    if (setting.method == BatchMethod::kFixedSize || setting.method == BatchMethod::kPacked) {
      question.size = static_cast<int>(setting.amount);
    }
    if (setting.method == BatchMethod::kDynamic) {
      question.packs = request_.packs;
      question.rivals = rivals;
    }
    return plan_batch(question, batch);
  }

 private:
  const DynamicRequest& request_;
  BatchQuestion question_;
  std::vector<std::unique_ptr<CachedCosts>> costs_;
};

// A layout and a setting on the probes.
struct Tried {
  DynamicLayout layout;
  Setting setting;
  Duration time{};
  std::string why_not;
};

class StudyRun {
 public:
  StudyRun(const Question& question, const DynamicRequest& request, SearchProgress& progress)
      : question_(question), request_(request), progress_(progress) {}

  DynamicStudy run() {
    DynamicReport& report = study_.report;
    require_lengths(request_.samples, request_.rounding);
    report.batches = sampled_batches(request_.samples, request_.rounding, request_.drawn);
    report.tokens_per_batch = request_.drawn.tokens;
    report.seed = request_.drawn.seed;
    report.pairs = request_.samples.front().decoder_tokens > 0;
    typical_ = typical_of(report.batches, request_.rounding);
    find_probes();
    layouts_ = dynamic_layouts(question_, typical_);
    report.layouts = static_cast<std::int64_t>(layouts_.found.size());
    try_all();
    study_methods();
    report.plans = plans_;
    report.complete = !stopped_;
    add_errors();
    report.not_searched = {
        "fewer GPUs than given; unequal replicas",
        "ZeRO-1 " + std::string(question_.request.pins.zero1 ? "as pinned" : "off where DP > 1"),
        "cuts other than those of an even batch and equal ones"};
    return std::move(study_);
  }

 private:
  // The first batch, and the one with the longest sample if that is another.
  void find_probes() {
    const auto& batches = study_.report.batches;
    std::size_t longest = 0;
    int most = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      for (const SampleLength& sample : batches[i]) {
        if (sample.tokens + sample.decoder_tokens <= most) continue;
        most = sample.tokens + sample.decoder_tokens;
        longest = i;
      }
    }
    longest_tokens_ = most;
    probes_ = {0};
    if (longest > 0) probes_.push_back(longest);
  }

  [[nodiscard]] std::vector<Setting> settings(BatchMethod method, const Plan& layout) const {
    if (method == BatchMethod::kDynamic) return {{method, 0}};
    const auto tokens = static_cast<double>(request_.drawn.tokens);
    const double whole = method == BatchMethod::kTokenBudget ? tokens
                         : method == BatchMethod::kFixedSize ? typical_.samples
                                                             : tokens / longest_tokens_;
    return rules_of(method, layout, whole);
  }
  // What "dynamic" contains: the settings that the others are tried with, so that it is no slower
  // than any of them on the same layout. Packing is among them where it may pack.
  [[nodiscard]] std::vector<Setting> rivals(const Plan& layout) const {
    std::vector<Setting> found =
        rival_rules(layout, static_cast<double>(request_.drawn.tokens), typical_.samples);
    if (!request_.packs) return found;
    for (const Setting& packing : settings(BatchMethod::kPacked, layout)) found.push_back(packing);
    return found;
  }

  // Time of the probes, or why one of them has no plan.
  Tried tried(const PlannedLayout& layout, const DynamicLayout& of, const Setting& setting,
              std::int64_t replays, const std::vector<Setting>& rivals) {
    Tried result{of, setting, {}, ""};
    for (const std::size_t probe : probes_) {
      const BatchPlan planned = layout.plan(setting, study_.report.batches[probe], replays, rivals);
      ++plans_;
      result.why_not = planned.why_not;
      if (!result.why_not.empty()) return result;
      result.time += planned.evaluated.evaluation.step_time;
    }
    return result;
  }

  // False when the study shall end.
  bool goes_on(std::int64_t done, std::int64_t all) {
    const std::lock_guard lock(mutex_);
    if (!stopped_ && progress_.stop()) stopped_ = true;
    if (!stopped_) progress_.update(done, all, best_);
    return !stopped_;
  }
  bool is_stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  void note(const Tried& result) {
    if (!result.why_not.empty() || result.setting.method != BatchMethod::kDynamic) return;
    const std::lock_guard lock(mutex_);
    const Duration step = result.time / static_cast<std::int64_t>(probes_.size());
    if (best_ == Duration{} || step < best_) best_ = step;
  }

  void try_all() {
    const std::vector<DynamicLayout>& found = layouts_.found;
    std::vector<std::vector<Tried>> results(found.size());
    std::atomic<std::int64_t> done{0};
    in_parallel(question_.request.threads, found.size(), [&](std::size_t i) {
      const PlannedLayout layout(question_, request_, layouts_.modes, found[i]);
      for (const BatchMethod method : kMethods) {
        for (const Setting& setting : settings(method, found[i].plan)) {
          if (!goes_on(done, static_cast<std::int64_t>(found.size()))) return;
          results[i].push_back(tried(layout, found[i], setting, kFewReplays, {}));
          note(results[i].back());
        }
      }
      offer_rivals(results[i]);
      ++done;
    });
    for (const std::vector<Tried>& of_layout : results) {
      for (const Tried& one : of_layout) tried_[one.setting.method].push_back(one);
    }
  }

  // What the others have found on a layout "dynamic" would find, too, were it to look.
  void offer_rivals(std::vector<Tried>& of_layout) const {
    const auto is_rival = [&](const Tried& one) {
      return one.why_not.empty() && one.setting.method != BatchMethod::kDynamic &&
             (request_.packs || one.setting.method != BatchMethod::kPacked);
    };
    Tried& dynamic = of_layout.front();
    for (const Tried& one : of_layout) {
      if (is_rival(one) && (!dynamic.why_not.empty() || one.time < dynamic.time)) {
        dynamic.time = one.time;
        dynamic.why_not.clear();
      }
    }
  }

  // Those that fit, fastest first.
  static std::vector<Tried> ranked(std::vector<Tried> tried) {
    std::erase_if(tried, [](const Tried& one) { return !one.why_not.empty(); });
    std::stable_sort(tried.begin(), tried.end(),
                     [](const Tried& a, const Tried& b) { return a.time < b.time; });
    return tried;
  }

  // The best settings of the best layouts, and the same on the variants of these.
  [[nodiscard]] std::vector<Tried> with_variants(const std::vector<Tried>& best) const {
    std::vector<Tried> wanted;
    std::vector<std::pair<Plan, std::size_t>> layouts;  // and how many settings were taken
    for (const Tried& one : best) {
      auto at = std::find_if(layouts.begin(), layouts.end(),
                             [&](const auto& known) { return known.first == one.layout.plan; });
      if (at == layouts.end()) {
        if (layouts.size() == kLayouts) continue;
        at = layouts.insert(layouts.end(), {one.layout.plan, 0});
      }
      if (at->second++ >= kSettings) continue;
      wanted.push_back(one);
      for (DynamicLayout& other : dynamic_variants(question_, layouts_, one.layout, typical_)) {
        wanted.push_back({std::move(other), one.setting, {}, ""});
      }
    }
    return wanted;
  }

  // The same on the probes with so many replays, fastest first.
  std::vector<Tried> tried_again(const std::vector<Tried>& wanted, std::int64_t replays) {
    std::vector<Tried> results = wanted;
    std::atomic<std::int64_t> done{0};
    in_parallel(question_.request.threads, wanted.size(), [&](std::size_t i) {
      if (!goes_on(done, static_cast<std::int64_t>(wanted.size()))) {
        results[i].why_not = "not tried again";
        return;
      }
      const PlannedLayout layout(question_, request_, layouts_.modes, wanted[i].layout);
      results[i] = tried(layout, wanted[i].layout, wanted[i].setting, replays,
                         rivals(wanted[i].layout.plan));
      note(results[i]);
      ++done;
    });
    return ranked(std::move(results));
  }

  std::vector<Tried> refined(const std::vector<Tried>& best) {
    const std::vector<Tried> variants = tried_again(with_variants(best), kFewReplays);
    if (variants.empty()) return best;
    const auto most = static_cast<std::ptrdiff_t>(std::min(variants.size(), kRefined));
    std::vector<Tried> all =
        tried_again({variants.begin(), variants.begin() + most}, request_.replays);
    // Where a batch fits none of those, the next.
    all.insert(all.end(), variants.begin() + most, variants.end());
    return all;
  }

  // The answer of a method, with what it needs beyond words.
  struct Answer {
    DynamicMethod method;
    DynamicLayout layout;
    std::optional<EvaluatedPlan> first;  // of the first batch under "dynamic"
    [[nodiscard]] Duration time() const {
      Duration sum{};
      for (const DynamicStep& step : method.steps) sum += step.step;
      return sum;
    }
  };

  Answer studied(BatchMethod method) {
    const std::vector<Tried> best = ranked(tried_[method]);
    Answer result;
    result.method.name = name_of(method);
    if (best.empty()) {
      result.method.why_not = why_nothing_fits(method);
      return result;
    }
    // Chosen by two batches they are close together, and all batches decide.
    std::size_t fitting = 0;
    for (const Tried& candidate : refined(best)) {
      Answer one = planned(candidate);
      const bool fits = one.method.why_not.empty();
      if (fitting == 0 || (fits && one.time() < result.time())) result = std::move(one);
      fitting += fits ? 1 : 0;
      if (fitting == kRefined || (fitting > 0 && is_stopped())) break;
    }
    return result;
  }

  // The layouts are chosen by two batches, so that another's may be the better one over all: each
  // that another method has come to is planned, too.
  void study_methods() {
    std::vector<Answer> answers;
    answers.reserve(kMethods.size());
    for (const BatchMethod method : kMethods) answers.push_back(studied(method));
    Answer& dynamic = answers.front();
    std::vector<Plan> known{dynamic.layout.plan};
    for (std::size_t i = 1; i < answers.size(); ++i) {
      const DynamicLayout layout = answers[i].layout;
      const bool is_known = std::find(known.begin(), known.end(), layout.plan) != known.end();
      if (!answers[i].method.why_not.empty() || is_known) continue;
      known.push_back(layout.plan);
      Answer other = planned({layout, {BatchMethod::kDynamic, 0}, {}, ""});
      if (!other.method.why_not.empty()) continue;
      if (!dynamic.method.why_not.empty() || other.time() < dynamic.time()) {
        dynamic = std::move(other);
      }
    }
    study_.first = std::move(dynamic.first);
    for (Answer& answer : answers) study_.report.methods.push_back(std::move(answer.method));
  }

  [[nodiscard]] std::string why_nothing_fits(BatchMethod method) const {
    const auto found = tried_.find(method);
    if (found != tried_.end() && !found->second.empty()) return found->second.front().why_not;
    if (stopped_) return "the search was ended before any plan";
    return layouts_.left_out.empty() ? "no TP x PP x DP makes up the GPUs"
                                     : layouts_.left_out.front();
  }

  // All batches. What is timed runs by itself.
  Answer planned(const Tried& candidate) {
    const auto& batches = study_.report.batches;
    const bool is_dynamic = candidate.setting.method == BatchMethod::kDynamic;
    Answer answer;
    answer.layout = candidate.layout;
    DynamicMethod& result = answer.method;
    result.name = name_of(candidate.setting.method);
    result.setting = words_of(candidate.setting);
    result.layout = words_of(candidate.layout.plan);
    result.steps.resize(batches.size());
    std::vector<std::string> why_not(batches.size());
    const PlannedLayout layout(question_, request_, layouts_.modes, candidate.layout);
    const std::vector<Setting> rivals_here = rivals(candidate.layout.plan);
    const int threads = is_dynamic && request_.now ? 1 : question_.request.threads;
    in_parallel(threads, batches.size(), [&](std::size_t i) {
      const Duration begin = is_dynamic && request_.now ? request_.now() : Duration{};
      BatchPlan plan = layout.plan(candidate.setting, batches[i], request_.replays, rivals_here);
      ++plans_;
      why_not[i] = plan.why_not;
      if (!why_not[i].empty()) return;
      result.steps[i] = step_of(plan);
      if (is_dynamic && request_.now) result.steps[i].planning = request_.now() - begin;
      if (is_dynamic && i == 0) answer.first = std::move(plan.evaluated);
    });
    for (std::size_t i = 0; i < batches.size() && result.why_not.empty(); ++i) {
      if (!why_not[i].empty()) result.why_not = fmt::format("batch {}: {}", i + 1, why_not[i]);
    }
    if (!result.why_not.empty()) result.steps.clear();
    return answer;
  }

  static DynamicStep step_of(const BatchPlan& plan) {
    const Evaluation& evaluation = plan.evaluated.evaluation;
    const std::vector<MicroBatchShape> shapes = micro_batch_shapes(plan.evaluated.plan);
    DynamicStep step;
    step.step = evaluation.step_time;
    step.makespan = evaluation.makespan;
    step.objective_ns = plan.objective_ns;
    step.real_tokens = plan.real_tokens;
    step.padded_tokens = plan.padded_tokens;
    step.schedule = plan.evaluated.plan.schedule;
    step.recompute = plan.evaluated.plan.recompute;
    step.replays = plan.counts.replays;
    for (int rank = 0; rank < plan.evaluated.plan.pipeline; ++rank) {
      step.peak.push_back(evaluation.ranks[static_cast<std::size_t>(rank)].memory.total());
    }
    for (const PlannedReplica& replica : plan.replicas) {
      auto& micro_batches = step.replicas.emplace_back();
      for (const PlannedMicroBatch& planned : replica.micro_batches) {
        DynamicMicroBatch& one = micro_batches.emplace_back();
        one.shape = shapes[static_cast<std::size_t>(planned.shape)];
        one.real_tokens = planned.real_tokens;
        one.weight = planned.weight;
        for (const std::vector<int>& row : planned.rows) {
          one.samples.insert(one.samples.end(), row.begin(), row.end());
        }
      }
    }
    return step;
  }

  void add_errors() {
    const GridErrors errors = leave_one_out(question_.profile.value, layouts_.device);
    const auto add = [&](std::string axis, const LeftOutErrors& of) {
      study_.report.errors.push_back(
          {std::move(axis), of.points, of.mean_time, of.worst_time, of.mean_stash, of.worst_stash});
    };
    add("micro-batch size", errors.samples);
    add("length", errors.length);
    if (study_.report.pairs) add("decoder length", errors.decoder_length);
  }

  const Question& question_;
  const DynamicRequest& request_;
  SearchProgress& progress_;
  DynamicStudy study_;
  TypicalBatch typical_;
  int longest_tokens_ = 1;
  std::vector<std::size_t> probes_;
  DynamicLayouts layouts_;
  std::map<BatchMethod, std::vector<Tried>> tried_;
  std::atomic<std::int64_t> plans_{0};
  std::mutex mutex_;
  bool stopped_ = false;
  Duration best_{};
};

}  // namespace

DynamicStudy study_dynamic(const Question& question, const DynamicRequest& request,
                           SearchProgress& progress) {
  return StudyRun(question, request, progress).run();
}

}  // namespace penstock
