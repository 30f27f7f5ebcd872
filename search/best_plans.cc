// The order of the search, and the ranking of what it found.
//
// Groups of candidates (a device, PP, VP, DP, TP, mbs each) are searched in rounds, those that
// usually win first, so that later rounds lose early against known plans: one device type, mixed
// types, other numbers of replicas, more chunks. Within a round groups go through lower bounds and
// replays (group_queue.h, group_search.h); automatic schedules are worked out at the end of it, in
// the order of their bounds. Then cuts are improved for the best plans and for contenders, and
// plans are ranked with their reasons.
//
// What must hold: a candidate is left out only where a proven lower bound loses against a plan that
// is kept; results are merged in the order of candidates, so that threads change nothing; and the
// best plan does not depend on how many are shown.
#include "search/best_plans.h"

#include <algorithm>
#include <memory>

#include "core/values/recompute_sections.h"
#include "costmodel/price_stages.h"
#include "search/arranged_replay.h"
#include "search/asked_to_stop.h"
#include "search/candidates.h"
#include "search/group_division.h"
#include "search/group_queue.h"
#include "search/group_search.h"
#include "search/improve_cuts.h"
#include "search/in_parallel.h"
#include "search/incumbents.h"
#include "search/lead_by_cuts.h"
#include "search/lead_in_family.h"
#include "search/mixed_devices.h"
#include "search/nearest_miss.h"
#include "search/order_groups.h"
#include "search/plan_program.h"
#include "search/ranked_plans.h"
#include "search/refuse_request.h"
#include "search/relative_interval.h"
#include "search/remedies.h"
#include "search/static_rivals.h"
#include "search/trainer_plans.h"

namespace penstock {
namespace {

// To choose from, however few are shown: each gets better cuts by a whole search, and one may lead
// then. As many as `plan` shows, so that one that shows fewer finds the same.
constexpr int kFewestKept = 20;
// Of a book: so large a part of the step is what the cuts of a page must gain every few replays for
// the search to go on. Without it the cuts of 100 sections on 1 to 64 GPUs took half as long again,
// for four pages that became faster by 0.001 to 0.08 %. Half of it made five of 256 pages faster,
// by 0.045 % at most.
constexpr double kLeastGainInBook = 0.0006;
// Of a book: an automatic schedule is worked out where its bound promises such a part of the step,
// and fewer of them: of 100 sections on 1 to 64 GPUs, 34 took a tenth of the search otherwise. Of
// GPT-6.7B, none of 64 pages has one.
constexpr std::int64_t kLeastGainOfArranged = 64;
// Automatic schedules are worked out so many at a time, each batch against the best of those before
// it, for so many stages times micro-batches in all.
constexpr std::size_t kArrangedAtOnce = 4;
constexpr std::int64_t kMostArranged = std::int64_t{1} << 17;
// What a group knows ends at most so many groups that matter before it (group_queue.h). At first
// most is learnt from the nearest ones: of 1,024 GPUs and 100 sections 1,658 plans are replayed
// with 8, 1,878 with 16 and 3,077 with 64. Later little is found, and a group of many chunks may
// take as long as a hundred others, which need not wait for it.
constexpr std::size_t kBehindAtFirst = 8, kBehindLater = 64;
// In larger spaces only those other numbers of replicas are tried that may be the fastest.
constexpr std::int64_t kMostForFront = std::int64_t{1} << 20;

const std::vector<std::string> kNotSearched = {
    ("FSDP in a pipeline where the trainer has ZeRO-1, which needs less memory there for the same "
     "traffic; FSDP in groups (HSDP) in a pipeline; FSDP that gathers weights again for the "
     "backward"),
    ("context parallelism of sequences below 8,192 tokens, and of degrees above 2 below 32,768 "
     "(pin CP to try it)"),
    "expert parallelism of degrees that are not powers of two, or with ETP above 1",
    "tensor degrees and recompute modes that the profile does not have",
    "more than three GPU types in one plan; GPU types that alternate along the pipeline",
    "replicas that differ in their GPU types",
    "interleaving groups other than PyTorch's",
    "cutting sequences into slices (seq-1f1b): profiles measure whole sequences",
    "Megatron's overlap of micro-batches (interleaved-overlap): its gain is not measured",
};

int longest_measured(const PlanInputs& inputs) {
  int longest = 0;
  for (const std::string& device : device_types_in_use(*inputs.cluster)) {
    longest = std::max(longest, default_sequence_length(*inputs.profile, device));
  }
  return longest;
}

// Budgets whose fastest plans make the Pareto front.
std::vector<Budget> budgets_of(const SearchRequest& request, const SearchSpace& space) {
  Bytes memory;
  for (const DeviceCluster& cluster : space.devices) {
    memory = std::max(memory, cluster.device.memory);
  }
  std::vector<Budget> budgets;
  for (const int size : request.sizes) budgets.push_back({size, memory});
  if (!budgets.empty()) return budgets;
  for (int halving = 0; halving <= 3 && (request.gpus >> halving) > 0; ++halving) {
    budgets.push_back({request.gpus >> halving, memory});
  }
  budgets.push_back({request.gpus, Bytes{memory.count / 4 * 3}});
  budgets.push_back({request.gpus, Bytes{memory.count / 2}});
  return budgets;
}

// One plan with other cuts is worth a line of its own where they save memory.
bool says_the_same(const Found& known, const Found& other) {
  Plan plan = other.plan;
  plan.cuts = known.plan.cuts;
  if (recompute_is_divided(plan) && recompute_is_divided(known.plan)) {
    plan.recompute_sections = known.plan.recompute_sections;
  }
  return plan == known.plan &&
         (other.plan == plan || other.memory.count / 19 > known.memory.count / 20);
}

class Search {
 public:
  Search(const PlanInputs& inputs, const SearchRequest& request, SearchProgress& progress)
      : inputs_(inputs),
        request_(request),
        progress_(progress),
        asked_to_stop_(progress),
        space_(enumerate(inputs, request)),
        shared_(std::make_unique<SearchShared>(inputs.executor)),
        tally_(Incumbents(is_book() ? 1 : std::max(request.top, kFewestKept),
                          request.faster_than && !is_book() ? std::vector<Budget>{}
                                                            : budgets_of(request, space_),
                          request.faster_than),
               has_many_sizes()) {
    tally_.rejected = space_.rejected;
  }

