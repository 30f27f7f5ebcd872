// Candidates are formed, balanced and replayed in short (batch_candidates.h). Then limits of memory
// are gone through from the lowest up to what the devices have: whichever candidate is the fastest
// so far becomes a link of a chain, with the limit that it was found within. At last the links are
// improved within their limits, the fastest first; one that cannot become the fastest, whatever its
// order, is left as it is.
//
// Invariant: the links up to a limit do not depend on how much memory there is beyond it. So a
// device with more memory only adds links, and never gets a slower plan (where all devices have
// equally much). What the search may spend is a number of replays, not a time, so that the same
// question gets the same plan everywhere.
//
// Rivals are searched one after the other in the same way, each only as far as it may beat what is
// known; so whichever it is, the plan is at least as fast as what its own search would find.
//
// Where transfers occupy something, short replays only rank: the first few that fit are assembled
// and replayed in full.
#include "search/dynamic/plan_batch.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/values/error.h"
#include "search/dynamic/assemble_batch.h"
#include "search/dynamic/batch_candidates.h"
#include "simulator/replay.h"

namespace penstock {
namespace {

constexpr int kLimitsPerOctave = 16;
constexpr int kLookedAt = 2;  // per limit, where each is replayed in full

void require_question(const BatchQuestion& question) {
  if (question.recompute.empty()) throw_bad_input("a batch needs at least one recompute mode");
  for (const RecomputeChoice& choice : question.recompute) {
    if (choice.costs == nullptr) throw Error(ErrorKind::kInternal, "plan_batch: no costs");
  }
  if (question.threads < 1) throw_bad_input("a batch is planned by at least one thread");
  const bool by_size =
      question.method == BatchMethod::kFixedSize || question.method == BatchMethod::kPacked;
  if (by_size && question.size < 1) {
    throw_bad_input("a micro-batch of " + std::to_string(question.size) +
                    " samples; give at least 1");
  }
  if (question.method == BatchMethod::kTokenBudget && question.tokens < 1) {
    throw_bad_input("a budget of " + std::to_string(question.tokens) +
                    " tokens per micro-batch; give at least 1");
  }
  for (const BatchRule& rival : question.rivals) {
    if (rival.amount < 1) throw Error(ErrorKind::kInternal, "plan_batch: a rival without amount");
  }
}

// A way to run the batch, and what it takes.
struct Found {
  Candidate candidate;
  JudgedBatch worth;
};

class BatchPlanner {
 public:
  BatchPlanner(const BatchQuestion& question, const LengthBatch& batch)
      : question_(question),
        batch_(batch),
        replays_say_all_(straight_replay_is_exact(question.executor) &&
                         question.executor.issue == IssueOrder::kEager),
        formings_(form_batch(question, batch)) {}

  BatchPlan run() {
    std::optional<Found> best;
    for (std::size_t origin = 0; origin <= question_.rivals.size(); ++origin) {
      if (forms_as_another(origin)) continue;
      const std::int64_t beat = best ? best->worth.step_time.count() : kWhenever;
      origins_.push_back(std::make_unique<Candidates>(question_, formings_, origin, beat));
      // First what would be found if there were no other schedule than the first, so that others
      // only ever make it better.
      best = best_of(*origins_.back(), true, std::move(best));
      best = best_of(*origins_.back(), false, std::move(best));
    }
    for (std::size_t i = 0; i < origins_.size() && !best; ++i) best = any_that_fits(*origins_[i]);
    BatchPlan plan;
    if (!best) {
      plan.why_not = why_nothing();
    } else {
      finish(*best, plan);
    }
    plan.counts.splits = formings_.splits;
    plan.counts.evaluations = formings_.evaluations;
    plan.counts.replays = replays_;
    for (const auto& candidates : origins_) plan.counts.replays += candidates->replays();
    for (const auto& mode : formings_.modes) {
      plan.counts.shapes += static_cast<std::int64_t>(mode->shapes.size());
    }
    return plan;
  }

 private:
  // A candidate that was the fastest when it was found, and the limit that it was found within.
  struct Link {
    const Candidate* candidate = nullptr;
    std::int64_t limit = 0;
  };

