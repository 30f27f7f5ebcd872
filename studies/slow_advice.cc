// Every answer is a plan, and every plan is replayed with prices that know which ranks are slow
// (simulator/scenario.h): a step that a closed form would get wrong by its warm-up, its transfers
// and its reductions is right here.
//
// - kShare: the micro-batches of the slow replicas go one by one to whichever replica then ends
//   first, by the time of its slowest rank per micro-batch. Replicas keep their numbers.
// - kRecut: balanced cuts for ranks of unequal speed, by their device types and by how slow they
//   are (search/partition.h; exact for one stage per rank), then single sections move from stage to
//   stage as long as the replay becomes shorter. All replicas have the same cuts, so the others
//   must bear them as well.
// - kExclude: the fastest page of the book for as many GPUs fewer as have slow ranks, of each type
//   where the book counts them.
//
// Where replicas are alike they are one pipeline of the Program with one price. The step is then
// the longest of the replays with each replica's own slow ranks: replicas only meet in reductions,
// which wait for the last of them.
#include "studies/slow_advice.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/values/error.h"
#include "report/words.h"
#include "search/choose_cuts.h"
#include "search/evaluate.h"
#include "search/evaluation.h"
#include "search/section_sums.h"
#include "simulator/scenario.h"
#include "simulator/simulate.h"
#include "studies/plan_of_page.h"

namespace penstock {
namespace {

// Replays that moving sections may take.
constexpr int kMostReplays = 96;

// What gains less than one part in so many is no answer: replays are not that exact.
constexpr std::int64_t kLeastGain = 1000;

// How many times as long the ranks compute, by replica and pipeline rank.
using SlowReplicas = std::map<int, std::map<int, double>>;

SlowReplicas by_replica(const Plan& plan, const std::vector<RankSlowness>& slow) {
  if (slow.empty()) throw_bad_input("no rank is slow: there is nothing to advise on");
  SlowReplicas replicas;
  for (const RankSlowness& rank : slow) {
    if (rank.replica < 0 || rank.replica >= plan.data || rank.pipeline_rank < 0 ||
        rank.pipeline_rank >= plan.pipeline) {
      throw_bad_input(fmt::format(
          "slow rank {}: the plan has no pipeline rank {} in replica {}, but {} in each of {}",
          rank.rank, rank.pipeline_rank, rank.replica, plan.pipeline, plan.data));
    }
    double& factor = replicas[rank.replica][rank.pipeline_rank];
    factor = std::max({factor, rank.factor, 1.0});
  }
  return replicas;
}

Factor to_factor(double factor) {
  return {
      std::min(static_cast<std::int64_t>(std::llround(factor * 1e6)), kLargestFactor.millionths)};
}

class Advice {
 public:
  Advice(const PlanBook& book, const Plan& plan, const std::vector<RankSlowness>& slow)
      : book_(book),
        cluster_(cluster_of(book, plan)),
        inputs_{&book.profile, &cluster_, book.executor, book.reserve},
        plan_(plan),
        slow_(by_replica(plan, slow)) {}

  SlowAdvice give() {
    require_same_step();
    const EvaluatedPlan even = evaluate_in_full(inputs_, plan_);
    if (even.why_not) {
      throw_bad_input("the plan that runs cannot be replayed by this book: " +
                      even.why_not->reason + "\nhelp: write the book from the same profile");
    }
    result_.even_step = even.evaluation.step_time;
    keep_ = slowed_step(even);
    add(SlowAnswer::kKeep, plan_, keep_, "as it runs");
    share();
    recut();
    exclude();
    std::stable_sort(
        result_.choices.begin(), result_.choices.end(),
        [](const SlowChoice& a, const SlowChoice& b) { return a.step_time < b.step_time; });
    if (!gains()) put_keep_first();
    result_.reason = reason();
    return std::move(result_);
  }