  SearchResult run() {
    tally_.candidates = tally_.done = space_.candidates;
    for (const CandidateGroup& group : space_.groups) tally_.done -= group.candidates;
    run_groups(kBehindAtFirst);
    if (tally_.complete && space_.devices.size() > 1) {
      take_mixed_groups();
      run_groups(kBehindAtFirst);
    }
    if (tally_.complete && !request_.pins.data) {
      take_other_degrees();
      run_groups(kBehindLater);
    }
    if (tally_.complete) {
      take_more_chunks();
      run_groups(kBehindLater);
    }
    rank();
    explain();
    note_least_possible();
    result_.candidates = tally_.candidates;
    result_.bounded = tally_.bounded;
    result_.evaluated = tally_.evaluated;
    result_.complete = tally_.complete;
    result_.not_searched.insert(result_.not_searched.begin(), kNotSearched.begin(),
                                kNotSearched.end());
    return std::move(result_);
  }

 private:
  // A fastest plan for each of several numbers of GPUs, and no others.
  [[nodiscard]] bool is_book() const { return !request_.sizes.empty(); }
  // What seldom wins is left out to save time.
  [[nodiscard]] bool has_many_sizes() const { return request_.sizes.size() > 1; }

  void run_groups(std::size_t furthest_behind) {
    if (is_book()) order_by_memory(inputs_, request_, tally_.incumbents, *shared_, space_);
    GroupQueue(inputs_, request_, space_, *shared_, tally_, progress_, furthest_behind).run();
    if (tally_.complete) work_out_arranged();
    known_groups_.insert(known_groups_.end(), std::make_move_iterator(space_.groups.begin()),
                         std::make_move_iterator(space_.groups.end()));
    space_.groups.clear();
  }

  // Adds what another enumeration counted.
  void count_space() {
    tally_.candidates += space_.candidates;
    tally_.bounded += space_.bounded;
    tally_.rejected.merge(space_.rejected);
    tally_.done += space_.candidates;
    for (const CandidateGroup& group : space_.groups) tally_.done -= group.candidates;
  }

  // Of all groups: last, since most lose against the others.
  void take_more_chunks() {
    space_.groups = std::move(known_groups_);
    space_ = with_more_chunks(inputs_, request_, std::move(space_), tally_.incumbents);
    count_space();
  }

