// The choice is the policy's of morphing/, which the recordings in data/availability were replayed
// with. It remembers losses, and a job's state holds what it has seen (JobState::history), so it is
// made anew and shown all of that for every question: a manager that was started again decides as
// the one before it would have.
//
// Ranks go to machines that are not slow first, then to those that have been there longest, which
// is what the replays assume. How much a slow machine stretches a step that is under way is known
// from a simulation (SlowAdvised), and so is a plan that was made for the ranks as they are; of
// other plans the whole step is taken to be longer by the machine's factor, which is the most that
// it can be.
#include "manager/choose_plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "morphing/change_policy.h"
#include "morphing/checkpoint_interval.h"

namespace penstock {
namespace {

// A change around a slow machine brings this much at least.
constexpr double kLeastGain = 1.1;
// Until a loss is seen.
constexpr Duration kPriorLife = std::chrono::hours(3);

// The book's and those that were found besides.
std::vector<PlanPage> pages_of(const JobRules& rules, const JobState& state) {
  std::vector<PlanPage> pages = rules.pages;
  pages.insert(pages.end(), state.found_pages.begin(), state.found_pages.end());
  std::ranges::stable_sort(pages, {}, &PlanPage::gpus);
  return pages;
}

std::vector<Rung> rungs_of(const std::vector<PlanPage>& pages) {
  std::vector<Rung> rungs;
  rungs.reserve(pages.size());
  for (const PlanPage& page : pages) rungs.push_back({page.gpus, page.step});
  return useful_rungs(std::move(rungs));
}

const PlanPage& page_of(const std::vector<PlanPage>& pages, const Rung& rung) {
  return *std::ranges::find_if(pages, [&](const PlanPage& page) {
    return page.gpus == rung.gpus && page.step == rung.step;
  });
}

// As seen, since they know what a checkpoint makes them stand still; before that as if it were all
// that it takes.
Duration interval_of_ranks(const JobState& state, UtcTime now) {
  if (state.kept_interval) return *state.kept_interval;
  return background_interval(state.write_time, state.write_time, mean_between_losses(state, now));
}

ChangeCosts costs_of(const JobRules& rules, const JobState& state, UtcTime now) {
  ChangeCosts costs;
  costs.write = state.write_time;
  costs.restart = state.restart_time;
  costs.every = rules.job.checkpoint_every.value_or(interval_of_ranks(state, now));
  costs.notice = rules.job.notice;
  return costs;
}

std::vector<JobMachine> by_preference(std::vector<JobMachine> machines) {
  std::ranges::sort(machines, [](const JobMachine& a, const JobMachine& b) {
    return std::tie(a.slow_factor, a.since, a.name) < std::tie(b.slow_factor, b.since, b.name);
  });
  return machines;
}

int gpus_of(const std::vector<JobMachine>& machines) {
  int gpus = 0;
  for (const JobMachine& machine : machines) gpus += machine.gpus;
  return gpus;
}

ChosenPlan placed(const PlanPage& page, const std::vector<JobMachine>& machines) {
  ChosenPlan chosen;
  chosen.page = page;
  for (const JobMachine& machine : machines) {
    for (int local = 0; local < machine.gpus && std::ssize(chosen.ranks) < page.gpus; ++local) {
      PlacedRank rank;
      rank.rank = static_cast<int>(std::ssize(chosen.ranks));
      rank.machine = machine.name;
      rank.local_rank = local;
      chosen.ranks.push_back(std::move(rank));
      chosen.slow_factor = std::max(chosen.slow_factor, machine.slow_factor);
    }
  }
  return chosen;
}

// The fastest placement, slow machines counted; of equal ones that of fewest GPUs.
std::optional<ChosenPlan> fastest(const std::vector<PlanPage>& pages,
                                  const std::vector<JobMachine>& machines) {
  std::optional<ChosenPlan> best;
  const int gpus = gpus_of(machines);
  for (const PlanPage& page : pages) {
    if (page.gpus > gpus) continue;
    ChosenPlan its = placed(page, machines);
    if (!best || its.step() < best->step()) best = std::move(its);
  }
  return best;
}

// The plan that was made for slow ranks, while all machines are as they were.
std::optional<ChosenPlan> tailored(const JobState& state, const std::vector<JobMachine>& usable) {
  if (!state.tailored) return std::nullopt;
  const TailoredPlan& made = *state.tailored;
  for (std::size_t i = 0; i < made.ranks.size(); ++i) {
    const auto found = std::ranges::find(usable, made.ranks[i].machine, &JobMachine::name);
    if (found == usable.end() || found->gpus <= made.ranks[i].local_rank) return std::nullopt;
    if (found->slow_factor != made.factors[i]) return std::nullopt;
  }
  ChosenPlan chosen;
  chosen.page = made.page;
  chosen.ranks = made.ranks;
  chosen.is_tailored = true;
  return chosen;
}

// Of equal ones the first.
std::optional<ChosenPlan> faster_of(std::optional<ChosenPlan> one,
                                    std::optional<ChosenPlan> other) {
  if (!other || (one && one->step() <= other->step())) return one;
  return other;
}

// The policy, after all that the job has seen.
class Remembering {
 public:
  Remembering(const JobRules& rules, const JobState& state, UtcTime now)
      : state_(state), pages_(pages_of(rules, state)), rungs_(rungs_of(pages_)) {
    Availability recording;
    std::map<std::string, int> ids;
    for (const SeenChange& seen : state.history) {
      AvailabilityChange change;
      change.at = seen.at - state.created;
      change.gpus = seen.gpus;
      for (const std::string& name : seen.lost) {
        if (const auto id = ids.find(name); id != ids.end()) change.lost.push_back(id->second);
      }
      for (const std::string& name : seen.added) {
        // A machine that comes back is another one to the policy.
        ids[name] = static_cast<int>(recording.machines.size());
        change.added.push_back(ids[name]);
        recording.machines.push_back({name, 1});
      }
      recording.changes.push_back(std::move(change));
    }
    policy_ = expected_gain_policy(recording, rungs_, costs_of(rules, state, now));
    for (std::size_t i = 0; i < recording.changes.size(); ++i) {
      const AvailabilityChange& change = recording.changes[i];
      policy_->decide({change.at, change.gpus, &change, rung_on(state.history[i].running)});
    }
  }