 private:
  // Steps of other batches or sequences say nothing about those of the plan.
  void require_same_step() const {
    if (book_.global_batch != plan_.global_batch) {
      refuse_book("global batch", book_.global_batch, plan_.global_batch);
    }
    for (const BookPage& page : book_.pages) {
      if (!page.plan || page.plan->sequence_length == plan_.sequence_length) continue;
      refuse_book("sequence length", page.plan->sequence_length, plan_.sequence_length);
    }
  }
  [[noreturn]] static void refuse_book(std::string_view what, int of_book, int of_plan) {
    throw_bad_input(fmt::format(
        "the plan that runs has a {} of {}, the book one of {}: their steps cannot be compared\n"
        "help: plan a book for a {} of {}, from the same profile",
        what, of_plan, of_book, what, of_plan));
  }

  // Whether the fastest of the answers is one.
  [[nodiscard]] bool gains() const {
    const Duration gain = keep_ - result_.best().step_time;
    return gain > Duration{} && kLeastGain * gain >= keep_;
  }
  void put_keep_first() {
    std::vector<SlowChoice>& choices = result_.choices;
    const auto kept = std::ranges::find(choices, SlowAnswer::kKeep, &SlowChoice::answer);
    std::rotate(choices.begin(), kept, kept + 1);
  }

  void add(SlowAnswer answer, const Plan& plan, Duration step, std::string what) {
    result_.choices.push_back({answer, plan, step, std::move(what)});
  }
  void refuse(SlowAnswer answer, const std::string& why) {
    result_.why_not.push_back(std::string(word_of(answer)) + ": " + why);
  }

  [[nodiscard]] Duration replayed(const EvaluatedPlan& of, const Scenario& scenario) const {
    const StagePrices prices = slowed(of.prices, of.program, scenario);
    return step_time_of(simulate_summary(of.program, prices, inputs_.executor), inputs_.executor);
  }

  // With each replica's own slow ranks.
  [[nodiscard]] Duration slowed_step(const EvaluatedPlan& of) const {
    if (of.plan.has_unequal_replicas()) return slowed_step_of_kinds(of);
    Duration longest = of.evaluation.step_time;
    for (const auto& [replica, ranks] : slow_) {
      Scenario scenario;
      for (const auto& [rank, factor] : ranks) scenario.ranks.push_back({rank, to_factor(factor)});
      longest = std::max(longest, replayed(of, scenario));
    }
    return longest;
  }

  // Of each kind the slowest of its ranks: a kind is one pipeline.
  [[nodiscard]] Duration slowed_step_of_kinds(const EvaluatedPlan& of) const {
    std::map<std::pair<int, int>, double> slowest;  // by kind and rank
    for (const auto& [replica, ranks] : slow_) {
      const int kind = kind_of_replica(of.plan, replica);
      for (const auto& [rank, factor] : ranks) {
        double& known = slowest[{kind, rank}];
        known = std::max(known, factor);
      }
    }
    Scenario scenario;
    for (const auto& [place, factor] : slowest) {
      scenario.ranks.push_back({place.second, to_factor(factor), place.first});
    }
    return replayed(of, scenario);
  }

  [[nodiscard]] double slowest_rank_of(int replica) const {
    const auto found = slow_.find(replica);
    if (found == slow_.end()) return 1.0;
    double slowest = 1.0;
    for (const auto& [rank, factor] : found->second) slowest = std::max(slowest, factor);
    return slowest;
  }

  // In units of micro-batches: each goes to whichever replica then ends first.
  [[nodiscard]] std::vector<int> shares(int micro_batches) const {
    std::vector<int> taken(static_cast<std::size_t>(plan_.data), 0);
    const auto ends = [&](std::size_t replica) {
      return (taken[replica] + 1) * slowest_rank_of(static_cast<int>(replica));
    };
    for (int m = 0; m < micro_batches; ++m) {
      std::size_t first = 0;
      for (std::size_t r = 1; r < taken.size(); ++r) {
        if (ends(r) < ends(first)) first = r;
      }
      ++taken[first];
    }
    return taken;
  }