  // Once good plans are known, since most lose against these.
  void take_other_degrees() {
    const bool only_leaders = tally_.candidates > kMostForFront;
    space_ = enumerate_other_degrees(inputs_, request_, std::move(space_),
                                     only_leaders ? leaders() : tally_.incumbents);
    count_space();
    if (!only_leaders) return;
    result_.not_searched.emplace_back(
        "plans that cannot be the fastest, but might be in the list or on the Pareto front, with a "
        "DP "
        "other than the smallest and largest for N, N/2, N/4 and N/8 GPUs: too many");
  }

  // For the fastest plan alone, or those of the asked numbers of GPUs.
  [[nodiscard]] Incumbents no_leaders() const {
    return {1, is_book() ? budgets_of(request_, space_) : std::vector<Budget>{},
            request_.faster_than};
  }
  [[nodiscard]] Incumbents leaders() const {
    Incumbents leaders = no_leaders();
    for (const Found& found : tally_.incumbents.best()) leaders.add(found);
    for (const Found& found : tally_.incumbents.fastest_per_budget()) leaders.add(found);
    return leaders;
  }

  // After those on one type, since there are many and most lose against these.
  void take_mixed_groups() {
    MixedGroups mixed = enumerate_mixed(inputs_, request_, space_, tally_.incumbents);
    tally_.candidates += mixed.candidates;
    tally_.bounded += mixed.bounded;
    tally_.rejected.merge(mixed.rejected);
    tally_.done += mixed.candidates;
    for (const CandidateGroup& group : mixed.groups) tally_.done -= group.candidates;
    space_.groups = std::move(mixed.groups);
  }

  // Automatic schedules, and run-time rules: the most promising first, until no other can be the
  // fastest (of those on one of the asked numbers of GPUs). One that is not is not listed.
  void work_out_arranged() {
    std::vector<ArrangedCandidate> arranged = std::move(tally_.arranged);
    tally_.arranged.clear();
    std::stable_sort(arranged.begin(), arranged.end(),
                     [](const auto& a, const auto& b) { return a.bound < b.bound; });
    std::vector<const ArrangedCandidate*> batch;
    for (std::size_t next = 0; next < arranged.size() || !batch.empty();) {
      if (next < arranged.size()) {
        if (may_be_worked_out(arranged[next])) batch.push_back(&arranged[next]);
        ++next;
      }
      if (batch.size() < kArrangedAtOnce && next < arranged.size()) continue;
      if (progress_.stop()) {
        tally_.complete = false;
        return;
      }
      work_out(batch);
      batch.clear();
    }
  }

  bool may_be_worked_out(const ArrangedCandidate& one) {
    if (!request_.bounds) return true;
    // The bounds of lists that are yet to be arranged are loose.
    const Duration least =
        has_many_sizes() ? one.bound + one.bound / kLeastGainOfArranged : one.bound;
    if (!tally_.incumbents.may_lead(least, one.plan.devices(), request_.sizes.size())) {
      ++tally_.bounded;
      return false;
    }
    const std::int64_t size = std::int64_t{one.plan.stages()} * first_load(one.plan).micro_batches;
    // Where nothing is known to fit, a plan is worth more than the time.
    const bool is_first = !tally_.incumbents.to_lead(one.plan.devices(), request_.sizes.size());
    std::int64_t& worked = is_first ? arranged_first_ : arranged_work_;
    if (worked + size <= (has_many_sizes() && !is_first ? kMostArrangedInBook : kMostArranged)) {
      worked += size;
      return true;
    }
    tally_.rejected.add(why_not_worked_out(one.plan), 1, one.plan);
    return false;
  }

  void work_out(const std::vector<const ArrangedCandidate*>& batch) {
    std::vector<ArrangedOutcome> outcomes(batch.size());
    const auto slowest = [&](const Plan& plan) {
      if (!request_.bounds) return Duration::max();
      const auto to_lead = tally_.incumbents.to_lead(plan.devices(), request_.sizes.size());
      return to_lead.value_or(Duration::max());
    };
    in_parallel(request_.threads, batch.size(), [&](std::size_t i) {
      outcomes[i] = replay_arranged(inputs_, batch[i]->plan, slowest(batch[i]->plan));
    });
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (outcomes[i].why_not) {
        tally_.rejected.add(*outcomes[i].why_not, 1, batch[i]->plan);
        continue;
      }
      if (outcomes[i].is_beaten) {
        ++tally_.bounded;
        continue;
      }
      ++tally_.evaluated;
      tally_.incumbents.add_if_it_leads(outcomes[i].found, request_.sizes.size());
    }
  }

