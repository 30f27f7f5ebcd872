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

class FormingCandidates {
 public:
  FormingCandidates(const BatchQuestion& question, const FormingReplays& of,
                    std::vector<Candidate>& list)
      : question_(question), of_(of), list_(list) {
    for (const auto& replica : of.replicas) counts_.push_back(static_cast<int>(replica.size()));
  }

  std::int64_t run() {
    const auto kinds = batch_schedules(question_.layout, question_.schedules);
    for (std::size_t index = 0; index < kinds.size(); ++index) {
      const int group = common_group(*kinds[index], question_.layout, counts_);
      if (group < 0) continue;
      const std::size_t first = list_.size();
      add({kinds[index], group, 0}, index, of_.forming.rung);
      if (is_cyclic(*kinds[index])) add_within(*kinds[index], index, list_[first].need);
    }
    return replays_;
  }

 private:
  // Rungs that bind.
  void add_within(const ScheduleKind& kind, std::size_t index, std::int64_t unbound) {
    for (const std::int64_t rung : rungs_of(*of_.forming.mode, kRoomRungsPerOctave)) {
      if (rung >= unbound || rung <= of_.replays.beside_stash()) continue;
      add({&kind, 0, rung}, index, std::max(rung, of_.forming.rung));
    }
  }

  void add(const BatchSchedule& schedule, std::size_t index, std::int64_t rung) {
    Candidate fastest;
    fastest.of = &of_;
    fastest.schedule = schedule;
    fastest.rung = rung;
    fastest.schedule_index = index;
    Candidate leanest = fastest;
    leanest.leanest = true;
    for (const std::vector<int>& replica : of_.replicas) {
      const OrderQuestion question = of_.order_question(replica, kAnyNeed);
      const SimpleOrders orders = simple_orders(
          question, false, of_.replays.replay_of(schedule, static_cast<int>(replica.size())));
      replays_ += orders.replays;
      take(replica, orders.fastest, fastest);
      take(replica, orders.leanest, leanest);
    }
    fastest.add_up();
    leanest.add_up();
    const bool differ = leanest.need < fastest.need;
    list_.push_back(std::move(fastest));
    if (differ) list_.push_back(std::move(leanest));
  }

  static void take(const std::vector<int>& replica, const FoundOrder& found, Candidate& candidate) {
    std::vector<int>& order = candidate.replicas.emplace_back();
    for (const int at : found.order) order.push_back(replica[static_cast<std::size_t>(at)]);
    candidate.scores.push_back(found.score);
  }

  const BatchQuestion& question_;
  const FormingReplays& of_;
  std::vector<Candidate>& list_;
  std::vector<int> counts_;
  std::int64_t replays_ = 0;
};

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
    return at->second(shapes);
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
      replays(question.layout, forming_.mode->shapes, costs, forming_.formed.micro_batches) {
  std::vector<double> times;
  times.reserve(forming.formed.micro_batches.size());
  for (const FormedMicroBatch& formed : forming.formed.micro_batches) {
    times.push_back(forming.mode->shapes.at(formed.shape).time_ns);
  }
  replicas = balance_replicas(times, question.layout.data);
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

Candidates batch_candidates(const BatchQuestion& question, const Formings& formings) {
  Candidates result;
  for (const auto& mode : formings.modes) {
    auto costs =
        std::make_unique<ReplayCosts>(question.layout, question.executor, mode->recomputes);
    costs->extend(mode->shapes);
    result.costs.push_back(std::move(costs));
  }
  for (const Forming& forming : formings.list) {
    result.formings.push_back(std::make_unique<FormingReplays>(
        question, forming, *result.costs[std::get<1>(forming.key)]));
  }
  struct Found {
    std::vector<Candidate> list;
    std::int64_t replays = 0;
  };
  std::vector<Found> found(result.formings.size());
  in_parallel(question.threads, found.size(), [&](std::size_t i) {
    found[i].replays = FormingCandidates(question, *result.formings[i], found[i].list).run();
  });
  for (Found& of : found) {
    result.replays += of.replays;
    std::move(of.list.begin(), of.list.end(), std::back_inserter(result.list));
  }
  std::sort(result.list.begin(), result.list.end(), is_ranked_before);
  return result;
}

namespace {

// One replica's micro-batches: first by clusters, then by local search. Returns the replays.
std::int64_t order_anew(const BatchQuestion& question, std::int64_t limit, std::int64_t budget,
                        std::size_t replica, Candidate& candidate) {
  std::vector<int>& order = candidate.replicas[replica];
  const std::vector<int> before = order;
  const OrderQuestion asked = candidate.of->order_question(order, limit);
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

Candidate improved(const BatchQuestion& question, const Candidate& candidate, std::int64_t limit,
                   std::int64_t& replays) {
  constexpr std::int64_t kReplaysPerLists = 8;  // what making lists costs, in replays
  const std::int64_t budget =
      candidate.schedule.within > 0 ? question.replays / kReplaysPerLists : question.replays;
  Candidate better = candidate;
  if (candidate.replicas.size() > 1) better = Rebalance(candidate, limit, budget).run(replays);
  if (question.layout.stages() == 1) return better;  // one after the other, in any order
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
  }
  better.add_up();
  return better;
}

}  // namespace penstock
