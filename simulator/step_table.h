// Makes the steps of one pipeline's rolled replay from its schedule, and what they cost.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/program.h"
#include "core/values/schedule.h"
#include "simulator/price_table.h"
#include "simulator/rolled_replay.h"

namespace penstock {

class StepTable {
 public:
  // As RolledReplay takes them.
  StepTable(const Schedule& schedule, const Program& program, std::size_t pipeline,
            const PriceTable& prices, bool recompute, bool transfers);

  // Adds to `costs` what was not yet asked for.
  RolledReplay::Step step_of(const ComputeAction& action, bool second_of_pair,
                             std::vector<RolledReplay::Costs>& costs);

 private:
  [[nodiscard]] RolledReplay::Step between(const ComputeAction& action) const;
  [[nodiscard]] std::int32_t boundary(int a, int b, int index) const;
  [[nodiscard]] RolledReplay::Costs costs_of(const ComputeAction& action, bool second_of_pair,
                                             std::uint32_t run) const;

  const Schedule& schedule_;
  const Pipeline& pipeline_;
  const PriceTable& prices_;
  bool recompute_, transfers_;
  // [stage][kind][second of a pair]: those differ in their micro-batches only.
  std::vector<std::optional<RolledReplay::Step>> known_;
};

}  // namespace penstock
