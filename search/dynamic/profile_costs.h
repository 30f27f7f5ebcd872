// Costs of shapes from a profile and a cluster, as evaluate() prices a plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/plan_wiring.h"
#include "costmodel/shape_sections.h"
#include "search/device_cluster.h"
#include "search/dynamic/shape_costs.h"
#include "search/evaluate.h"

namespace penstock {

// Keeps what `inputs` points to. `layout` has cuts; its batch and schedule are not looked at.
class ProfileCosts : public ShapeCosts {
 public:
  ProfileCosts(const PlanInputs& inputs, const Plan& layout, const std::string& recompute);

  [[nodiscard]] std::vector<ShapeCost> costs_of(
      const std::vector<MicroBatchShape>& shapes) const override;
  [[nodiscard]] ShapeLoads loads_of(const std::vector<MicroBatchShape>& shapes) const override;
  [[nodiscard]] StagePricing step_pricing() const override;
  [[nodiscard]] StagePricing prices_of(const Plan& plan) const override;

  // Of the layout's devices, for a BatchQuestion.
  [[nodiscard]] PerRank<Bytes> capacity() const { return devices_.memory(); }
  [[nodiscard]] PerRank<Bytes> reserve() const { return devices_.reserve(); }

 private:
  using Tables = std::vector<std::vector<SectionTable>>;  // [device type][shape]
  [[nodiscard]] std::vector<ShapeCost> costs_of_few(
      const std::vector<MicroBatchShape>& shapes) const;
  [[nodiscard]] Tables tables_of(const std::vector<MicroBatchShape>& shapes) const;

  // Sections of one type in a stage.
  struct TypeCount {
    std::size_t type = 0;
    std::int64_t sections = 0;
  };
  [[nodiscard]] StageLoad load_of(int stage, const std::vector<SectionLoad>& by_type) const;

  PlanInputs inputs_;
  Plan layout_;
  PlanDevices devices_;
  PlanWiring wiring_;
  std::vector<ShapeSections> sections_;  // by device type
  // Whether a stage's times are the sums of its sections', which is what loads_of() knows: neither
  // are its sections gathered or reduced one by one, nor do messages take of its ranks' time.
  bool stages_are_sums_ = false;
  std::vector<std::vector<TypeCount>> counts_;  // by stage
};

}  // namespace penstock
