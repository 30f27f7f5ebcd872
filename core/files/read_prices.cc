#include <cstddef>
#include <string>
#include <vector>

#include "core/files/plan_parts.h"
#include "core/files/read_values.h"
#include "core/values/plan_words.h"

namespace penstock {
namespace {

Price read_price(JsonReader& reader, const std::string& stem) {
  Price price;
  price.duration = reader.duration(stem);
  price.spread = reader.get_duration(stem + "_spread").value_or(Duration{});
  return price;
}

void read_shape(JsonReader reader, StagePrices& prices) {
  ComputePrice compute;
  compute.forward = read_price(reader, "forward");
  compute.input_gradient = read_price(reader, "input_gradient");
  compute.weight_gradient = read_price(reader, "weight_gradient");
  compute.fused_backward = read_price(reader, "fused_backward");
  compute.recompute = read_price(reader, "recompute");
  compute.overlap_gain = reader.duration("overlap_gain");
  for (const auto& [key, member] : kShardedTimes) {
    compute.*member = reader.get_duration(std::string(key)).value_or(Duration{});
  }
  compute.stash = reader.at("stash_bytes").bytes();
  compute.weight_stash = reader.at("weight_stash_bytes").bytes();
  compute.working_peak = reader.at("working_peak_bytes").bytes();
  compute.boundary = reader.at("boundary_bytes").bytes();
  prices.compute.push_back(compute);
  TransferPrice transfer;
  transfer.activation = read_price(reader, "send_activation");
  transfer.gradient = read_price(reader, "receive_gradient");
  prices.transfer.push_back(transfer);
  reader.finish();
}

void read_stage_prices(JsonReader reader, StagePrices& prices) {
  StepPrice step;
  step.parameters = reader.at("parameters_bytes").bytes();
  step.gradients = reader.at("gradients_bytes").bytes();
  step.optimizer_state = reader.at("optimizer_state_bytes").bytes();
  if (const auto buffers = reader.get("section_buffers_bytes")) {
    step.section_buffers = buffers->bytes();
  }
  step.reduce_gradient = read_price(reader, "reduce_gradient");
  step.optimizer = read_price(reader, "optimizer");
  step.unshard = read_price(reader, "unshard");
  if (reader.has("load_bytes")) {
    step.load = read_price(reader, "load");
    step.store = read_price(reader, "store");
    step.loaded = reader.at("load_bytes").bytes();
    step.stored = reader.at("store_bytes").bytes();
    if (const auto host = reader.get("only_on_host_bytes")) step.only_on_host = host->bytes();
  }
  prices.step.push_back(step);
  const JsonReader list = reader.at("shapes");
  const std::vector<JsonReader> shapes = list.elements();
  if (prices.step.size() == 1) prices.shapes = static_cast<int>(shapes.size());
  if (shapes.empty() || static_cast<int>(shapes.size()) != prices.shapes) {
    list.expected("as many shapes as the first stage has, at least one");
  }
  for (const JsonReader& shape : shapes) read_shape(shape, prices);
  reader.finish();
}

}  // namespace

StagePrices read_prices(JsonReader reader, const PlanFile& file) {
  StagePrices prices;
  prices.stages = file.plan.stages();
  const JsonReader list = reader.at("stages");
  const std::vector<JsonReader> stages = list.elements();
  if (static_cast<int>(stages.size()) != prices.stages) {
    list.expected("prices of " + std::to_string(prices.stages) + " stages");
  }
  for (const JsonReader& stage : stages) read_stage_prices(stage, prices);
  const JsonReader ties = reader.at("ties");
  std::vector<JsonReader> of_ties = ties.elements();
  if (of_ties.size() != file.ties.size()) {
    ties.expected("prices of " + std::to_string(file.ties.size()) + " ties");
  }
  for (std::size_t k = 0; k < of_ties.size(); ++k) {
    prices.tied_reduce.push_back({file.ties[k].name, read_price(of_ties[k], "tied_reduce")});
    of_ties[k].finish();
  }
  prices.norm = read_price(reader, "norm");
  reader.finish();
  return prices;
}

}  // namespace penstock
