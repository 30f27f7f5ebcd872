// For every rung one split per assumption of how many micro-batches a rank holds at once: one (the
// largest micro-batches that can run at all), as many as 1F1B holds (then 1F1B fits with any
// order), and half of that. Which is best, replays decide. Most rungs need no split of their own,
// because what is best with more memory fits into them.
#include "search/dynamic/batch_formings.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

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
      add({0, index_, 0}, 0, by_rule(own_rule()));
    }
    // Where a rule forms nothing that runs, it is no rival.
    for (std::size_t i = 0; i < question_.rivals.size(); ++i) add_rival(i);
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
    mode_.recomputes = mode_.shapes.at(ids.front()).recomputes;
  }

  void split() {
    std::vector<RangeRows> rows;
    rows.reserve(orders_.size());
    for (const auto& order : orders_) {
      rows.push_back(range_rows(batch_, order, question_.rounding, mode_.shapes));
    }
    const std::vector<std::int64_t> rungs = rungs_of(mode_, kSplitRungsPerOctave);
    const std::size_t kinds =
        question_.layout.pipeline * question_.layout.chunks > 1 ? kHeldKinds : 1;
    // Fewer held at once and more memory admit all ranges that the others do, so their splits are
    // known before.
    std::vector<std::vector<Splits>> found(rungs.size(), std::vector<Splits>(kinds));
    for (std::size_t k = rungs.size(); k-- > 0;) {
      for (std::size_t held = 0; held < kinds; ++held) {
        std::vector<const Splits*> of_more;
        if (held > 0) of_more.push_back(&found[k][held - 1]);
        if (k + 1 < rungs.size()) of_more.push_back(&found[k + 1][held]);
        for (std::size_t o = 0; o < rows.size(); ++o) {
          const Within within{rows[o], static_cast<HeldAtOnce>(held), rungs[k]};
          found[k][held].push_back(split_within(within, o, of_more));
        }
      }
    }
    for (std::size_t k = 0; k < rungs.size(); ++k) {
      for (std::size_t held = 0; held < kinds; ++held) {
        add_best({k, index_, held}, rungs[k], found[k][held]);
      }
    }
  }

  using Splits = std::vector<Split>;  // by order
  struct Within {
    const RangeRows& rows;
    HeldAtOnce held;
    std::int64_t limit;
  };

  // What is best among more ranges and needs none of those that are left out stays the best.
  Split split_within(const Within& within, std::size_t order,
                     const std::vector<const Splits*>& of_more) {
    double guess = 0.0;
    for (const Splits* splits : of_more) {
      const Split& split = (*splits)[order];
      if (is_within(split, within.rows, mode_.shapes, within.held, within.limit)) return split;
      guess = split.longest;
    }
    Split found = split_exactly(times_within(within.rows, mode_.shapes, within.held, within.limit),
                                weights_, guess);
    ++result_.splits;
    result_.evaluations += found.evaluations;
    return found;
  }

  // Of all orders of the samples the one whose split has the least objective.
  void add_best(const decltype(Forming::key)& key, std::int64_t limit, const Splits& splits) {
    std::size_t best = 0;
    for (std::size_t o = 1; o < splits.size(); ++o) {
      if (splits[o].objective < splits[best].objective) best = o;
    }
    std::pair<std::size_t, std::vector<std::size_t>> cuts{best, splits[best].ends};
    const bool is_known = std::find(cuts_.begin(), cuts_.end(), cuts) != cuts_.end();
    if (is_known || cuts.second.empty()) return;
    add(key, limit, cut_at(input_, orders_[best], cuts.second));
    cuts_.push_back(std::move(cuts));
  }

  [[nodiscard]] BatchRule own_rule() const {
    const bool by_tokens = question_.method == BatchMethod::kTokenBudget;
    return {question_.method, by_tokens ? question_.tokens : question_.size};
  }
  std::vector<FormedMicroBatch> by_rule(const BatchRule& rule) {
    const std::vector<int>& order = orders_.front();
    const auto size = static_cast<std::size_t>(rule.amount);
    switch (rule.method) {
      case BatchMethod::kTokenBudget:
        return cut_at(input_, order, ends_by_tokens(input_, order, rule.amount));
      case BatchMethod::kFixedSize:
        return cut_at(input_, order, ends_by_size(order.size(), size));
      default:
        return packed(input_, order, size);
    }
  }
  void add_rival(std::size_t rival) {
    std::vector<FormedMicroBatch> micro_batches = by_rule(question_.rivals[rival]);
    const auto replicas = static_cast<std::size_t>(question_.layout.data);
    if (!divide_until(input_, replicas, micro_batches)) return;
    if (why_not_run(micro_batches).empty())
      keep({0, index_, 0}, rival + 1, 0, std::move(micro_batches));
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
    mode_.why_not = why_not_run(micro_batches);
    if (mode_.why_not.empty()) keep(key, 0, rung, std::move(micro_batches));
  }

  // Unless it is known.
  void keep(const decltype(Forming::key)& key, std::size_t origin, std::int64_t rung,
            std::vector<FormedMicroBatch> micro_batches) {
    price(micro_batches);
    Forming forming{key, origin, &mode_, rung, {std::move(micro_batches), 0.0, 0.0}};
    double sum = 0.0;
    for (const FormedMicroBatch& formed : forming.formed.micro_batches) {
      const double time = mode_.shapes.at(formed.shape).time_ns;
      forming.formed.longest_ns = std::max(forming.formed.longest_ns, time);
      sum += time;
    }
    forming.formed.objective_ns = weights_.objective(forming.formed.longest_ns, sum);
    const bool is_known =
        std::any_of(result_.list.begin(), result_.list.end(), [&](const Forming& other) {
          return other.mode == &mode_ && other.origin == origin && other.formed == forming.formed;
        });
    if (!is_known) result_.list.push_back(std::move(forming));
  }

  void price(const std::vector<FormedMicroBatch>& micro_batches) {
    std::vector<int> ids;
    ids.reserve(micro_batches.size());
    for (const FormedMicroBatch& formed : micro_batches) ids.push_back(formed.shape);
    mode_.shapes.price(ids);
  }

  // The first micro-batch that cannot run, and why.
  [[nodiscard]] std::string why_not_run(const std::vector<FormedMicroBatch>& micro_batches) const {
    for (const FormedMicroBatch& formed : micro_batches) {
      const KnownShape& shape = mode_.shapes.at(formed.shape);
      const std::string why_not = why_not_alone(shape, mode_.shapes.limit());
      if (why_not.empty()) continue;
      return "a micro-batch of " + std::to_string(shape.shape.samples) + " rows of " +
             std::to_string(shape.shape.tokens) + " tokens " + why_not;
    }
    return {};
  }

  const BatchQuestion& question_;
  const LengthBatch& batch_;
  std::size_t index_;
  BatchMode& mode_;
  FormingInput input_;
  SplitWeights weights_;
  Formings& result_;
  std::vector<std::vector<int>> orders_;
  std::vector<std::pair<std::size_t, std::vector<std::size_t>>> cuts_;  // order and ends, added
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
  if (!result.list.empty()) result.why_not.clear();
  std::sort(result.list.begin(), result.list.end(), [](const Forming& a, const Forming& b) {
    return std::tie(a.origin, a.key) < std::tie(b.origin, b.key);
  });
  return result;
}

}  // namespace penstock
