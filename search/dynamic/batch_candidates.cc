// Every forming is balanced over the replicas by times, and every schedule that suits it is tried
// as it stands and the other way round. A cyclic schedule is also made within each rung of memory
// below what it would take by itself, which is how it comes to fit. Formings are independent of
// each other, so threads share them out; what they find is put together in the order of the
// formings.
#include "search/dynamic/batch_candidates.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "core/values/durations.h"
#include "search/dynamic/balance_replicas.h"
#include "search/in_parallel.h"

namespace penstock {
namespace {

constexpr int kRoomRungsPerOctave = 2;
constexpr std::int64_t kAnyNeed = std::numeric_limits<std::int64_t>::max();

// Of every replica the fastest of two orders, and the leanest where that needs less.
class OrderedCandidates {
 public:
  OrderedCandidates(const FormingReplays& of, const BatchSchedule& schedule, std::size_t index,
                    std::int64_t rung) {
    fastest.of = &of;
    fastest.schedule = schedule;
    fastest.rung = rung;
    fastest.schedule_index = index;
    leanest = fastest;
    leanest.leanest = true;
    for (const std::vector<int>& replica : of.replicas) {
      const OrderQuestion question = of.order_question(replica, kAnyNeed);
      const SimpleOrders orders = simple_orders(
          question, false, of.replays.replay_of(schedule, static_cast<int>(replica.size())));
      replays += orders.replays;
      take(replica, orders.fastest, fastest);
      take(replica, orders.leanest, leanest);
    }
    fastest.add_up();
    leanest.add_up();
  }
  [[nodiscard]] bool differ() const { return leanest.need < fastest.need; }

  Candidate fastest, leanest;
  std::int64_t replays = 0;

 private:
  static void take(const std::vector<int>& replica, const FoundOrder& found, Candidate& candidate) {
    std::vector<int>& order = candidate.replicas.emplace_back();
    for (const int at : found.order) order.push_back(replica[static_cast<std::size_t>(at)]);
    candidate.scores.push_back(found.score);
  }
};

// What can be thought of for one forming without a limit of memory.
struct UnboundCandidates {
  UnboundCandidates() = default;
  UnboundCandidates(const BatchQuestion& question, const FormingReplays& of,
                    const std::vector<const ScheduleKind*>& kinds) {
    std::vector<int> counts;
    for (const auto& replica : of.replicas) counts.push_back(static_cast<int>(replica.size()));
    for (std::size_t index = 0; index < kinds.size(); ++index) {
      const int group = common_group(*kinds[index], question.layout, counts);
      if (group < 0) continue;
      OrderedCandidates found(of, {kinds[index], group, 0}, index, of.forming.rung);
      replays += found.replays;
      const bool differ = found.differ();
      list.push_back(std::move(found.fastest));
      if (differ) list.push_back(std::move(found.leanest));
    }
  }
  std::vector<Candidate> list;
  std::int64_t replays = 0;
};

// Its micro-batches as they are shared out, in whatever order.
std::int64_t least_as_shared_out(const Candidate& candidate) {
  std::int64_t least = 0;
  for (const std::vector<int>& replica : candidate.replicas) {
    least = std::max(least, candidate.of->least_end_ns(candidate.schedule, replica));
  }
  return least;
}

// Moves and swaps of single micro-batches between the longest replica and the others.
class Rebalance {
 public:
  Rebalance(const Candidate& candidate, std::int64_t limit, std::int64_t budget)
      : candidate_(candidate), of_(*candidate.of), limit_(limit), budget_(budget) {}

  // The best exchange with any other replica, while one makes the longer of the two shorter.
  Candidate run(std::int64_t& replays) {
    while (spent_ < budget_ && exchange_once()) {
    }
    replays += spent_;
    return std::move(candidate_);
  }

 private:
  struct Pair {
    std::size_t other = 0;
    std::vector<int> longest_order, other_order;
    OrderScore longest_score, other_score;
    [[nodiscard]] std::int64_t end() const {
      return std::max(longest_score.end_ns, other_score.end_ns);
    }
  };

  bool exchange_once() {
    const auto by_end = [](const OrderScore& a, const OrderScore& b) {
      return a.end_ns < b.end_ns;
    };
    const auto& scores = candidate_.scores;
    longest_ = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end(), by_end) -
                                        scores.begin());
    best_ = {};
    best_end_ = scores[longest_].end_ns;
    for (std::size_t other = 0; other < scores.size(); ++other) {
      if (other != longest_ && scores[other].end_ns < best_end_) try_with(other);
    }
    if (best_.longest_order.empty()) return false;
    candidate_.replicas[longest_] = std::move(best_.longest_order);
    candidate_.replicas[best_.other] = std::move(best_.other_order);
    candidate_.scores[longest_] = best_.longest_score;
    candidate_.scores[best_.other] = best_.other_score;
    return true;
  }