  void rank() {
    std::vector<Found> front = tally_.incumbents.fastest_per_budget(), fastest;
    if (!is_book()) fastest = tally_.incumbents.best();
    improve_kept(front, fastest);
    if (is_book() && !front.empty()) {
      fastest = {*std::min_element(front.begin(), front.end(), comes_before)};
    }
    if (tally_.complete) improve_contenders(fastest, front);
    if (asked_to_stop_.stopped()) tally_.complete = false;
    if (request_.trainer != nullptr) {
      Rejections dropped, known;
      fastest = for_trainer(fastest, dropped);
      front = for_trainer(front, known);  // what is dropped of it as well would count twice
      count_as_rejected(dropped);
    }
    std::sort(fastest.begin(), fastest.end(), comes_before);
    if (request_.faster_than) {
      const auto is_slow = [&](const Found& one) { return one.step_time >= *request_.faster_than; };
      std::erase_if(fastest, is_slow);
      std::erase_if(front, is_slow);
    }
    const int shown = request_.faster_than ? 1 : request_.top;
    fastest.resize(std::min(fastest.size(), static_cast<std::size_t>(shown)));
    std::erase_if(front, [&](const Found& one) {
      return std::any_of(fastest.begin(), fastest.end(),
                         [&](const Found& other) { return says_the_same(other, one); });
    });
    std::vector<RankedPlan> best = ranked_plans(inputs_, fastest, request_.threads);
    std::vector<RankedPlan> all = best;
    for (RankedPlan& plan : ranked_plans(inputs_, front, request_.threads)) {
      const bool known = std::any_of(
          all.begin(), all.end(), [&](const RankedPlan& other) { return other.plan == plan.plan; });
      if (!known) all.push_back(std::move(plan));
    }
    sort_by_step_time(best);
    sort_by_step_time(all);
    compare_with_best(best);
    compare_with_best(all);
    result_.pareto = pareto_front(all);
    for (RankedPlan& plan : best) {
      plan.on_pareto_front =
          std::any_of(result_.pareto.begin(), result_.pareto.end(),
                      [&](const RankedPlan& other) { return other.plan == plan.plan; });
    }
    result_.best = std::move(best);
    note_fastest(all);
  }

  [[nodiscard]] std::vector<Found> for_trainer(const std::vector<Found>& found,
                                               Rejections& rejected) const {
    return plans_for(*request_.trainer, inputs_, found, request_.threads, rejected);
  }

  // They were replayed before the trainer was asked; a candidate counts once.
  void count_as_rejected(const Rejections& dropped) {
    for (const Rejections::Entry& entry : dropped.sorted()) {
      tally_.evaluated -= entry.rejection.candidates;
    }
    tally_.rejected.merge(dropped);
  }

  // `plans` ascend in step time. A smaller plan is a candidate for more GPUs, some of which idle.
  void note_fastest(const std::vector<RankedPlan>& plans) {
    for (const int size : request_.sizes) {
      const auto fastest = std::find_if(plans.begin(), plans.end(), [size](const RankedPlan& plan) {
        return plan.plan.devices() <= size;
      });
      std::optional<RankedPlan>& found = result_.fastest_within.emplace_back();
      if (fastest != plans.end()) found = *fastest;
    }
  }

  // Both with better cuts, before they are ranked: near ties change places. They are shared out
  // together, since one plan may take as long as all others. What only groups need is freed
  // meanwhile: of 1,024 GPUs that takes as long as a quarter of these cuts.
  void improve_kept(std::vector<Found>& front, std::vector<Found>& fastest) {
    const std::size_t all = front.size() + fastest.size();
    in_parallel(request_.threads, all + 1, [&](std::size_t n) {
      if (n == 0) {
        shared_.reset();
        return;
      }
      const std::size_t i = all - n;  // on most GPUs first: they take longest
      if (i < fastest.size()) {
        improve(fastest[i], false, i > 0);
      } else {
        // Budgets of memory are part of the Pareto front; numbers of GPUs have all there is.
        const std::size_t of_front = i - fastest.size();
        improve(front[of_front], !is_book(), !is_book() || of_front > 0);
      }
    });
  }

