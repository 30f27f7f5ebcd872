#include "manager/port/job_status.h"

namespace penstock {
namespace {

bool runs(const JobState& state) {
  return state.phase == JobPhase::kStarting || state.phase == JobPhase::kRunning ||
         state.phase == JobPhase::kStopping;
}

MachineStatus machine_status(const JobMachine& machine, const JobState& state) {
  MachineStatus status{machine.name,        machine.gpus,  {}, "", machine.gone_by,
                       machine.slow_factor, machine.device};
  for (const PlacedRank& rank : state.generation.ranks) {
    if (runs(state) && rank.machine == machine.name && !rank.ended) {
      status.ranks.push_back(rank.rank);
    }
  }
  if (machine.gone_by) {
    status.condition = "leaves";
  } else if (machine.slow_factor > 1.0) {
    status.condition = "slow";
  } else {
    status.condition = status.ranks.empty() ? "idle" : "in use";
  }
  return status;
}

std::optional<double> goodput_of(const JobSeen& seen) {
  Duration all{};
  for (const auto& [phase, time] : seen.in_phase) all += time;
  if (all <= Duration{}) return std::nullopt;
  return static_cast<double>(seen.productive.count()) / static_cast<double>(all.count());
}

}  // namespace

JobStatus job_status(const JobState& state, const JobSeen& seen, UtcTime now) {
  JobStatus status;
  status.job = state.job;
  status.phase = std::string(name_of(state.phase));
  status.why = state.why;
  status.plan = seen.plan;
  status.at = now;
  status.generation = state.generation.number;
  status.step = state.last_step;
  status.steps = seen.steps;
  for (const JobMachine& machine : state.machines) {
    status.gpus_present += machine.gpus;
    status.machines.push_back(machine_status(machine, state));
    status.gpus_used += static_cast<int>(status.machines.back().ranks.size());
  }
  if (state.last_step > 0) status.loss = state.last_loss;
  status.step_time = state.step_time;
  if (state.generation.number > 0) status.predicted_step = state.generation.predicted_step;
  if (state.step_time && *state.step_time > Duration{} && seen.tokens_per_step > 0) {
    status.tokens_per_s = static_cast<double>(seen.tokens_per_step) * 1e9 /
                          static_cast<double>(state.step_time->count());
  }
  if (state.expected && !state.expected->waited && !state.has_ended()) {
    status.next_step_at = state.expected->since + state.expected->time;
  }
  status.checkpoint_step = state.checkpoint_step;
  status.checkpoint_at = seen.checkpoint_at;
  status.restarts = state.restarts;
  status.lost_steps = state.lost_steps;
  status.failures = state.failures;
  status.in_phase = seen.in_phase;
  status.goodput = goodput_of(seen);
  status.decisions = seen.decisions;
  return status;
}

}  // namespace penstock
