// From each start, moves of single sections lead down until none helps; then random moves kick the
// best place and lead down again, within a budget of replays. Where replays tell the chain that
// bounds the step, a model of all chains seen so far (cutting planes: each bounds the step of all
// cuts from below) chooses the next cuts to replay. Few enough cuts are all tried. It is a
// heuristic; the plan's own cuts are always among the tried ones, so the answer is never slower
// than them.
#include "search/improve_cuts.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "search/arrange.h"
#include "search/choose_cuts.h"
#include "search/cut_forms.h"
#include "search/step_model.h"
#include "search/trainer_plans.h"

namespace penstock {
namespace {

// A schedule that is arranged anew for every try costs as much as so many replays; of all tries
// together at most so many stages times micro-batches, but the starts are always tried.
// The same of a run-time rule, which takes about as long as static lists of few micro-batches.
constexpr int kReplaysPerArrangement = 16, kReplaysPerRule = 2;
constexpr std::int64_t kMostArranged = 1 << 14, kMostByRule = 1 << 18;
// With nothing to beat, small ones get more tries: so many stages times micro-batches in all.
constexpr std::int64_t kMoreArranged = 1 << 9;
constexpr int kStarts = 3;
// Where replays tell no chains, so many moves are tried from one place before it counts as an
// optimum.
constexpr int kMostMoves = 48, kMovesPerStage = 8;
// A replay that tells its chain takes as long as so many that do not.
constexpr int kReplaysPerChain = 2;
// A place counts as an optimum after so many cuts that are not better, of which a replay counts for
// more than one that need not be replayed.
constexpr int kMostLost = 44, kLostByReplay = 3;
// From an optimum: so many draws of random moves until one leads on, and every so many times the
// replay of wherever they lead.
constexpr int kMostDraws = 200, kKicksPerReplay = 5;
// Where a search ends once replays gain too little: how often it looks.
constexpr int kReplaysPerLook = 64;
// With many stages per rank the way down is long: so many times the replays more may be spent on
// it.
constexpr int kMoreToDescend = 5;
// What better cuts are expected to gain at most: so large a part of the step, and what half a
// section more or less on a stage is of it; and less, the fewer replays are left. What random moves
// gain behind the first optimum: so large a part of that. In docs/search.md's bench cuts gain no
// more than 17 % and 1 %.
constexpr double kMostGain = 0.125, kPartOfKicks = 0.25;

struct Point {
  std::vector<int> cuts;
  CutReplay::Result result;
  std::size_t form = 0;        // of CutForms
  std::int64_t imbalance = 0;  // sum of squares of the ranks' work
};

// Faster; or as fast and more even, so that the next move may make it faster.
bool is_better(const Point& a, const Point& b) {
  if (a.result.step_time != b.result.step_time) return a.result.step_time < b.result.step_time;
  return a.imbalance < b.imbalance;
}

// splitmix64: the same everywhere.
class FixedRandom {
 public:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(next() % end); }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  std::uint64_t state_ = 0;
};

class CutSearch {
 public:
  CutSearch(const PlanInputs& inputs, const Plan& plan, const CutBudget& budget)
      : inputs_(inputs),
        budget_(budget),
        forms_(inputs, plan, budget.recompute, budget.modes_to_divide),
        replay_(forms_.given()),
        sections_(static_cast<int>(inputs.profile->sections.size())),
        section_names_(names_of_sections(*inputs.profile)),
        reserve_(replay_.is_cheap() && !budget.to_beat ? kMoreToDescend * budget.replays : 0),
        left_(reserve_ + (replay_.is_cheap() ? budget.replays
                                             : arrangements(plan, budget, replay_.has_rule()))) {}

  std::optional<Found> run() {
    if (replay_.why_not()) return std::nullopt;
    model_.emplace(replay_);
    for (std::vector<int>& cuts : starts()) {
      if (auto point = tried(std::move(cuts))) starts_.push_back(std::move(*point));
    }
    if (has_few_cuts()) try_all();
    if (starts_.empty()) return std::nullopt;
    const Point first = starts_.front();  // the plan's own, if they fit
    std::stable_sort(starts_.begin(), starts_.end(), is_better);
    Point best = starts_.front();
    next_look_ = left_ - kReplaysPerLook;
    fastest_before_ = fastest_;
    for (Point& start : starts_) {
      descend(start);
      if (is_better(start, best)) best = start;
    }
    for (int n = 0; left_ > reserve_ && !is_far(best, kPartOfKicks); ++n) {
      const bool replays_any = !replay_.knows_chains() || n % kKicksPerReplay == 0;
      std::optional<Point> next = replays_any ? kicked(best) : kicked_by_model(best);
      if (!next) break;
      if (replays_any || is_better(*next, best)) descend(*next);
      if (is_better(*next, best)) best = std::move(*next);
    }
    if (best.result.step_time == first.result.step_time) best = first;
    return Found{forms_.of(best.form).with(best.cuts), best.result.step_time, best.result.memory};
  }