  // A run of replicas that take the same is one kind, so that replicas keep their numbers.
  [[nodiscard]] std::vector<ReplicaKind> kinds_of(const std::vector<int>& taken) const {
    std::vector<ReplicaKind> kinds;
    for (std::size_t r = 0; r < taken.size(); ++r) {
      const int samples = taken[r] * plan_.micro_batch_size;
      const bool same_speed =
          r > 0 && slowest_rank_of(static_cast<int>(r)) == slowest_rank_of(static_cast<int>(r) - 1);
      if (same_speed && kinds.back().samples == samples) {
        ++kinds.back().replicas;
      } else {
        kinds.push_back({1, samples});
      }
    }
    return kinds;
  }

  void share() {
    const SlowAnswer answer = SlowAnswer::kShare;
    if (plan_.data < 2) return refuse(answer, "there is one replica");
    if (!plan_.has_even_batch() || plan_.has_unequal_replicas()) {
      return refuse(answer, "the replicas of the plan are unequal already");
    }
    if (plan_.global_batch % plan_.micro_batch_size != 0) {
      return refuse(answer, "the batch is not a whole number of micro-batches");
    }
    const std::vector<int> taken = shares(plan_.global_batch / plan_.micro_batch_size);
    if (std::ranges::min(taken) == 0) return refuse(answer, "a replica would be left without work");
    if (std::ranges::min(taken) == std::ranges::max(taken)) {
      return refuse(answer, "even shares are the best");
    }
    Plan plan = plan_;
    plan.replica_kinds = kinds_of(taken);
    if (plan.replica_kinds.size() < 2) return refuse(answer, "even shares are the best");
    if (plan_.is_mixed()) {  // every kind lists its ranks
      plan.rank_devices.clear();
      for (int kind = 0; kind < plan.kinds(); ++kind) {
        plan.rank_devices.insert(plan.rank_devices.end(), plan_.rank_devices.begin(),
                                 plan_.rank_devices.end());
      }
    }
    const EvaluatedPlan evaluated = evaluate_in_full(inputs_, plan);
    if (evaluated.why_not) return refuse(answer, evaluated.why_not->reason);
    add(answer, evaluated.plan, slowed_step(evaluated),
        fmt::format("{} micro-batches instead of {}", fmt::join(taken, "|"),
                    fmt::join(even_shares(), "|")));
  }

  [[nodiscard]] std::vector<int> even_shares() const {
    std::vector<int> even;
    for (int r = 0; r < plan_.data; ++r) {
      const int samples = samples_of_replica(plan_, r);
      even.push_back((samples + plan_.micro_batch_size - 1) / plan_.micro_batch_size);
    }
    return even;
  }

  // Of the slowest replica at every pipeline rank.
  [[nodiscard]] std::map<int, double> slowest_by_rank() const {
    std::map<int, double> slowest;
    for (const auto& [replica, ranks] : slow_) {
      for (const auto& [rank, factor] : ranks) {
        slowest[rank] = std::max(slowest[rank], factor);
      }
    }
    return slowest;
  }

  // Nothing where the speeds of the ranks leave no balanced cuts.
  [[nodiscard]] std::optional<std::vector<int>> balanced() const {
    const MicroBatchShape shape = micro_batch_shapes(plan_).front();
    const ScheduleKind* kind = find_schedule(plan_.schedule);
    if (kind == nullptr || (plan_.is_mixed() && plan_.has_unequal_replicas())) return std::nullopt;
    std::map<std::string, SectionSums> even;  // by device type
    std::vector<const SectionSums*> of_each;
    for (int rank = 0; rank < plan_.pipeline; ++rank) {
      const std::string& device = plan_.device_of_rank(rank);
      const auto [sums, is_new] = even.try_emplace(device);
      if (is_new) {
        sums->second = sum_sections(book_.profile, cluster_, device, plan_.tensor, shape.samples,
                                    shape.tokens, plan_.recompute);
      }
      if (!sums->second.why_not.empty()) return std::nullopt;
      of_each.push_back(&sums->second);
    }
    const std::map<int, double> slowest = slowest_by_rank();
    std::vector<SectionSums> slow_sums;
    slow_sums.reserve(slowest.size());
    for (const auto& [rank, factor] : slowest) {
      SectionSums& slow = slow_sums.emplace_back(*of_each[static_cast<std::size_t>(rank)]);
      for (auto* sums : {&slow.work, &slow.split_work, &slow.mixed_work}) {
        for (std::int64_t& sum : *sums) sum = std::llround(static_cast<double>(sum) * factor);
      }
      of_each[static_cast<std::size_t>(rank)] = &slow;
    }
    return balanced_cuts(RankSums(std::move(of_each)), plan_, kind->backward);
  }