  // `within`: it does not come to hold more than it did, so that it stays within its budget. Once
  // the search is asked to stop only the fastest of all gets better cuts; what may be left out is
  // kept as it is.
  void improve(Found& plan, bool within, bool may_be_left_out) {
    if (asked_to_stop_() && may_be_left_out) return;
    CutBudget budget;
    budget.recompute = recompute_rule(request_);
    budget.trainer = request_.trainer;
    budget.modes_to_divide = modes_to_divide(inputs_, request_, plan.plan.device);
    if (request_.sizes.size() > 1) budget.least_gain = kLeastGainInBook;
    if (within) budget.memory = plan.memory;
    if (may_be_left_out) budget.asked_to_stop = &asked_to_stop_;
    if (auto better = improve_cuts(inputs_, plan.plan, budget)) plan = std::move(*better);
  }

  // Candidates that better cuts may bring to the front, whatever place they had before: the answer
  // does not depend on how many plans are shown, nor (but for a book) on what else is searched. The
  // most promising first; only the fastest is listed. `fastest` are the best plans, with their
  // better cuts.
  void improve_contenders(std::vector<Found>& fastest, std::vector<Found>& front) {
    Incumbents leaders = no_leaders();
    for (const Found& found : fastest) leaders.add(found);
    for (const Found& found : front) leaders.add(found);
    // Those of many chunks are many: they take nothing from the others.
    const ImprovedPlans known(is_book() ? tally_.incumbents.fastest_per_budget()
                                        : tally_.incumbents.best());
    ImprovedPlans improved = known;
    lead_by_cuts(inputs_, request_, improved, tally_.contenders.sorted(), leaders, asked_to_stop_);
    lead_by_cuts(inputs_, request_, improved, tally_.contenders_of_more_chunks.sorted(), leaders,
                 asked_to_stop_);
    const auto add_to = [](std::vector<Found>& list, const Found& leader) {
      const bool listed = std::any_of(list.begin(), list.end(),
                                      [&](const Found& one) { return one.plan == leader.plan; });
      if (!listed) list.push_back(leader);
    };
    if (!is_book()) {
      std::vector<Found> best = fastest;
      for (const Found& leader : leaders.best()) add_to(best, leader);
      for (const Found& rival : static_rivals(inputs_, request_, asked_to_stop_))
        best.push_back(rival);
      lead_arranged(inputs_, request_, std::move(best), tally_.contenders.sorted(), leaders,
                    asked_to_stop_);
      lead_in_family(inputs_, request_, known, improved, leaders, asked_to_stop_);
    }
    if (leaders.best().empty()) return;
    add_to(fastest, leaders.best().front());
    for (const Found& leader : leaders.fastest_per_budget()) add_to(front, leader);
  }

  // Groups that were left out have bounds that lose against the best.
  void note_least_possible() {
    if (!tally_.complete || result_.best.empty()) return;
    result_.least_possible =
        std::min(tally_.least_possible, result_.best.front().evaluation.step_time);
  }

  void explain() {
    for (const Rejections::Entry& entry : tally_.rejected.sorted()) {
      // Nobody asks how what is not faster could be made to fit.
      result_.rejected.push_back(request_.faster_than ? entry.rejection
                                                      : with_remedy(inputs_, entry, request_.gpus));
    }
    if (result_.best.empty() && !request_.faster_than) {
      result_.nearest_miss = nearest_miss(inputs_, request_, tally_.rejected.sorted());
    }
  }

  const PlanInputs& inputs_;
  const SearchRequest& request_;
  SearchProgress& progress_;
  AskedToStop asked_to_stop_;
  SearchSpace space_;
  std::unique_ptr<SearchShared> shared_;  // until all groups were searched
  SearchTally tally_;
  std::vector<CandidateGroup> known_groups_;  // that were looked at
  std::int64_t arranged_work_ = 0;            // stages times micro-batches
  std::int64_t arranged_first_ = 0;           // likewise, where nothing was known to fit
  SearchResult result_;
};

}  // namespace

SearchResult best_plans(const PlanInputs& inputs, const SearchRequest& request,
                        SearchProgress& progress) {
  refuse_request(inputs, request);
  SearchRequest resolved = request;
  if (resolved.sequence_length == 0) resolved.sequence_length = longest_measured(inputs);
  return Search(inputs, resolved, progress).run();
}

}  // namespace penstock