 private:
  // Of so few sections or stages that all cuts can be tried.
  [[nodiscard]] bool has_few_cuts() const {
    const int most = left_ - reserve_ + static_cast<int>(tried_.size());
    std::int64_t ways = 1;
    for (int cut = 1; cut < replay_.plan().stages_per_copy(); ++cut) {
      ways = ways * (sections_ - cut) / cut;  // whole at every step
      if (ways > most) return false;
    }
    return true;
  }

  // The best of them becomes a start: behind the plan's own, which is kept among equals.
  void try_all() {
    std::vector<int> cuts = first_cuts(sections_, replay_.plan().stages_per_copy());
    std::optional<Point> best;
    Duration to_beat = budget_.to_beat.value_or(Duration::max());
    for (const Point& start : starts_) to_beat = std::min(to_beat, start.result.step_time);
    do {
      if (tried_.contains(cuts) || replay_.bound(cuts) > to_beat) continue;
      auto point = tried(cuts, Forms::kAny);
      if (!point || (best && !is_better(*point, *best))) continue;
      to_beat = std::min(to_beat, point->result.step_time);
      best = std::move(point);
    } while (next_cuts(cuts));
    if (best) starts_.push_back(std::move(*best));
  }

  static int arrangements(const Plan& plan, const CutBudget& budget, bool has_rule) {
    const std::int64_t size = std::int64_t{plan.stages()} * first_load(plan).micro_batches;
    const std::int64_t in_all = (has_rule ? kMostByRule : kMostArranged) / size;
    const int each = has_rule ? kReplaysPerRule : kReplaysPerArrangement;
    const std::int64_t more = has_rule || budget.to_beat ? 0 : kMoreArranged / size;
    const std::int64_t tries = std::max<std::int64_t>(budget.replays / each, more);
    return static_cast<int>(std::max<std::int64_t>(kStarts, std::min(in_all, tries)));
  }

  [[nodiscard]] double part_left() const {
    return static_cast<double>(left_) / static_cast<double>(budget_.replays);
  }

  // Further from what is to be beaten than such a part of what better cuts may gain.
  [[nodiscard]] bool is_far(const Point& point, double part) const {
    if (!budget_.to_beat) return false;
    const double half_a_section = 0.5 * replay_.plan().stages_per_copy() / sections_;
    return point.result.step_time >
           *budget_.to_beat + scaled(*budget_.to_beat, part * (kMostGain + half_a_section));
  }

  std::vector<std::vector<int>> starts() {
    std::vector<std::vector<int>> starts;
    const Plan& plan = replay_.plan();
    if (!plan.cuts.empty()) starts.push_back(plan.cuts);
    if (!replay_.is_cheap()) {  // what is good for static lists of the same placement
      CutBudget budget = budget_;
      budget.to_beat.reset();  // it is another schedule's
      const auto stand_in = improve_cuts(inputs_, with_stand_in(plan), budget);
      if (stand_in) starts.push_back(stand_in->plan.cuts);
    }
    starts.push_back(equal_cuts(sections_, plan.stages_per_copy()));
    if (budget_.trainer == nullptr) return starts;
    for (std::vector<int>& cuts : starts) cuts = taken_by_trainer(cuts);
    std::erase(starts, std::vector<int>{});
    return starts;
  }