  Decision ask(int gpus, std::optional<int> running, UtcTime now) {
    return policy_->decide({now - state_.created, gpus, nullptr, rung_on(running)});
  }
  [[nodiscard]] const PlanPage& page(std::size_t rung) const {
    return page_of(pages_, rungs_[rung]);
  }

 private:
  [[nodiscard]] std::optional<std::size_t> rung_on(std::optional<int> gpus) const {
    if (!gpus) return std::nullopt;
    return fastest_rung(rungs_, *gpus);
  }

  const JobState& state_;
  const std::vector<PlanPage> pages_;
  const std::vector<Rung> rungs_;
  std::unique_ptr<ChangePolicy> policy_;
};

// A faster plan brings nothing to a job that ends before the change is over.
bool pays_before_the_end(const JobRules& rules, const JobState& state, Duration now_step,
                         Duration then_step) {
  const auto left =
      static_cast<double>(std::max<std::int64_t>(0, rules.job.steps - state.last_step));
  const auto change = static_cast<double>((state.write_time + state.restart_time).count());
  return left * static_cast<double>(now_step.count()) >
         change + left * static_cast<double>(then_step.count());
}

std::string words_of(const ChosenPlan& plan, Duration running) {
  const std::string which = plan.is_tailored
                                ? "a plan for the ranks as slow as they are"
                                : "the plan on " + std::to_string(plan.page.gpus) + " GPUs";
  return which + " is predicted to take " + to_text(plan.step()) + " a step instead of " +
         to_text(running);
}

double slowest_used(const JobState& state) {
  double factor = 1.0;
  for (const PlacedRank& rank : state.generation.ranks) {
    for (const JobMachine& machine : state.machines) {
      if (machine.name == rank.machine) factor = std::max(factor, machine.slow_factor);
    }
  }
  return factor;
}

bool runs_tailored(const JobState& state) {
  return state.tailored && state.tailored->page.page == state.generation.page;
}

// Whether slow machines, or those that were, are a reason to look for another plan: not before the
// simulation has said what they cost.
bool asks_about_slow(const JobRules& rules, const JobState& state) {
  const bool is_slow = slowest_used(state) > 1.0;
  if (is_slow && rules.advised && !state.generation.slowed_step) return false;
  return is_slow || runs_tailored(state);
}

}  // namespace

Duration mean_between_losses(const JobState& state, UtcTime now) {
  return std::max(Duration{1}, (now - state.created + kPriorLife) / (state.breaks + 1));
}

Duration running_step(const JobState& state) {
  if (state.generation.slowed_step) return *state.generation.slowed_step;
  return scaled(state.generation.predicted_step, slowest_used(state));
}

std::vector<JobMachine> usable_machines(const JobState& state, UtcTime now) {
  const Duration least = 2 * (state.write_time + state.restart_time);
  std::vector<JobMachine> usable;
  for (const JobMachine& machine : state.machines) {
    if (!machine.gone_by || *machine.gone_by - now >= least) usable.push_back(machine);
  }
  return by_preference(std::move(usable));
}

std::optional<ChosenPlan> plan_to_start(const JobRules& rules, const JobState& state, UtcTime now) {
  const std::vector<JobMachine> machines = usable_machines(state, now);
  Remembering policy(rules, state, now);
  const Decision decision = policy.ask(gpus_of(machines), std::nullopt, now);
  if (!decision.rung) return std::nullopt;
  std::optional<ChosenPlan> chosen = placed(policy.page(*decision.rung), machines);
  if (chosen->slow_factor > 1.0) chosen = fastest(pages_of(rules, state), machines);
  return faster_of(std::move(chosen), tailored(state, machines));
}

BetterPlan better_plan(const JobRules& rules, const JobState& state, UtcTime now, bool at_once) {
  const std::vector<JobMachine> machines = usable_machines(state, now);
  const Duration running = running_step(state);
  std::optional<ChosenPlan> best = fastest(pages_of(rules, state), machines);
  if (!runs_tailored(state)) best = faster_of(std::move(best), tailored(state, machines));
  if (!best || best->step() >= running) return {};
  const bool around_slow =
      asks_about_slow(rules, state) && scaled(best->step(), kLeastGain) <= running;
  if (at_once || around_slow) {
    if (!at_once && !pays_before_the_end(rules, state, running, best->step())) return {};
    const std::string reason = words_of(*best, running);
    return {std::move(best), std::nullopt, reason};
  }
  Remembering policy(rules, state, now);
  const int used = static_cast<int>(state.generation.ranks.size());
  const Decision decision = policy.ask(gpus_of(machines), used, now);
  if (decision.rung && policy.page(*decision.rung).gpus > used) {
    ChosenPlan chosen = placed(policy.page(*decision.rung), machines);
    if (chosen.step() < running && pays_before_the_end(rules, state, running, chosen.step())) {
      const std::string reason = words_of(chosen, running);
      return {std::move(chosen), std::nullopt, reason};
    }
  }
  BetterPlan later;
  if (decision.wake) later.look_again = state.created + *decision.wake;
  return later;
}

}  // namespace penstock