  // Whether a rival before it forms the same, so that its search has been made.
  [[nodiscard]] bool forms_as_another(std::size_t origin) const {
    for (std::size_t other = 1; other < origin; ++other) {
      if (forms_alike(formings_of(other), formings_of(origin))) return true;
    }
    return false;
  }
  [[nodiscard]] std::span<const Forming> formings_of(std::size_t origin) const {
    const auto by_origin = [](const Forming& a, const Forming& b) { return a.origin < b.origin; };
    Forming of_origin;
    of_origin.origin = origin;
    const auto [first, end] =
        std::equal_range(formings_.list.begin(), formings_.list.end(), of_origin, by_origin);
    return {first, end};
  }
  static bool forms_alike(std::span<const Forming> a, std::span<const Forming> b) {
    const auto alike = [](const Forming& one, const Forming& other) {
      return one.mode == other.mode && one.key == other.key && one.rung == other.rung &&
             one.formed == other.formed;
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), alike);
  }

  // The best of all links, or `known` where none is better.
  std::optional<Found> best_of(Candidates& candidates, bool only_first_schedule,
                               std::optional<Found> known) {
    const std::vector<Link> chain = chain_of(candidates, only_first_schedule,
                                             known ? known->worth.step_time.count() : kWhenever);
    const auto offer = [&](const Candidate& candidate, const JudgedBatch& worth) {
      if (!known || worth.step_time < known->worth.step_time) known = Found{candidate, worth};
    };
    for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
      const Candidate& candidate = *link->candidate;
      offer(candidate, *known_worth_of(candidate));
      if (Duration{least_end_ns(candidate)} >= known->worth.step_time) continue;
      const Candidate& better = improved_within(*link, known->worth.step_time);
      const auto worth = worth_of(better);
      if (worth && worth->need <= link->limit) offer(better, *worth);
    }
    return known;
  }

  // What is left half done because of `beat` is of no use later either: it only gets less.
  const Candidate& improved_within(const Link& link, Duration beat) {
    const auto [at, is_new] = improved_.try_emplace({link.candidate, link.limit});
    if (is_new) {
      at->second = improved(question_, *link.candidate,
                            {link.limit, beat.count(), replays_say_all_}, replays_);
    }
    return at->second;
  }

  // `beat`: what is known to be possible. What cannot beat it, not even shared out anew, need not
  // be in the chain: with more memory `beat` only gets less, so that nothing is lost that could
  // win.
  std::vector<Link> chain_of(Candidates& candidates, bool only_first_schedule, std::int64_t beat) {
    std::vector<Link> chain;
    std::optional<Duration> fastest;
    const std::vector<std::int64_t> all_limits = limits();
    if (replays_say_all_ && !all_limits.empty()) {
      beat = std::min(beat, candidates.least_end_within(all_limits.back(), only_first_schedule));
    }
    for (const std::int64_t limit : all_limits) {
      int looked_at = 0;
      candidates.make_within({limit, fastest ? fastest->count() : kWhenever, beat, replays_say_all_,
                              only_first_schedule});
      for (const Candidate* candidate : candidates.ranked()) {
        if (fastest && Duration{candidate->end_ns} >= *fastest) break;
        if (only_first_schedule && candidate->schedule_index > 0) continue;
        if (candidate->rung > limit || candidate->need > limit) continue;
        const auto& worth = known_worth_of(*candidate);
        if (!worth || worth->need > limit) continue;
        if (!fastest || worth->step_time < *fastest) {
          fastest = worth->step_time;
          chain.push_back({candidate, limit});
        }
        if (replays_say_all_ || ++looked_at == kLookedAt) break;
      }
    }
    return chain;
  }

  [[nodiscard]] std::vector<std::int64_t> limits() const {
    std::vector<std::int64_t> limits;
    for (const auto& mode : formings_.modes) {
      const bool has_formed =
          std::any_of(formings_.list.begin(), formings_.list.end(),
                      [&](const Forming& forming) { return forming.mode == mode.get(); });
      if (!has_formed) continue;
      const auto rungs = rungs_of(*mode, kLimitsPerOctave);
      limits.insert(limits.end(), rungs.begin(), rungs.end());
    }
    std::sort(limits.begin(), limits.end());
    limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
    return limits;
  }

  // The last resort where memory is so tight that it lies between two limits.
  std::optional<Found> any_that_fits(Candidates& candidates) {
    candidates.make_all();
    for (const Candidate* candidate : candidates.ranked()) {
      if (candidate->need > most()) continue;
      const auto& worth = known_worth_of(*candidate);
      if (worth && worth->need <= most()) return Found{*candidate, *worth};
    }
    return std::nullopt;
  }
  [[nodiscard]] std::int64_t most() const {
    return formings_.modes.empty() ? 0 : formings_.modes.front()->shapes.limit();
  }