  // Nothing when it was tried before or does not fit.
  enum class Forms {
    kAsGiven,
    kAny,  // where cuts do not fit, the recompute may be divided: where all are tried, so that no
           // plan with less memory is faster
  };
  // Cuts that a bound says to be slower than `slowest` are not replayed, but count as tried.
  std::optional<Point> tried(std::vector<int> cuts, Forms forms = Forms::kAsGiven,
                             Duration slowest = Duration::max()) {
    if (is_over() || !tried_.insert(cuts).second) return std::nullopt;
    const bool tells = replay_.knows_chains() && forms == Forms::kAsGiven;
    left_ -= tells ? kReplaysPerChain : 1;
    if (budget_.trainer != nullptr && taken_by_trainer(cuts) != cuts) return std::nullopt;
    const auto result =
        forms == Forms::kAny
            ? forms_.run_any(cuts)
            : forms_.run(cuts, tells ? CutReplay::Tells::kChain : CutReplay::Tells::kStep, slowest);
    if (result && tells) model_->add(cuts, result->replayed);
    if (!result || (budget_.memory && result->replayed.memory > *budget_.memory)) {
      return std::nullopt;
    }
    fastest_ = std::min(fastest_, result->replayed.step_time);
    const std::int64_t imbalance = imbalance_of(forms_.of(result->form), cuts);
    return Point{std::move(cuts), result->replayed, result->form, imbalance};
  }

  // The nearest cuts that the trainer can run; none when there are none.
  [[nodiscard]] std::vector<int> taken_by_trainer(const std::vector<int>& cuts) const {
    std::string why_not;
    const auto plan = as_run_by(*budget_.trainer, replay_.with(cuts), section_names_, why_not);
    return plan ? plan->cuts : std::vector<int>{};
  }

  [[nodiscard]] static std::int64_t imbalance_of(const CutReplay& replay,
                                                 const std::vector<int>& cuts) {
    std::int64_t sum = 0;
    for (const std::int64_t work : replay.rank_work(cuts)) {
      const std::int64_t rounded = work >> 12U;
      sum += rounded * rounded;
    }
    return sum;
  }

  // Whether the last few replays gained too little to spend more: then none is left.
  bool stalls() {
    if (budget_.least_gain <= 0.0 || left_ > next_look_) return false;
    next_look_ = left_ - kReplaysPerLook;
    const Duration gained = fastest_before_ - fastest_;
    fastest_before_ = fastest_;
    if (gained >= scaled(fastest_, budget_.least_gain)) return false;
    left_ = 0;
    return true;
  }

  // To where the model says that the step is shortest, as long as the replay says so, too; where it
  // does not, the model has learnt why.
  void descend(Point& now) {
    if (!replay_.knows_chains()) return descend_by_work(now);
    for (int lost = 0; lost < kMostLost && left_ > 0 && !is_far(now, part_left());) {
      if (stalls()) return;
      auto cuts = least_near(now.cuts, now);
      if (!cuts) return;
      ++lost;
      if (is_known_to_lose(*cuts, now)) continue;
      auto point = tried(std::move(*cuts));
      if (!point) continue;
      lost += kLostByReplay;
      if (!is_better(*point, now)) continue;
      now = std::move(*point);
      lost = 0;
    }
  }

  // Where replays tell no chains: to better neighbours, the first that comes, until there is none.
  void descend_by_work(Point& now) {
    for (bool moved = true; moved;) {
      moved = false;
      int tries = 0;
      const int most =
          budget_.to_beat ? kMostMoves
                          : std::max(kMostMoves, kMovesPerStage * replay_.plan().stages_per_copy());
      for (const CutMove& move : moves_from(now)) {
        if (left_ <= 0 || tries >= most || is_far(now, part_left()) || stalls()) return;
        std::vector<int> cuts = now.cuts;
        if (!make_move(move, cuts) || tried_.contains(cuts)) continue;
        if (replay_.bound(cuts) > now.result.step_time) continue;
        ++tries;
        auto point = tried(std::move(cuts), Forms::kAsGiven, now.result.step_time);
        if (!point || !is_better(*point, now)) continue;
        now = std::move(*point);
        moved = true;
        break;
      }
    }
  }

  // From the busiest ranks to the least busy ones first.
  [[nodiscard]] std::vector<CutMove> moves_from(const Point& point) const {
    const Plan& plan = replay_.plan();
    const std::vector<std::int64_t> work = forms_.of(point.form).rank_work(point.cuts);
    struct Scored {
      std::int64_t relief = 0;
      CutMove move;
    };
    std::vector<Scored> scored;
    const int stages = plan.stages_per_copy();
    for (int from = 0; from < stages; ++from) {
      const auto f = static_cast<std::size_t>(from);
      if (point.cuts[f + 1] - point.cuts[f] < 2) continue;
      for (int to = 0; to < stages; ++to) {
        if (to == from) continue;
        scored.push_back({work_of(plan, work, from) - work_of(plan, work, to), {from, to}});
      }
    }
    std::stable_sort(scored.begin(), scored.end(),
                     [](const Scored& a, const Scored& b) { return a.relief > b.relief; });
    std::vector<CutMove> moves;
    moves.reserve(scored.size());
    for (const Scored& one : scored) moves.push_back(one.move);
    return moves;
  }

