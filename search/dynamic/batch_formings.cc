// For every rung one split per assumption of how many micro-batches a rank holds at once: one (the
// largest micro-batches that can run at all), as many as 1F1B holds (then 1F1B fits with any
// order), and half of that. Which is best, replays decide. Rungs between which no range comes to
// fit give the same table and are split once.
#include "search/dynamic/batch_formings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/values/durations.h"
#include "core/values/error.h"
#include "search/dynamic/range_rows.h"
#include "search/dynamic/sample_orders.h"
#include "search/dynamic/split_exactly.h"

namespace penstock {
namespace {

constexpr int kSplitRungsPerOctave = 2;

std::string sample_words(int sample, const SampleLength& length) {
  std::string words = "sample " + std::to_string(sample) + " (" + std::to_string(length.tokens);
  if (length.decoder_tokens > 0) words += " and " + std::to_string(length.decoder_tokens);
  return words + " tokens)";
}

// What stops a micro-batch of one shape; empty when it can run.
std::string why_not_alone(const KnownShape& shape, std::int64_t limit) {
  if (shape.status != ShapeStatus::kKnown) return shape.why_not;
  if (shape.need[0] <= limit) return {};
  return "needs " + to_text(Bytes{shape.need[0]}) + " alone, " +
         to_text(Bytes{shape.need[0] - limit}) + " more than there are";
}

class ModeFormings {
 public:
  ModeFormings(const BatchQuestion& question, const LengthBatch& batch, std::size_t index,
               BatchMode& mode, Formings& result)
      : question_(question),
        batch_(batch),
        index_(index),
        mode_(mode),
        input_{batch, question.rounding, mode.shapes},
        weights_{question.layout.pipeline, question.layout.chunks, question.layout.data},
        result_(result),
        orders_(sample_orders(batch)) {}

  void run() {
    find_least_need();
    if (!mode_.why_not.empty()) return;
    if (question_.method == BatchMethod::kDynamic) {
      split();
    } else {
      add({0, index_, 0}, 0, by_rule());
    }
  }

 private:
  void find_least_need() {
    const std::vector<int>& order = orders_.front();
    std::vector<MicroBatchShape> alone;
    alone.reserve(order.size());
    for (const int sample : order) {
      alone.push_back(
          padded_shape(1, fed_of(batch_[static_cast<std::size_t>(sample)], question_.rounding),
                       question_.rounding));
    }
    const std::vector<int> ids = mode_.shapes.ids_of(alone);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const KnownShape& shape = mode_.shapes.at(ids[i]);
      mode_.least_need = std::max(mode_.least_need, shape.need[0]);
      const std::string why_not = why_not_alone(shape, mode_.shapes.limit());
      if (why_not.empty()) continue;
      mode_.why_not =
          sample_words(order[i], batch_[static_cast<std::size_t>(order[i])]) + " " + why_not;
      return;
    }
    mode_.recomputes = takes_recompute_time(mode_.shapes.cost_of(ids.front()).prices);
  }

  void split() {
    std::vector<RangeRows> rows;
    rows.reserve(orders_.size());
    for (const auto& order : orders_) {
      rows.push_back(range_rows(batch_, order, question_.rounding, mode_.shapes));
    }
    const std::vector<std::int64_t> rungs = rungs_of(mode_, kSplitRungsPerOctave);
    const bool holds_more = question_.layout.pipeline * question_.layout.chunks > 1;
    for (std::size_t k = 0; k < rungs.size(); ++k) {
      for (std::size_t held = 0; held < (holds_more ? kHeldKinds : 1); ++held) {
        split_within(rows, {k, index_, held}, rungs[k]);
      }
    }
  }

  // Of all orders of the samples the one whose split has the least objective.
  void split_within(const std::vector<RangeRows>& rows, const decltype(Forming::key)& key,
                    std::int64_t limit) {
    const auto held = static_cast<HeldAtOnce>(std::get<2>(key));
    std::vector<RangeTimes> times;
    times.reserve(rows.size());
    for (const RangeRows& of_order : rows) {
      times.push_back(times_within(of_order, mode_.shapes, held, limit));
    }
    if (was_split(times)) return;
    Split best;
    std::size_t best_order = 0;
    for (std::size_t o = 0; o < times.size(); ++o) {
      Split found = split_exactly(times[o], weights_);
      ++result_.splits;
      result_.evaluations += found.evaluations;
      if (found.objective >= best.objective) continue;
      best = std::move(found);
      best_order = o;
    }
    tables_.push_back(std::move(times));
    if (!best.ends.empty()) add(key, limit, cut_at(input_, orders_[best_order], best.ends));
  }
  [[nodiscard]] bool was_split(const std::vector<RangeTimes>& times) const {
    return std::any_of(tables_.begin(), tables_.end(), [&](const std::vector<RangeTimes>& known) {
      return std::equal(known.begin(), known.end(), times.begin(),
                        [](const RangeTimes& a, const RangeTimes& b) {
                          return a.begin == b.begin && a.time == b.time;
                        });
    });
  }

