#include "runtime_bridge/spilled_budget.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string_view>

#include "core/values/error.h"

namespace penstock {

bool is_spilled(const PlanFile& file) { return file.program.has_slots(); }

SlotSchedule slot_schedule(const PlanFile& file) {
  SlotSchedule schedule;
  schedule.slots = file.program.pipelines.front().weight_slots;
  for (const Action& action : file.program.actions) {
    schedule.actions.push_back({action.kind, action.stage.value});
  }
  return schedule;
}

// As the memory model has it: every slot has room for the largest of each part.
SpilledBudget spilled_budget(const PlanFile& file) {
  SpilledBudget budget;
  const Pipeline& pipeline = file.program.pipelines.front();
  const MemoryUse& memory = file.prediction.ranks.front().memory;
  budget.shards = pipeline.stages;
  budget.slots = pipeline.weight_slots;
  budget.updates_on_host = slot_schedule(file).updates_on_host();
  budget.slot = Bytes{(memory.parameters + memory.gradients + memory.optimizer_state).count /
                      std::max(1, pipeline.weight_slots)};
  for (const StepPrice& step : file.prices.step) {
    budget.host += step.parameters + step.gradients + step.optimizer_state + step.only_on_host;
  }
  budget.peak = memory.total() - memory.reserve;
  budget.capacity = file.prediction.ranks.front().capacity - memory.reserve;
  return budget;
}

std::string words_of(const SpilledBudget& budget, std::optional<BytesPerSecond> link) {
  std::string words = "spilled: " + std::to_string(budget.shards) + " shards go through " +
                      std::to_string(budget.slots) + (budget.slots == 1 ? " slot" : " slots") +
                      " of " + to_text(budget.slot) + "; the device may hold " +
                      to_text(budget.capacity) + ", " + to_text(budget.peak) +
                      " predicted; pools on the host: " + to_text(budget.host) +
                      "; the optimizer runs on the " + (budget.updates_on_host ? "host" : "device");
  if (link) {
    words += "; host link: " + to_text(Bytes{static_cast<std::int64_t>(link->value)}) +
             " per second each way";
  }
  return words;
}

std::optional<Bytes> available_memory(const std::string& meminfo) {
  constexpr std::string_view kKey = "MemAvailable:";  // "MemAvailable:   12345 kB"
  const std::size_t at = meminfo.find(kKey);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream rest(meminfo.substr(at + kKey.size()));
  std::int64_t kib = 0;
  if (!(rest >> kib)) return std::nullopt;
  return Bytes{kib * 1024};
}

void require_host_memory(Bytes host, const std::string& meminfo) {
  const std::optional<Bytes> available = available_memory(meminfo);
  if (!available || host <= *available) return;
  throw Error(ErrorKind::kMissingResource,
              "the shards take " + to_text(host) + " of host memory, and " + to_text(*available) +
                  " are available\nhelp: end what else runs here, or train on a machine with more "
                  "memory");
}

}  // namespace penstock