  // Of the ranks that hold a stage.
  static std::int64_t work_of(const Plan& plan, const std::vector<std::int64_t>& work, int stage) {
    std::int64_t sum = 0;
    for (int s = stage; s < plan.stages(); s += plan.stages_per_copy()) {
      sum += work[static_cast<std::size_t>(plan.rank_of(s))];
    }
    return sum;
  }

  // A few moves at once, whatever they cost; nothing when none was found that may lead anywhere.
  std::optional<Point> kicked(const Point& from) {
    const Duration bearable = from.result.step_time + from.result.step_time / 64;
    for (int draw = 0; draw < kMostDraws && left_ > reserve_; ++draw) {
      auto cuts = with_random_moves(from.cuts);
      if (!cuts || tried_.contains(*cuts) || replay_.bound(*cuts) > bearable) continue;
      if (auto point = tried(std::move(*cuts))) return point;
    }
    return std::nullopt;
  }

  // From there on to where the model is least, if that may be better.
  std::optional<Point> kicked_by_model(const Point& from) {
    for (int draw = 0; draw < kMostDraws && left_ > reserve_; ++draw) {
      const auto cuts = with_random_moves(from.cuts);
      if (!cuts) continue;
      --left_;  // it takes about as long as a replay
      auto next = least_near(*cuts, from);
      if (!next || is_known_to_lose(*next, from)) continue;
      if (auto point = tried(std::move(*next))) return point;
    }
    return std::nullopt;
  }

  // Nothing when one of them would leave a stage without sections.
  std::optional<std::vector<int>> with_random_moves(std::vector<int> cuts) {
    const auto stages = static_cast<std::size_t>(replay_.plan().stages_per_copy());
    const std::size_t moves = 2 + random_.below(2);
    for (std::size_t i = 0; i < moves; ++i) {
      const auto from = static_cast<int>(random_.below(stages));
      const auto to = static_cast<int>(random_.below(stages));
      if (from == to || !make_move({from, to}, cuts)) return std::nullopt;
    }
    return cuts;
  }

  // Nothing is left: all is spent, or the search was asked to stop.
  bool is_over() {
    if (left_ > 0 && budget_.asked_to_stop != nullptr && (*budget_.asked_to_stop)()) left_ = 0;
    return left_ <= 0;
  }

  // The least of the model near `cuts`, if by all that is known it may be better than `now`.
  std::optional<std::vector<int>> least_near(const std::vector<int>& cuts, const Point& now) {
    if (is_over()) return std::nullopt;
    auto next = model_->least_near(
        cuts, [&](const std::vector<int>& other) { return replay_.may_fit(other); },
        [&](const std::vector<int>& other) { return !tried_.contains(other); });
    const auto step = static_cast<double>(now.result.step_time.count());
    if (!next || next->step >= step) return std::nullopt;
    return std::move(next->cuts);
  }

  bool is_known_to_lose(const std::vector<int>& cuts, const Point& now) {
    if (replay_.bound(cuts) <= now.result.step_time) return false;
    tried_.insert(cuts);
    return true;
  }

  const PlanInputs& inputs_;
  const CutBudget budget_;
  CutForms forms_;
  CutReplay& replay_;  // of the plan as it was given
  int sections_;
  std::vector<std::string> section_names_;
  int reserve_;  // replays that only serve to get to an optimum, not to look for another one
  int left_;     // replays, the reserve among them
  // What is left when it is next asked whether replays gain enough; the shortest step then and now.
  int next_look_ = 0;
  Duration fastest_before_{}, fastest_ = Duration::max();
  std::set<std::vector<int>> tried_;
  std::vector<Point> starts_;
  std::optional<StepModel> model_;
  FixedRandom random_;
};

}  // namespace

std::optional<Found> improve_cuts(const PlanInputs& inputs, const Plan& plan,
                                  const CutBudget& budget) {
  return CutSearch(inputs, plan, budget).run();
}

}  // namespace penstock
