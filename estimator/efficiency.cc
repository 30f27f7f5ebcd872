// Reads and writes penstock.efficiency/1, and turns counts into times: a product takes its
// operations over a share of the peak rate, a pass its bytes over a share of the memory's rate, and
// neither takes less than a floor for launching kernels. Terms are kept with few digits, so that a
// file says no more than the fit knows; read and written again they are the same.
#include "estimator/efficiency.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "estimator/product_shape.h"

namespace penstock {
namespace {

constexpr std::string_view kAny = "any";
constexpr double kLongestFloor = 1e6;  // us
constexpr double kLargestError = 100.0;
// Long streams, which get what copies of sharded weights do (costmodel/price_units.cc): assumed.
constexpr double kStreamShare = 0.9;

double floor_of(Direction direction, Place place, const EfficiencyTerms& terms) {
  const double layer =
      direction == Direction::kForward ? terms.forward_floor_s : terms.backward_floor_s;
  return place == Place::kLayer ? layer : layer * terms.end_floor;
}

// Small experts reach the share that was fitted on experts of up to 16 million weights a matrix
// (Qwen3, gpt-oss, DeepSeek-V3); those of 268 million and more what other products do (Grok-1: 403
// and 201 million; its published steps are predicted within 10 % so). In between by the logarithm.
double grouped_share(const Product& product, double of_small) {
  constexpr double kSmall = 1 << 24, kLarge = 1 << 28;
  const double weights = std::clamp(product.columns * product.inner, kSmall, kLarge);
  const double part = std::log(weights / kSmall) / std::log(kLarge / kSmall);
  return of_small + (1.0 - of_small) * part;
}

double share(JsonReader& object, std::string_view key) { return object.at(key).number(1e-6, 1.0); }

EfficiencyCurve read_curve(JsonReader object) {
  EfficiencyCurve curve;
  curve.generation = object.at("generation").string();
  const JsonReader width = object.at("width");
  curve.width = width.string();
  if (curve.width != "half" && curve.width != "tensorfloat32" && curve.width != "float32" &&
      curve.width != "float8") {
    width.expected("\"half\", \"tensorfloat32\", \"float32\" or \"float8\"");
  }
  curve.eager = object.at("eager").boolean();
  curve.terms.products = share(object, "products");
  curve.terms.memory = share(object, "memory");
  curve.terms.link = share(object, "link");
  if (const auto experts = object.get("experts")) {
    curve.terms.experts = experts->number(1e-6, 1.0);
    curve.terms.routing_s = 1e-6 * object.at("routing_us").number(0.0, kLongestFloor);
  }
  curve.terms.forward_floor_s = 1e-6 * object.at("forward_floor_us").number(0.0, kLongestFloor);
  curve.terms.backward_floor_s = 1e-6 * object.at("backward_floor_us").number(0.0, kLongestFloor);
  curve.terms.end_floor = object.at("end_floor").number(0.0, 1.0);
  curve.error.below = object.at("error_below").number(0.0, 1.0);
  curve.error.above = object.at("error_above").number(0.0, kLargestError);
  if (const auto below = object.get("other_trainers_below")) {
    curve.other_trainers = {below->number(0.0, 1.0),
                            object.at("other_trainers_above").number(0.0, kLargestError)};
  }
  if (const auto assumed = object.get("error_assumed")) curve.error_assumed = assumed->boolean();
  object.finish();
  return curve;
}

LeftOut read_left_out(JsonReader object) {
  LeftOut left;
  left.what = object.at("what").string();
  left.passes = object.at("passes").integer(1, std::int64_t{1} << 40);
  left.median = object.at("median").number(0.0, 1e6);
  left.nine_of_ten = object.at("nine_of_ten").number(0.0, 1e6);
  left.largest = object.at("largest").number(0.0, 1e6);
  left.bias = object.at("bias").number(-1.0, 1e6);
  left.in_fit = object.at("in_fit").boolean();
  object.finish();
  return left;
}

// Floors are kept to whole microseconds.
std::int64_t microseconds(double seconds) {
  return static_cast<std::int64_t>(std::floor(seconds * 1e6 + 0.5));
}

const EfficiencyCurve* find(const Efficiency& efficiency, std::string_view generation,
                            std::string_view width) {
  for (const EfficiencyCurve& curve : efficiency.curves) {
    if (curve.generation == generation && curve.width == width) return &curve;
  }
  return nullptr;
}

// Experts of a layer on this rank, each of which is launched and waited for by itself (Transformer
// Engine's GroupedLinear). Runs were published with 4 to 16; more are taken to cost no more than
// 16, since that many are multiplied by one kernel (PyTorch's grouped_mm).
double served_alone(const Work& work) {
  constexpr double kMost = 16.0;
  double experts = 0.0;
  for (const Product& product : work.products) {
    if (product.kind == ProductKind::kGrouped) experts = std::max(experts, product.count);
  }
  return std::min(experts, kMost);
}

double streamed(double bytes, const Rates& rates) {
  return bytes / (kStreamShare * rates.device->memory_bandwidth.value);
}

// A product that adds its result to what was there reads and writes that while it multiplies. Of
// the times of W in arXiv 2401.10241 nothing else shows (docs/estimates.md, "gradient sums").
double beyond_product(const Product& product, double time, const Rates& rates) {
  return std::max(streamed(product.summed, rates) - time, 0.0);
}

}  // namespace

const EfficiencyCurve& curve_for(const Efficiency& efficiency, const DeviceSheet& device,
                                 Arithmetic arithmetic) {
  const std::string_view width = width_name(arithmetic);
  const EfficiencyCurve* own = find(efficiency, device.generation, width);
  const EfficiencyCurve* curve = own != nullptr ? own : find(efficiency, kAny, width);
  if (curve == nullptr) throw Error(ErrorKind::kInternal, "efficiency: no curve for any device");
  return *curve;
}

std::string_view width_name(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kBFloat16:
    case Arithmetic::kFloat16:
      return "half";
    case Arithmetic::kTensorFloat32:
      return "tensorfloat32";
    case Arithmetic::kFloat8:
      return "float8";
    case Arithmetic::kFloat32:
      break;
  }
  return "float32";
}