  std::vector<FormedMicroBatch> by_rule() {
    const std::vector<int>& order = orders_.front();
    const auto size = static_cast<std::size_t>(question_.size);
    switch (question_.method) {
      case BatchMethod::kTokenBudget:
        return cut_at(input_, order, ends_by_tokens(input_, order, question_.tokens));
      case BatchMethod::kFixedSize:
        return cut_at(input_, order, ends_by_size(order.size(), size));
      default:
        return packed(input_, order, size);
    }
  }

  void add(const decltype(Forming::key)& key, std::int64_t rung,
           std::vector<FormedMicroBatch> micro_batches) {
    if (question_.packs) pack_within(input_, micro_batches);
    const auto replicas = static_cast<std::size_t>(question_.layout.data);
    if (!divide_until(input_, replicas, micro_batches)) {
      mode_.why_not = "the batch forms " + std::to_string(micro_batches.size()) +
                      " micro-batches at most, too few for " + std::to_string(replicas) +
                      " replicas";
      return;
    }
    if (!may_run(micro_batches)) return;
    Forming forming{key, &mode_, rung, {std::move(micro_batches), 0.0, 0.0}};
    double sum = 0.0;
    for (const FormedMicroBatch& formed : forming.formed.micro_batches) {
      const double time = mode_.shapes.at(formed.shape).time_ns;
      forming.formed.longest_ns = std::max(forming.formed.longest_ns, time);
      sum += time;
    }
    forming.formed.objective_ns = weights_.objective(forming.formed.longest_ns, sum);
    const bool is_known =
        std::any_of(result_.list.begin(), result_.list.end(), [&](const Forming& other) {
          return other.mode == &mode_ && other.formed == forming.formed;
        });
    if (!is_known) result_.list.push_back(std::move(forming));
  }

  bool may_run(const std::vector<FormedMicroBatch>& micro_batches) {
    for (const FormedMicroBatch& formed : micro_batches) {
      const KnownShape& shape = mode_.shapes.at(formed.shape);
      const std::string why_not = why_not_alone(shape, mode_.shapes.limit());
      if (why_not.empty()) continue;
      mode_.why_not = "a micro-batch of " + std::to_string(shape.shape.samples) + " rows of " +
                      std::to_string(shape.shape.tokens) + " tokens " + why_not;
      return false;
    }
    return true;
  }

  const BatchQuestion& question_;
  const LengthBatch& batch_;
  std::size_t index_;
  BatchMode& mode_;
  FormingInput input_;
  SplitWeights weights_;
  Formings& result_;
  std::vector<std::vector<int>> orders_;
  std::vector<std::vector<RangeTimes>> tables_;  // that were split
};

}  // namespace

BatchMode::BatchMode(const BatchQuestion& question, const RecomputeChoice& of)
    : choice(of),
      shapes(*of.costs, question.layout, question.executor, question.capacity, question.reserve) {}

std::vector<std::int64_t> rungs_of(const BatchMode& mode, int per_octave) {
  const std::int64_t kept = mode.shapes.kept();
  const auto room = static_cast<double>(std::max<std::int64_t>(1, mode.least_need - kept));
  std::vector<std::int64_t> rungs;
  for (int k = 0;; ++k) {
    const int octaves = k / per_octave;
    double part = std::ldexp(room, octaves);
    // By repeated roots, which are rounded the same everywhere.
    double root = 2.0;
    for (int left = k % per_octave, of = per_octave; left > 0 && of > 1; of /= 2, left %= of) {
      root = std::sqrt(root);
      if (left * 2 >= of) part *= root;
    }
    const double rung = static_cast<double>(kept) + std::ceil(part);
    const std::int64_t limit =
        k == 0 ? std::max(mode.least_need, kept) : static_cast<std::int64_t>(rung);
    if (limit > mode.shapes.limit()) return rungs;
    rungs.push_back(limit);
  }
}

Formings form_batch(const BatchQuestion& question, const LengthBatch& batch) {
  Formings result;
  for (std::size_t index = 0; index < question.recompute.size(); ++index) {
    auto mode = std::make_unique<BatchMode>(question, question.recompute[index]);
    ModeFormings(question, batch, index, *mode, result).run();
    if (!mode->why_not.empty()) {
      if (!result.why_not.empty()) result.why_not += "; ";
      result.why_not += "recompute '" + mode->choice.mode + "': " + mode->why_not;
    }
    result.modes.push_back(std::move(mode));
  }
  std::sort(result.list.begin(), result.list.end(),
            [](const Forming& a, const Forming& b) { return a.key < b.key; });
  return result;
}

}  // namespace penstock