  struct Recut {
    Plan plan;
    Duration step_time{};
  };
  std::optional<Recut> tried(const std::vector<int>& cuts) {
    ++replays_;
    Plan plan = plan_;
    plan.cuts = cuts;
    const EvaluatedPlan evaluated = evaluate_in_full(inputs_, plan);
    if (evaluated.why_not) return std::nullopt;
    return Recut{evaluated.plan, slowed_step(evaluated)};
  }

  void recut() {
    const SlowAnswer answer = SlowAnswer::kRecut;
    if (plan_.pipeline < 2) return refuse(answer, "there is one stage rank");
    if (!plan_.recompute_sections.empty()) {
      return refuse(answer, "the plan recomputes section by section; search anew for that");
    }
    Recut best{plan_, keep_};
    if (const auto cuts = balanced()) {
      if (const auto first = tried(*cuts); first && first->step_time < best.step_time) {
        best = *first;
      }
    }
    move_sections(best);
    if (best.plan.cuts == plan_.cuts) return refuse(answer, "no other cuts are faster");
    add(answer, best.plan, best.step_time,
        fmt::format("sections {} instead of {}", sections_of(best.plan), sections_of(plan_)));
  }

  // One section from any stage to any other, those between are shifted; the first move that helps.
  void move_sections(Recut& best) {
    const int stages = plan_.stages_per_copy();
    for (bool moved = true; moved && replays_ < kMostReplays;) {
      moved = false;
      for (int from = 0; from < stages && !moved; ++from) {
        for (int to = 0; to < stages && !moved && replays_ < kMostReplays; ++to) {
          if (to == from) continue;
          std::vector<int> cuts = best.plan.cuts;
          for (int k = std::min(from, to) + 1; k <= std::max(from, to); ++k) {
            cuts[static_cast<std::size_t>(k)] += from < to ? -1 : 1;
          }
          if (std::ranges::adjacent_find(cuts, std::greater_equal<>{}) != cuts.end()) continue;
          const auto next = tried(cuts);
          if (!next || next->step_time >= best.step_time) continue;
          best = *next;
          moved = true;
        }
      }
    }
  }

  static std::string sections_of(const Plan& plan) {
    std::vector<int> counts;
    for (std::size_t k = 1; k < plan.cuts.size(); ++k) {
      counts.push_back(plan.cuts[k] - plan.cuts[k - 1]);
    }
    return fmt::format("{}", fmt::join(counts, "|"));
  }