  void try_with(std::size_t other) {
    const std::vector<int>& from = candidate_.replicas[longest_];
    const std::vector<int>& to = candidate_.replicas[other];
    for (std::size_t i = 0; i < from.size() && spent_ < budget_; ++i) {
      if (from.size() > 1) consider(other, i, {});
      for (std::size_t j = 0; j < to.size(); ++j) {
        if (time(to[j]) < time(from[i])) consider(other, i, j);
      }
    }
  }
  [[nodiscard]] double time(int m) const {
    const auto& formed = of_.forming.formed.micro_batches[static_cast<std::size_t>(m)];
    return of_.forming.mode->shapes.at(formed.shape).time_ns;
  }

  void consider(std::size_t other, std::size_t i, std::optional<std::size_t> j) {
    Pair pair;
    pair.other = other;
    pair.longest_order = candidate_.replicas[longest_];
    pair.other_order = candidate_.replicas[other];
    if (j) {
      std::swap(pair.longest_order[i], pair.other_order[*j]);
    } else {
      pair.other_order.push_back(pair.longest_order[i]);
      pair.longest_order.erase(pair.longest_order.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (!suits(pair)) return;
    pair.longest_score = score(pair.longest_order);
    if (pair.longest_score.end_ns >= best_end_) return;
    pair.other_score = score(pair.other_order);
    if (pair.end() >= best_end_ || pair.longest_score.need > limit_ ||
        pair.other_score.need > limit_) {
      return;
    }
    best_end_ = pair.end();
    best_ = std::move(pair);
  }
  // With other numbers of micro-batches a schedule may not exist.
  [[nodiscard]] bool suits(const Pair& pair) const {
    const auto can = [&](const std::vector<int>& order) {
      return of_.replays.can_schedule(candidate_.schedule, static_cast<int>(order.size()));
    };
    return can(pair.longest_order) && can(pair.other_order);
  }
  OrderScore score(const std::vector<int>& order) {
    ++spent_;
    std::vector<int> shapes;
    shapes.reserve(order.size());
    for (const int m : order) {
      shapes.push_back(of_.forming.formed.micro_batches[static_cast<std::size_t>(m)].shape);
    }
    const int count = static_cast<int>(order.size());
    const auto [at, is_new] = by_count_.try_emplace(count);
    if (is_new) at->second = of_.replays.replay_of(candidate_.schedule, count);
    return at->second(shapes, best_end_ - 1);
  }

  Candidate candidate_;
  const FormingReplays& of_;
  std::int64_t limit_, budget_, spent_ = 0;
  std::size_t longest_ = 0;
  Pair best_;
  std::int64_t best_end_ = 0;
  std::map<int, OrderReplay> by_count_;
};

}  // namespace

FormingReplays::FormingReplays(const BatchQuestion& question, const Forming& forming_,
                               const ReplayCosts& costs)
    : forming(forming_),
      replays(question.layout, forming_.mode->shapes, costs, forming_.formed.micro_batches) {}

void FormingReplays::share_out(int over) {
  std::vector<double> times;
  times.reserve(forming.formed.micro_batches.size());
  for (const FormedMicroBatch& formed : forming.formed.micro_batches) {
    times.push_back(forming.mode->shapes.at(formed.shape).time_ns);
  }
  replicas = balance_replicas(times, over);
}

OrderQuestion FormingReplays::order_question(const std::vector<int>& micro_batches,
                                             std::int64_t limit) const {
  OrderQuestion question;
  question.limit = limit;
  for (const int m : micro_batches) {
    const int shape = forming.formed.micro_batches[static_cast<std::size_t>(m)].shape;
    const StagePrices& prices = forming.mode->shapes.cost_of(shape).prices;
    const auto time = [&](int stage) {
      return static_cast<double>((price_alone(prices, ActionKind::kForward, {stage}) +
                                  price_alone(prices, ActionKind::kFusedBackward, {stage}))
                                     .count());
    };
    question.shapes.push_back(shape);
    question.times.emplace_back(time(0), time(prices.stages - 1));
  }
  return question;
}

std::int64_t FormingReplays::least_end_ns(const BatchSchedule& schedule,
                                          const std::vector<int>& micro_batches,
                                          int replicas_of_them) const {
  std::vector<int> shapes;
  shapes.reserve(micro_batches.size());
  for (const int m : micro_batches) {
    shapes.push_back(forming.formed.micro_batches[static_cast<std::size_t>(m)].shape);
  }
  return replays.least_end_ns(schedule, shapes, replicas_of_them);
}

void Candidate::add_up() {
  end_ns = need = 0;
  for (const OrderScore& score : scores) {
    end_ns = std::max(end_ns, score.end_ns);
    need = std::max(need, score.need);
  }
}

bool is_ranked_before(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& c) {
    return std::make_tuple(c.end_ns, c.of->forming.key, c.schedule_index, c.schedule.within,
                           c.leanest);
  };
  return key(a) < key(b);
}