  // Nothing where its transfers deadlock.
  [[nodiscard]] std::optional<JudgedBatch> worth_of(const Candidate& candidate) const {
    if (replays_say_all_) return JudgedBatch{Duration{candidate.end_ns}, candidate.need};
    return judge_batch(question_, assembled(candidate), candidate.of->forming.mode->shapes);
  }
  const std::optional<JudgedBatch>& known_worth_of(const Candidate& candidate) {
    const auto [at, is_new] = worth_.try_emplace(&candidate);
    if (is_new) at->second = worth_of(candidate);
    return at->second;
  }

  [[nodiscard]] static BatchChoice choice_of(const Candidate& candidate) {
    const BatchMode& mode = *candidate.of->forming.mode;
    return {mode.choice.mode, mode.recomputes, candidate.schedule, candidate.replicas};
  }
  [[nodiscard]] AssembledBatch assembled(const Candidate& candidate) const {
    return assemble_batch(question_, choice_of(candidate),
                          candidate.of->forming.formed.micro_batches,
                          candidate.of->forming.mode->shapes, candidate.of->replays);
  }
  [[nodiscard]] std::string why_nothing() const {
    if (!formings_.why_not.empty()) return formings_.why_not;
    std::int64_t least = 0;
    for (const Candidate* candidate : origins_.front()->ranked()) {
      if (least == 0 || candidate->need < least) least = candidate->need;
    }
    if (least <= most()) return "no order of the micro-batches runs within memory";
    return "the leanest way to run the batch needs " + to_text(Bytes{least - most()}) +
           " more than the fullest device has";
  }

  void finish(const Found& best, BatchPlan& plan) const {
    const Candidate& candidate = best.candidate;
    const Forming& forming = candidate.of->forming;
    plan.evaluated = evaluate_batch(question_, assembled(candidate), *forming.mode->choice.costs,
                                    forming.mode->recomputes);
    plan.objective_ns = forming.formed.objective_ns;
    plan.longest_ns = forming.formed.longest_ns;
    const Batch& shapes = plan.evaluated.plan.batch;
    std::int64_t loss_tokens = 0;
    for (const SampleLength& sample : batch_) {
      plan.real_tokens += real_tokens_of(sample, question_.rounding);
      loss_tokens += loss_tokens_of(sample, question_.rounding);
    }
    plan.padded_tokens = tokens_of(shapes);
    for (std::size_t d = 0; d < candidate.replicas.size(); ++d) {
      plan.replicas.push_back(planned(candidate, d, shapes.replicas[d], loss_tokens, plan));
    }
  }

  // `as_run`: the same micro-batches as runs of shapes.
  PlannedReplica planned(const Candidate& candidate, std::size_t d, const ReplicaBatch& as_run,
                         std::int64_t all_loss_tokens, BatchPlan& plan) const {
    PlannedReplica replica;
    replica.compute = Duration{candidate.scores[d].end_ns};
    std::vector<int> shapes;
    for (const ShapeRun& run : as_run.runs) {
      shapes.insert(shapes.end(), static_cast<std::size_t>(run.count), run.shape);
    }
    for (const int m : candidate.replicas[d]) {
      const FormedMicroBatch& formed =
          candidate.of->forming.formed.micro_batches[static_cast<std::size_t>(m)];
      PlannedMicroBatch micro_batch;
      micro_batch.shape = shapes[replica.micro_batches.size()];
      micro_batch.rows = formed.rows;
      for (const std::vector<int>& row : formed.rows) {
        plan.needs_sample_mask |= row.size() > 1;
        for (const int sample : row) {
          const SampleLength& length = batch_[static_cast<std::size_t>(sample)];
          micro_batch.real_tokens += real_tokens_of(length, question_.rounding);
          micro_batch.loss_tokens += loss_tokens_of(length, question_.rounding);
        }
      }
      micro_batch.weight =
          static_cast<double>(micro_batch.loss_tokens) / static_cast<double>(all_loss_tokens);
      replica.micro_batches.push_back(std::move(micro_batch));
    }
    return replica;
  }

  const BatchQuestion& question_;
  const LengthBatch& batch_;
  bool replays_say_all_;
  Formings formings_;
  std::vector<std::unique_ptr<Candidates>> origins_;  // of the method, then of its rivals
  // Looked up, never walked.
  std::map<const Candidate*, std::optional<JudgedBatch>> worth_;
  std::map<std::pair<const Candidate*, std::int64_t>, Candidate> improved_;  // and by limit
  std::int64_t replays_ = 0;
};

}  // namespace

BatchPlan plan_batch(const BatchQuestion& question, const LengthBatch& batch) {
  require_question(question);
  require_lengths(batch, question.rounding);
  return BatchPlanner(question, batch).run();
}

}  // namespace penstock
