// Lays a measured run beside the prediction, action by action: medians over the steps that count,
// per action and rank, so that one disturbed step does not decide. Compute is compared with the
// plan's price and not with the timeline, in which both members of an OVERLAP have the time of the
// pair. A receive lasts from when it was posted, which says nothing about the wire, so receives are
// left out of errors.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/values/durations.h"
#include "core/values/error.h"
#include "report/validation.h"

namespace penstock {

Duration median_of(std::vector<Duration> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

namespace {

Duration deviation_of(std::vector<Duration> values, Duration median) {
  for (Duration& value : values) value = value < median ? median - value : value - median;
  return median_of(std::move(values));
}

// The actions of every rank of the Program, in list order.
std::vector<std::vector<std::size_t>> lists_of(const Program& program) {
  std::vector<std::vector<std::size_t>> lists(static_cast<std::size_t>(program.ranks()));
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    lists[static_cast<std::size_t>(program.rank_of(program.actions[i]).value)].push_back(i);
  }
  return lists;
}

// What one execution takes. Of compute the plan's own price: of the two actions of an OVERLAP the
// timeline holds the time of both together, which ranks that run them one after the other cannot
// be compared with.
Duration predicted_of(const PlanFile& plan, const Action& action, const Timeline& timeline,
                      std::size_t index) {
  if (!is_compute(action.kind)) return timeline.end[index] - timeline.start[index];
  return duration_of(plan.prices, plan.executor, action.kind, priced_place(plan.program, action));
}

// The measured times of one rank of the job over the steps that count.
struct MeasuredList {
  int rank = 0;
  const std::vector<std::size_t>* actions = nullptr;
  std::vector<const MeasuredRank*> steps;
};

bool is_measured(const MeasuredRank& rank, std::size_t i) { return rank.end[i] != kNotMeasured; }

class Comparison {
 public:
  Comparison(const PlanFile& plan, const Timeline& predicted, const RunLog& run,
             const ValidationOptions& options, const std::string& run_name)
      : plan_(plan),
        program_(plan.program),
        predicted_(predicted),
        run_(run),
        options_(options),
        run_name_(run_name),
        lists_(lists_of(program_)) {
    result_.tolerance = options.tolerance;
    result_.predicted = predicted.step_end.time_since_epoch();
  }

  Validation compare() {
    choose_steps();
    compare_step_time();
    collect_ranks();
    for (const auto& [rank, list] : ranks_) compare_rank(list);
    for (auto& [key, samples] : samples_) compare_kind(key, samples);
    compare_sections();
    return std::move(result_);
  }

 private:
  struct Samples {
    std::int64_t predicted_ns = 0, count = 0;  // over one step
    std::vector<Duration> measured;
  };

  void choose_steps() {
    const std::size_t total = run_.steps.size();
    const auto skipped = std::min(total, static_cast<std::size_t>(options_.warm_up));
    if (skipped == total) {
      throw_bad_input(
          fmt::format("{}: {} steps, and the first {} are warm-up: nothing is left to "
                      "compare\nhelp: train for more steps, or lower --warm-up",
                      run_name_, total, options_.warm_up));
    }
    for (std::size_t i = skipped; i < total; ++i) steps_.push_back(&run_.steps[i]);
    result_.skipped = static_cast<int>(skipped);
    result_.steps = static_cast<int>(steps_.size());
  }

  void compare_step_time() {
    std::vector<Duration> times;
    times.reserve(steps_.size());
    for (const MeasuredStep* step : steps_) times.push_back(step->step_time);
    result_.measured = median_of(times);
    result_.measured_spread = deviation_of(times, result_.measured);
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    result_.fastest = *least;
    result_.slowest = *most;
    result_.error = prediction_error(result_.predicted, result_.measured);
  }

  void collect_ranks() {
    for (const MeasuredStep* step : steps_) {
      if (step->ranks.empty()) continue;
      ++result_.traced_steps;
      for (const MeasuredRank& rank : step->ranks) {
        MeasuredList& list = ranks_[rank.rank];
        list.rank = rank.rank;
        list.actions = &list_of(*step, rank);
        list.steps.push_back(&rank);
      }
    }
  }

  const std::vector<std::size_t>& list_of(const MeasuredStep& step, const MeasuredRank& rank) {
    const auto fail = [&](const std::string& what) {
      throw_bad_input(
          fmt::format("{}: step {}, rank {}: {}\nhelp: validate a run with the plan file "
                      "that it ran",
                      run_name_, step.step, rank.rank, what));
    };
    if (rank.pipeline >= static_cast<int>(program_.pipelines.size())) {
      fail(fmt::format("it ran pipeline {}, but the plan has {}", rank.pipeline,
                       program_.pipelines.size()));
    }
    const Pipeline& pipeline = program_.pipelines[static_cast<std::size_t>(rank.pipeline)];
    if (rank.pipeline_rank >= pipeline.ranks) {
      fail(fmt::format("it was rank {} of its pipeline, but the plan has {}", rank.pipeline_rank,
                       pipeline.ranks));
    }
    const auto& list = lists_[static_cast<std::size_t>(pipeline.first_rank) +
                              static_cast<std::size_t>(rank.pipeline_rank)];
    if (list.size() != rank.start.size()) {
      fail(fmt::format("it ran {} actions, but the plan has {}", rank.start.size(), list.size()));
    }
    return list;
  }

  void compare_rank(const MeasuredList& list) {
    RankComparison rank{.rank = list.rank};
    std::vector<Duration> busy(list.steps.size()), ends(list.steps.size());
    for (std::size_t i = 0; i < list.actions->size(); ++i) {
      const Action& action = program_.actions[(*list.actions)[i]];
      const bool measured = std::any_of(list.steps.begin(), list.steps.end(),
                                        [i](const MeasuredRank* s) { return is_measured(*s, i); });
      if (!measured) continue;
      const ActionComparison both = compare_action(list, i);
      rank.predicted_end = std::max(rank.predicted_end, both.predicted_end);
      const Duration predicted = predicted_of(plan_, action, predicted_, (*list.actions)[i]);
      if (is_compute(action.kind)) rank.predicted_busy += predicted;
      for (std::size_t k = 0; k < list.steps.size(); ++k) {
        const MeasuredRank& step = *list.steps[k];
        if (!is_measured(step, i)) continue;
        ends[k] = std::max(ends[k], step.end[i]);
        if (is_compute(action.kind)) busy[k] += step.end[i] - step.start[i];
      }
      // A receive lasts from when it was posted, which says nothing.
      if (!is_receive(action.kind)) sample(action, predicted, list, i);
      result_.actions.push_back(both);
    }
    rank.measured_busy = median_of(std::move(busy));
    rank.measured_end = median_of(std::move(ends));
    result_.ranks.push_back(rank);
  }

  ActionComparison compare_action(const MeasuredList& list, std::size_t i) const {
    const std::size_t index = (*list.actions)[i];
    std::vector<Duration> starts, ends;
    starts.reserve(list.steps.size());
    ends.reserve(list.steps.size());
    for (const MeasuredRank* step : list.steps) {
      if (!is_measured(*step, i)) continue;
      starts.push_back(step->start[i]);
      ends.push_back(step->end[i]);
    }
    return {.rank = list.rank,
            .name = name_of(program_, program_.actions[index]),
            .predicted_start = predicted_.start[index].time_since_epoch(),
            .predicted_end = predicted_.end[index].time_since_epoch(),
            .measured_start = median_of(std::move(starts)),
            .measured_end = median_of(std::move(ends))};
  }

  void sample(const Action& action, Duration predicted, const MeasuredList& list, std::size_t i) {
    const Pipeline& pipeline =
        program_.pipelines[static_cast<std::size_t>(list.steps.front()->pipeline)];
    Samples& samples = samples_[{action.kind, action.stage.value - pipeline.first_stage}];
    samples.predicted_ns += predicted.count();
    ++samples.count;
    for (const MeasuredRank* step : list.steps) {
      if (!is_measured(*step, i)) continue;
      samples.measured.push_back(step->end[i] - step->start[i]);
    }
  }

  void compare_kind(const std::pair<ActionKind, int>& key, Samples& samples) {
    const auto [least, most] =
        std::minmax_element(samples.measured.begin(), samples.measured.end());
    KindComparison kind{.kind = key.first,
                        .stage = key.second,
                        .count = samples.count,
                        .predicted = Duration{samples.predicted_ns / samples.count},
                        .fastest = *least,
                        .slowest = *most};
    kind.measured = median_of(std::move(samples.measured));
    result_.kinds.push_back(kind);
  }

  void compare_sections() {
    std::map<ActionKind, std::vector<Duration>> times;
    for (const auto& [rank, list] : ranks_) {
      for (const MeasuredRank* step : list.steps) {
        for (const MeasuredSection& section : step->sections) {
          times[section.kind].push_back(section.end - section.start);
        }
      }
    }
    for (auto& [kind, all] : times) {
      const auto [least, most] = std::minmax_element(all.begin(), all.end());
      SectionComparison section{.kind = kind, .fastest = *least, .slowest = *most};
      section.count = static_cast<std::int64_t>(all.size()) / result_.traced_steps;
      section.measured = median_of(std::move(all));
      result_.sections.push_back(section);
    }
  }

  const PlanFile& plan_;
  const Program& program_;
  const Timeline& predicted_;
  const RunLog& run_;
  const ValidationOptions& options_;
  const std::string& run_name_;
  const std::vector<std::vector<std::size_t>> lists_;
  std::vector<const MeasuredStep*> steps_;
  std::map<int, MeasuredList> ranks_;
  std::map<std::pair<ActionKind, int>, Samples> samples_;
  Validation result_;
};

}  // namespace

Validation validate(const PlanFile& plan, const Timeline& predicted, const RunLog& run,
                    const ValidationOptions& options, const std::string& run_name) {
  return Comparison(plan, predicted, run, options, run_name).compare();
}

}  // namespace penstock