std::int64_t least_end_ns(const Candidate& candidate) {
  std::vector<int> shapes;
  shapes.reserve(candidate.of->forming.formed.micro_batches.size());
  for (const FormedMicroBatch& formed : candidate.of->forming.formed.micro_batches) {
    shapes.push_back(formed.shape);
  }
  return candidate.of->replays.least_end_ns(candidate.schedule, shapes,
                                            static_cast<int>(candidate.replicas.size()));
}

Candidates::Candidates(const BatchQuestion& question, const Formings& formings, std::size_t origin,
                       std::int64_t beat)
    : question_(question) {
  take_formings(formings, origin, beat);
  add_unbound(batch_schedules(question.layout, question.schedules));
  if (made_.empty()) add_unbound({plain_batch_schedule(question.layout)});
  for (const Candidate& candidate : made_) {
    if (is_cyclic(*candidate.schedule.kind) && !candidate.leanest) add_unmade(candidate);
  }
  std::stable_sort(
      unmade_.begin(), unmade_.end(),
      [](const UnmadeCandidate& a, const UnmadeCandidate& b) { return a.least_ns < b.least_ns; });
  rank_anew();
}

namespace {

// Whatever its schedule, its orders and how its micro-batches are shared out.
std::int64_t least_end_of_any(const BatchQuestion& question, const FormingReplays& of) {
  std::vector<int> all(of.forming.formed.micro_batches.size());
  std::iota(all.begin(), all.end(), 0);
  std::int64_t least = kWhenever;
  std::vector<const ScheduleKind*> kinds = batch_schedules(question.layout, question.schedules);
  kinds.push_back(plain_batch_schedule(question.layout));
  for (const ScheduleKind* kind : kinds) {
    least = std::min(least, of.least_end_ns({kind, 0, 0}, all, question.layout.data));
  }
  return least;
}

}  // namespace

void Candidates::take_formings(const Formings& formings, std::size_t origin, std::int64_t beat) {
  for (const auto& mode : formings.modes) {
    costs_.push_back(
        std::make_unique<ReplayCosts>(question_.layout, question_.executor, mode->recomputes));
  }
  for (const Forming& forming : formings.list) {
    if (forming.origin != origin) continue;
    std::vector<int> shapes;
    for (const FormedMicroBatch& formed : forming.formed.micro_batches) {
      shapes.push_back(formed.shape);
    }
    costs_[std::get<1>(forming.key)]->add(forming.mode->shapes, shapes);
  }
  for (const Forming& forming : formings.list) {
    if (forming.origin != origin) continue;
    auto of =
        std::make_unique<FormingReplays>(question_, forming, *costs_[std::get<1>(forming.key)]);
    if (least_end_of_any(question_, *of) >= beat) continue;
    of->share_out(question_.layout.data);
    formings_.push_back(std::move(of));
  }
}

void Candidates::add_unbound(const std::vector<const ScheduleKind*>& kinds) {
  std::vector<UnboundCandidates> found(formings_.size());
  in_parallel(question_.threads, found.size(), [&](std::size_t i) {
    found[i] = UnboundCandidates(question_, *formings_[i], kinds);
  });
  for (UnboundCandidates& of : found) {
    replays_ += of.replays;
    std::move(of.list.begin(), of.list.end(), std::back_inserter(made_));
  }
}

// Rungs that bind.
void Candidates::add_unmade(const Candidate& like) {
  const std::int64_t least = least_as_shared_out(like), shared = least_end_ns(like);
  for (const std::int64_t rung : rungs_of(*like.of->forming.mode, kRoomRungsPerOctave)) {
    if (rung >= like.need || rung <= like.of->replays.beside_stash()) continue;
    unmade_.push_back({&like, rung, std::max(rung, like.of->forming.rung), least, shared});
  }
}

std::int64_t Candidates::least_end_within(std::int64_t limit, bool only_first_schedule) const {
  for (const Candidate* candidate : ranked_) {
    if (only_first_schedule && candidate->schedule_index > 0) continue;
    if (candidate->rung <= limit && candidate->need <= limit) return candidate->end_ns;
  }
  return kWhenever;
}