  void exclude() {
    const SlowAnswer answer = SlowAnswer::kExclude;
    int slow_ranks = 0;
    std::vector<int> left_of_types = gpus_of_types(plan_, book_.types);
    for (const auto& [replica, ranks] : slow_) {
      slow_ranks += static_cast<int>(ranks.size());
      for (const auto& [rank, factor] : ranks) {
        const auto type = std::ranges::find(book_.types, device_of(replica, rank));
        if (type == book_.types.end()) continue;  // the book does not count them
        left_of_types[static_cast<std::size_t>(type - book_.types.begin())] -=
            plan_.devices_per_rank();
      }
    }
    const int left = plan_.devices() - slow_ranks * plan_.devices_per_rank();
    const BookPage* page = nullptr;
    for (const BookPage& one : book_.pages) {
      if (!one.plan || one.plan->devices() > left) continue;
      if (!are_among(gpus_of_types(*one.plan, book_.types), left_of_types)) continue;
      if (page == nullptr || one.step_time <= page->step_time) page = &one;
    }
    if (page == nullptr) {
      return refuse(answer,
                    fmt::format("the book has no plan for {}", words_of(left_of_types, left)));
    }
    add(answer, *page->plan, page->step_time,
        fmt::format("TP {} x PP {} x DP {} on {} of the {} others", page->plan->tensor,
                    page->plan->pipeline, page->plan->data, page->plan->devices(), left));
  }

  [[nodiscard]] const std::string& device_of(int replica, int rank) const {
    const int kind = plan_.has_unequal_replicas() ? kind_of_replica(plan_, replica) : 0;
    return plan_.device_of_rank(kind * plan_.pipeline + rank);
  }

  [[nodiscard]] std::string words_of(const std::vector<int>& of_types, int all) const {
    if (!book_.counts_types()) return count_of(all, "GPU");
    std::vector<std::string> words;
    words.reserve(of_types.size());
    for (std::size_t t = 0; t < of_types.size(); ++t) {
      words.push_back(std::to_string(of_types[t]) + " " + book_.types[t]);
    }
    return joined(words, ", ");
  }

  [[nodiscard]] std::string reason() const {
    const SlowChoice& best = result_.best();
    const double lost =
        static_cast<double>(keep_.count()) / static_cast<double>(result_.even_step.count()) - 1.0;
    const std::string kept = fmt::format("A step takes {} with what is slow, {} without ({} more)",
                                         to_text(keep_), to_text(result_.even_step), percent(lost));
    if (best.answer == SlowAnswer::kKeep) {
      const bool some_are = std::ranges::any_of(
          result_.choices, [&](const SlowChoice& one) { return one.step_time < keep_; });
      return kept + (some_are ? "; nothing else gains 0.1 %." : "; nothing else is faster.");
    }
    const double gain =
        1.0 - static_cast<double>(best.step_time.count()) / static_cast<double>(keep_.count());
    return fmt::format("{}; {} takes {} ({} less): {}.", kept, word_of(best.answer),
                       to_text(best.step_time), percent(gain), best.what);
  }

  const PlanBook& book_;
  const ClusterSpec cluster_;
  const PlanInputs inputs_;
  const Plan& plan_;
  const SlowReplicas slow_;
  Duration keep_{};
  int replays_ = 0;
  SlowAdvice result_;
};

}  // namespace

std::string_view word_of(SlowAnswer answer) {
  switch (answer) {
    case SlowAnswer::kKeep:
      return "keep";
    case SlowAnswer::kShare:
      return "share";
    case SlowAnswer::kRecut:
      return "recut";
    case SlowAnswer::kExclude:
      return "exclude";
  }
  return "";
}

// Of rates r1 = 1 / keep and r2 = 1 / best: C r2 / (r2 - r1), since no step is made while it costs.
std::optional<Duration> SlowAdvice::pays_after(Duration change) const {
  if (best().answer == SlowAnswer::kKeep) return std::nullopt;
  const auto kept = std::ranges::find(choices, SlowAnswer::kKeep, &SlowChoice::answer);
  const auto keep = static_cast<double>(kept->step_time.count());
  const auto step = static_cast<double>(best().step_time.count());
  if (keep <= step) return std::nullopt;
  const double factor = keep / (keep - step);
  const auto longest = static_cast<double>(kLongestDuration.count());
  if (static_cast<double>(change.count()) * factor > longest) return std::nullopt;
  return scaled(change, factor);
}

SlowAdvice advise_on_slow_ranks(const PlanBook& book, const Plan& plan,
                                const std::vector<RankSlowness>& slow) {
  return Advice(book, plan, slow).give();
}

}  // namespace penstock
