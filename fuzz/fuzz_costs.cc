// penstock.costs/1, for schedules of one to four stages that divide the backward or do not. The
// text goes through the JSON parser and back as well.
#include "cli/options/costs.h"
#include "fuzz/fuzz.h"

namespace penstock {
namespace {

using fuzz::require;

void check_price(const Price& price) {
  require(price.duration >= Duration{}, "a negative time");
  require(price.duration <= 2 * kLongestDuration, "an endless time");  // B is the sum of I and W
}

void check_costs(const ScheduleCosts& costs, std::size_t stages) {
  const std::size_t cells = stages * static_cast<std::size_t>(costs.prices.shapes);
  require(costs.prices.compute.size() == cells && costs.prices.transfer.size() == cells &&
              costs.prices.step.size() == stages,
          "the tables are not those of the stages");
  for (const MicroBatchRun& run : costs.micro_batches) {
    require(run.count > 0 && run.each.shape >= 0 && run.each.shape < costs.prices.shapes,
            "a micro-batch has no shape");
  }
  for (const ComputePrice& price : costs.prices.compute) {
    for (const Price& each : {price.forward, price.input_gradient, price.weight_gradient,
                              price.fused_backward, price.recompute}) {
      check_price(each);
    }
    require(costs.recompute || price.recompute.duration == Duration{}, "a recompute is forgotten");
  }
  for (const TransferPrice& price : costs.prices.transfer) {
    check_price(price.activation);
    check_price(price.gradient);
  }
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto json = fuzz::accepted_and_kept(
      data, size, [](const Json& value) { return value; }, [](const Json& value) { return value; });
  if (!json) return 0;
  for (const bool split : {false, true}) {
    for (int stages = 1; stages <= 4; ++stages) {
      const auto costs =
          fuzz::unless_refused([&] { return read_costs(*json, fuzz::kFile, split, stages); });
      if (costs) check_costs(*costs, static_cast<std::size_t>(stages));
    }
  }
  return 0;
}