// One that ends with another at the earliest is made, too: equals go by their keys.
void Candidates::make_within(const Wanted& wanted) {
  std::int64_t latest = wanted.fastest - 1;
  if (wanted.ends_decide) {
    latest = std::min(latest, least_end_within(wanted.limit, wanted.only_first_schedule));
  }
  const std::size_t before = made_.size();
  for (UnmadeCandidate& unmade : unmade_) {
    if (unmade.least_ns > latest) break;
    if (unmade.like == nullptr || unmade.rung > wanted.limit) continue;
    if (wanted.ends_decide && unmade.least_shared_ns > wanted.beat) continue;
    if (wanted.only_first_schedule && unmade.like->schedule_index > 0) continue;
    const std::size_t first = made_.size();
    make(unmade);
    for (std::size_t i = first; i < made_.size() && wanted.ends_decide; ++i) {
      if (made_[i].need <= wanted.limit) latest = std::min(latest, made_[i].end_ns);
    }
  }
  if (made_.size() > before) rank_anew();
}

void Candidates::make_all() {
  for (UnmadeCandidate& unmade : unmade_) {
    if (unmade.like != nullptr) make(unmade);
  }
  rank_anew();
}

void Candidates::make(UnmadeCandidate& unmade) {
  const Candidate& like = *std::exchange(unmade.like, nullptr);
  OrderedCandidates found(*like.of, {like.schedule.kind, 0, unmade.within}, like.schedule_index,
                          unmade.rung);
  replays_ += found.replays;
  const bool differ = found.differ();
  made_.push_back(std::move(found.fastest));
  if (differ) made_.push_back(std::move(found.leanest));
}

void Candidates::rank_anew() {
  for (std::size_t i = ranked_.size(); i < made_.size(); ++i) ranked_.push_back(&made_[i]);
  std::sort(ranked_.begin(), ranked_.end(),
            [](const Candidate* a, const Candidate* b) { return is_ranked_before(*a, *b); });
}

namespace {

// One replica's micro-batches: first by clusters, then by local search. Returns the replays.
std::int64_t order_anew(const BatchQuestion& question, std::int64_t limit, std::int64_t budget,
                        std::size_t replica, Candidate& candidate) {
  std::vector<int>& order = candidate.replicas[replica];
  const std::vector<int> before = order;
  OrderQuestion asked = candidate.of->order_question(order, limit);
  asked.least_ns = candidate.of->least_end_ns(candidate.schedule, order);
  const OrderReplay replay =
      candidate.of->replays.replay_of(candidate.schedule, static_cast<int>(order.size()));
  FoundOrder start{std::vector<int>(order.size()), candidate.scores[replica], 0};
  std::iota(start.order.begin(), start.order.end(), 0);
  const SimpleOrders simple = simple_orders(asked, true, replay);
  const OrderScore& fastest = simple.fastest.score;
  if (fastest.need <= limit && fastest.end_ns < start.score.end_ns) start = simple.fastest;
  const FoundOrder found = search_order(asked, start, budget, question.seed + replica, replay);
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = before[static_cast<std::size_t>(found.order[i])];
  }
  candidate.scores[replica] = found.score;
  return simple.replays + found.replays;
}

}  // namespace

Candidate improved(const BatchQuestion& question, const Candidate& candidate,
                   const Improving& improving, std::int64_t& replays) {
  constexpr std::int64_t kReplaysPerLists = 8;  // what making lists costs, in replays
  const std::int64_t limit = improving.limit;
  const std::int64_t budget =
      candidate.schedule.within > 0 ? question.replays / kReplaysPerLists : question.replays;
  Candidate better = candidate;
  if (candidate.replicas.size() > 1) better = Rebalance(candidate, limit, budget).run(replays);
  better.add_up();
  if (question.layout.stages() == 1) return better;  // one after the other, in any order
  if (least_as_shared_out(better) >= improving.beat) return better;
  std::vector<bool> searched(better.replicas.size(), false);
  // The longest first; those behind it need none once it stays the longest.
  for (std::size_t left = searched.size(); left > 0; --left) {
    std::size_t longest = 0;
    for (std::size_t d = 1; d < better.scores.size(); ++d) {
      if (better.scores[d].end_ns > better.scores[longest].end_ns) longest = d;
    }
    if (searched[longest]) break;
    searched[longest] = true;
    replays += order_anew(question, limit, budget, longest, better);
    if (improving.ends_decide && better.scores[longest].end_ns >= improving.beat) break;
  }
  better.add_up();
  return better;
}

}  // namespace penstock
