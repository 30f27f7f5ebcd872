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

std::vector<int> gpus_of(const PlanPage& page, const std::vector<std::string>& types) {
  std::vector<int> gpus(types.size(), 0);
  for (const RanksOfType& each : page.devices) {
    const auto type = std::ranges::find(types, each.device);
    if (type != types.end()) gpus[static_cast<std::size_t>(type - types.begin())] += each.ranks;
  }
  return gpus;
}

std::vector<Rung> rungs_of(const std::vector<PlanPage>& pages,
                           const std::vector<std::string>& types) {
  std::vector<Rung> rungs;
  rungs.reserve(pages.size());
  for (const PlanPage& page : pages) {
    rungs.push_back({page.gpus, page.step, gpus_of(page, types)});
  }
  return useful_rungs(std::move(rungs));
}

const PlanPage& page_of(const std::vector<PlanPage>& pages, const std::vector<std::string>& types,
                        const Rung& rung) {
  return *std::ranges::find_if(pages, [&](const PlanPage& page) {
    return page.gpus == rung.gpus && page.step == rung.step &&
           gpus_of(page, types) == rung.of_types;
  });
}

// As seen, since they know what a checkpoint makes them stand still; before that as if it were all
// that it takes.
Duration interval_of_ranks(const JobState& state, UtcTime now) {
  if (const auto seen = state.kept_interval()) return *seen;
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

// Where a plan's ranks may go, machine after machine.
class Slots {
 public:
  explicit Slots(const std::vector<JobMachine>& machines) : machines_(machines) {}

  // The next GPU, of this type where one is named; nothing when none is left.
  std::optional<PlacedRank> next(const std::string& device) {
    Place& place = next_[device];
    while (place.machine < machines_.size()) {
      const JobMachine& machine = machines_[place.machine];
      const bool is_of_type = device.empty() || machine.device == device;
      if (is_of_type && place.local < machine.gpus) {
        PlacedRank rank;
        rank.machine = machine.name;
        rank.local_rank = place.local++;
        slow_factor_ = std::max(slow_factor_, machine.slow_factor);
        return rank;
      }
      place = {place.machine + 1, 0};
    }
    return std::nullopt;
  }
  // Of the slowest machine that was used.
  [[nodiscard]] double slow_factor() const { return slow_factor_; }

 private:
  struct Place {
    std::size_t machine = 0;
    int local = 0;
  };
  const std::vector<JobMachine>& machines_;
  std::map<std::string, Place> next_;
  double slow_factor_ = 1.0;
};

// Nothing where there are too few GPUs, or too few of one type.
std::optional<ChosenPlan> placed(const PlanPage& page, const std::vector<JobMachine>& machines) {
  ChosenPlan chosen;
  chosen.page = page;
  Slots slots(machines);
  std::vector<RanksOfType> devices = page.devices;
  if (devices.empty()) devices.push_back({"", page.gpus});
  for (const RanksOfType& each : devices) {
    for (int i = 0; i < each.ranks; ++i) {
      std::optional<PlacedRank> rank = slots.next(each.device);
      if (!rank) return std::nullopt;
      rank->rank = static_cast<int>(std::ssize(chosen.ranks));
      chosen.ranks.push_back(*std::move(rank));
    }
  }
  chosen.slow_factor = slots.slow_factor();
  return chosen;
}

// The fastest placement, slow machines counted; of equal ones that of fewest GPUs.
std::optional<ChosenPlan> fastest(const std::vector<PlanPage>& pages,
                                  const std::vector<JobMachine>& machines) {
  std::optional<ChosenPlan> best;
  for (const PlanPage& page : pages) {
    std::optional<ChosenPlan> its = placed(page, machines);
    if (its && (!best || its->step() < best->step())) best = std::move(its);
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
      : state_(state),
        types_(rules.types),
        pages_(pages_of(rules, state)),
        rungs_(rungs_of(pages_, types_)) {
    Availability recording;
    recording.types = types_;
    std::map<std::string, int> ids;
    for (const SeenChange& seen : state.history) {
      AvailabilityChange change;
      change.at = seen.at - state.created;
      change.gpus = seen.gpus;
      change.of_types = seen.of_types;
      change.of_types.resize(types_.size(), 0);
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
      policy_->decide({change.at,
                       change.gpus,
                       &change,
                       rung_on(state.history[i].running, state.history[i].page),
                       {},
                       change.of_types});
    }
  }

  // `running`: the GPUs of the plan that runs; `its_page`: where it stands.
  Decision ask(const std::vector<JobMachine>& machines, std::optional<int> running,
               std::optional<int> its_page, UtcTime now) {
    const std::vector<int> of_types = gpus_by_type(types_, machines);
    return policy_->decide({now - state_.created,
                            gpus_of(machines),
                            nullptr,
                            rung_on(running, its_page),
                            {},
                            of_types});
  }
  [[nodiscard]] const PlanPage& page(std::size_t rung) const {
    return page_of(pages_, types_, rungs_[rung]);
  }

 private:
  [[nodiscard]] std::optional<std::size_t> rung_on(std::optional<int> gpus,
                                                   std::optional<int> number) const {
    if (!gpus) return std::nullopt;
    if (types_.empty()) return fastest_rung(rungs_, *gpus);
    const auto its =
        std::ranges::find_if(pages_, [&](const PlanPage& page) { return page.page == number; });
    if (its == pages_.end()) return std::nullopt;
    return fastest_rung(rungs_, its->gpus, gpus_of(*its, types_));
  }

  const JobState& state_;
  const std::vector<std::string>& types_;
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
  const std::string which = plan.is_tailored ? "a plan for the ranks as slow as they are"
                                             : "the plan on " + gpus_text(plan.page);
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

std::vector<int> gpus_by_type(const std::vector<std::string>& types,
                              const std::vector<JobMachine>& machines) {
  std::vector<int> gpus(types.size(), 0);
  for (const JobMachine& machine : machines) {
    const auto type = std::ranges::find(types, machine.device);
    if (type == types.end()) continue;
    gpus[static_cast<std::size_t>(type - types.begin())] += machine.gpus;
  }
  return gpus;
}

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
  const Decision decision = policy.ask(machines, std::nullopt, std::nullopt, now);
  if (!decision.rung) return std::nullopt;
  std::optional<ChosenPlan> chosen = placed(policy.page(*decision.rung), machines);
  if (!chosen || chosen->slow_factor > 1.0) chosen = fastest(pages_of(rules, state), machines);
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
  const Decision decision = policy.ask(machines, used, state.generation.page, now);
  const bool is_other =
      decision.rung &&
      (policy.page(*decision.rung).gpus > used ||
       (!rules.types.empty() && policy.page(*decision.rung).page != state.generation.page));
  if (is_other) {
    std::optional<ChosenPlan> chosen = placed(policy.page(*decision.rung), machines);
    if (chosen && chosen->step() < running &&
        pays_before_the_end(rules, state, running, chosen->step())) {
      const std::string reason = words_of(*chosen, running);
      return {std::move(chosen), std::nullopt, reason};
    }
  }
  BetterPlan later;
  if (decision.wake) later.look_again = state.created + *decision.wake;
  return later;
}

}  // namespace penstock
