#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/files/plan_parts.h"
#include "core/values/error.h"
#include "core/values/json_fields.h"
#include "core/values/plan_words.h"

namespace penstock {
namespace {

template <class Fields>
void price_of(Fields& fields, const std::string& stem, FieldsOf<Fields, Price>& price) {
  fields.time(stem, price.duration);
  fields.time_unless_zero(stem + "_spread", price.spread);
}

template <class Fields>
void shape_of(Fields& fields, FieldsOf<Fields, ComputePrice>& compute,
              FieldsOf<Fields, TransferPrice>& transfer) {
  price_of(fields, "forward", compute.forward);
  price_of(fields, "input_gradient", compute.input_gradient);
  price_of(fields, "weight_gradient", compute.weight_gradient);
  price_of(fields, "fused_backward", compute.fused_backward);
  price_of(fields, "recompute", compute.recompute);
  fields.time("overlap_gain", compute.overlap_gain);
  for (const auto& [key, member] : kShardedTimes) fields.time_unless_zero(key, compute.*member);
  price_of(fields, "send_activation", transfer.activation);
  price_of(fields, "receive_gradient", transfer.gradient);
  fields("stash_bytes", compute.stash);
  fields("weight_stash_bytes", compute.weight_stash);
  fields("working_peak_bytes", compute.working_peak);
  fields("boundary_bytes", compute.boundary);
}

// `copies`: some stage is loaded or stored, or kept on the host.
template <class Fields>
void step_of(Fields& fields, FieldsOf<Fields, StepPrice>& step, bool copies) {
  fields("parameters_bytes", step.parameters);
  fields("gradients_bytes", step.gradients);
  fields("optimizer_state_bytes", step.optimizer_state);
  fields.unless_zero("section_buffers_bytes", step.section_buffers);
  price_of(fields, "reduce_gradient", step.reduce_gradient);
  price_of(fields, "optimizer", step.optimizer);
  price_of(fields, "unshard", step.unshard);
  if (!fields.holds("load_bytes", copies)) return;
  price_of(fields, "load", step.load);
  price_of(fields, "store", step.store);
  fields("load_bytes", step.loaded);
  fields("store_bytes", step.stored);
  fields.unless_zero("only_on_host_bytes", step.only_on_host);
}

void read_shape(JsonReader reader, StagePrices& prices) {
  ReadFields fields(reader);
  shape_of(fields, prices.compute.emplace_back(), prices.transfer.emplace_back());
  reader.finish();
}

Json write_stage(const StagePrices& prices, int stage, bool copies) {
  Json json = Json::object(), shapes = Json::array();
  WriteFields fields(json);
  step_of(fields, prices.step[static_cast<std::size_t>(stage)], copies);
  for (int shape = 0; shape < prices.shapes; ++shape) {
    Json of_shape = Json::object();
    WriteFields shape_fields(of_shape);
    shape_of(shape_fields, prices.compute_of(stage, shape), prices.transfer_of(stage, shape));
    shapes.push(std::move(of_shape));
  }
  return json.set("shapes", std::move(shapes));
}

void read_stage_prices(JsonReader reader, StagePrices& prices) {
  ReadFields fields(reader);
  step_of(fields, prices.step.emplace_back(), false);
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
    ReadFields fields(of_ties[k]);
    prices.tied_reduce.push_back({file.ties[k].name, {}});
    price_of(fields, "tied_reduce", prices.tied_reduce.back().reduce);
    of_ties[k].finish();
  }
  ReadFields fields(reader);
  price_of(fields, "norm", prices.norm);
  reader.finish();
  return prices;
}

Json write_prices(const StagePrices& prices) {
  const auto of_shapes =
      static_cast<std::size_t>(prices.stages) * static_cast<std::size_t>(prices.shapes);
  if (prices.step.size() != static_cast<std::size_t>(prices.stages) ||
      prices.compute.size() != of_shapes || prices.transfer.size() != of_shapes) {
    throw Error(ErrorKind::kInternal, "this plan cannot be written: prices are missing");
  }
  const bool copies =
      std::any_of(prices.step.begin(), prices.step.end(), [](const StepPrice& step) {
        return step.load != Price{} || step.store != Price{} || step.loaded != Bytes{} ||
               step.stored != Bytes{} || step.only_on_host != Bytes{};
      });
  Json stages = Json::array();
  for (int s = 0; s < prices.stages; ++s) stages.push(write_stage(prices, s, copies));
  Json ties = Json::array();
  for (const TiedPrice& price : prices.tied_reduce) {
    Json tie = Json::object();
    WriteFields fields(tie);
    price_of(fields, "tied_reduce", price.reduce);
    ties.push(std::move(tie));
  }
  Json json = Json::object();
  json.set("stages", std::move(stages)).set("ties", std::move(ties));
  WriteFields fields(json);
  price_of(fields, "norm", prices.norm);
  return json;
}

}  // namespace penstock