Rates rates_of(const DeviceSheet& device, double peak_flops_per_s, const EfficiencyCurve& curve,
               AttentionKernel kernel, int sequence_length, int head_width) {
  const auto scores = [&](bool backward) {
    const double share = attention_share(kernel, device, {sequence_length, head_width, backward});
    const double of = kernel == AttentionKernel::kEager ? curve.terms.products : 1.0;
    return share * of * peak_flops_per_s;
  };
  return {&device,
          peak_flops_per_s,
          curve.terms,
          curve.terms.products * peak_flops_per_s,
          curve.eager ? 0 : device.processors,
          scores(false),
          scores(true)};
}

void use_float8(const EfficiencyCurve& float8, double peak_flops_per_s, Rates& rates) {
  rates.layer_flops_per_s = float8.terms.products * peak_flops_per_s;
}

WorkTimes times_of(const Work& work, Direction direction, Place place, const Rates& rates) {
  const EfficiencyTerms& terms = rates.terms;
  WorkTimes times;
  const double rate =
      place == Place::kLayer ? rates.layer_flops_per_s : terms.products * rates.peak_flops_per_s;
  for (const Product& product : work.products) {
    double time = product.flops() * shape_factor(product, rates.processors) / rate;
    if (product.kind == ProductKind::kGrouped) {
      time /= grouped_share(product, terms.experts);
      times.experts += time;
    } else {
      times.products += time;
    }
    times.beyond += beyond_product(product, time, rates);
  }
  times.routing = terms.routing_s * served_alone(work);  // the backward sorts gradients likewise
  times.casts = work.cast / (terms.memory * rates.device->memory_bandwidth.value);
  times.sums = streamed(work.sums, rates);
  times.copies = streamed(work.copies, rates);
  times.unfused = streamed(work.unfused, rates);
  times.attention = work.scores / (direction == Direction::kForward ? rates.forward_scores
                                                                    : rates.backward_scores);
  times.memory = work.bytes / (terms.memory * rates.device->memory_bandwidth.value);
  times.links = work.reduced / (terms.link * rates.device->node.bandwidth.value);
  times.launches = std::max(floor_of(direction, place, terms) - times.sum(), 0.0);
  return times;
}

Efficiency read_efficiency(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  const JsonReader format = reader.at("format");
  if (format.string() != "penstock.efficiency/1") format.expected("\"penstock.efficiency/1\"");
  Efficiency efficiency;
  efficiency.text = reader.at("text").string();
  for (JsonReader& element : reader.at("curves").elements()) {
    efficiency.curves.push_back(read_curve(std::move(element)));
  }
  for (JsonReader& element : reader.at("left_out").elements()) {
    efficiency.left_out.push_back(read_left_out(std::move(element)));
  }
  reader.finish();
  if (find(efficiency, kAny, "half") == nullptr) {
    reader.fail("there is no curve for the generation \"any\"; fit again: penstock estimate --fit");
  }
  return efficiency;
}

Json write_efficiency(const Efficiency& efficiency) {
  Json curves = Json::array();
  for (const EfficiencyCurve& curve : efficiency.curves) {
    Json object = Json::object();
    object.set("generation", curve.generation)
        .set("width", curve.width)
        .set("eager", curve.eager)
        .set("products", curve.terms.products)
        .set("memory", curve.terms.memory)
        .set("link", curve.terms.link);
    if (curve.terms.experts != 1.0 || curve.terms.routing_s != 0.0) {
      object.set("experts", curve.terms.experts)
          .set("routing_us", microseconds(curve.terms.routing_s));
    }
    object.set("forward_floor_us", microseconds(curve.terms.forward_floor_s))
        .set("backward_floor_us", microseconds(curve.terms.backward_floor_s))
        .set("end_floor", curve.terms.end_floor)
        .set("error_below", curve.error.below)
        .set("error_above", curve.error.above);
    if (curve.other_trainers) {
      object.set("other_trainers_below", curve.other_trainers->below)
          .set("other_trainers_above", curve.other_trainers->above);
    }
    if (curve.error_assumed) object.set("error_assumed", true);
    curves.push(std::move(object));
  }
  Json left_out = Json::array();
  for (const LeftOut& left : efficiency.left_out) {
    left_out.push(Json::object()
                      .set("what", left.what)
                      .set("passes", left.passes)
                      .set("median", left.median)
                      .set("nine_of_ten", left.nine_of_ten)
                      .set("largest", left.largest)
                      .set("bias", left.bias)
                      .set("in_fit", left.in_fit));
  }
  return Json::object()
      .set("format", "penstock.efficiency/1")
      .set("text", efficiency.text)
      .set("curves", std::move(curves))
      .set("left_out", std::move(left_out));
}

}  // namespace penstock
