#include "estimator/efficiency.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/json_reader.h"

namespace penstock {
namespace {

constexpr std::string_view kAny = "any";
constexpr double kLongestFloor = 1e6;  // us
constexpr double kLargestError = 100.0;

double floor_of(Direction direction, Place place, const EfficiencyTerms& terms) {
  const double layer =
      direction == Direction::kForward ? terms.forward_floor_s : terms.backward_floor_s;
  return place == Place::kLayer ? layer : layer * terms.end_floor;
}

double work_time(const Work& work, const DeviceSheet& device, double peak,
                 const EfficiencyTerms& terms) {
  return work.flops / (terms.products * peak) +
         work.bytes / (terms.memory * device.memory_bandwidth.value) +
         work.reduced / (terms.link * device.node.bandwidth.value);
}

double share(JsonReader& object, std::string_view key) { return object.at(key).number(1e-6, 1.0); }

EfficiencyCurve read_curve(JsonReader object) {
  EfficiencyCurve curve;
  curve.generation = object.at("generation").string();
  curve.tensor_cores = object.at("tensor_cores").boolean();
  curve.terms.products = share(object, "products");
  curve.terms.memory = share(object, "memory");
  curve.terms.link = share(object, "link");
  curve.terms.forward_floor_s = 1e-6 * object.at("forward_floor_us").number(0.0, kLongestFloor);
  curve.terms.backward_floor_s = 1e-6 * object.at("backward_floor_us").number(0.0, kLongestFloor);
  curve.terms.end_floor = object.at("end_floor").number(0.0, 1.0);
  curve.error = object.at("error").number(1e-6, kLargestError);
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
                            bool tensor_cores) {
  for (const EfficiencyCurve& curve : efficiency.curves) {
    if (curve.generation == generation &&
        (curve.generation == kAny || curve.tensor_cores == tensor_cores)) {
      return &curve;
    }
  }
  return nullptr;
}

}  // namespace

double Efficiency::error() const {
  double largest = 0.0;
  for (const EfficiencyCurve& curve : curves) largest = std::max(largest, curve.error);
  return largest;
}

const EfficiencyCurve& curve_for(const Efficiency& efficiency, const DeviceSheet& device,
                                 Arithmetic arithmetic) {
  const bool tensor_cores = arithmetic != Arithmetic::kFloat32;
  const EfficiencyCurve* own = find(efficiency, device.generation, tensor_cores);
  const EfficiencyCurve* curve = own != nullptr ? own : find(efficiency, kAny, tensor_cores);
  if (curve == nullptr) throw Error(ErrorKind::kInternal, "efficiency: no curve for any device");
  return *curve;
}

double time_of(const Work& work, Direction direction, Place place, const DeviceSheet& device,
               double peak_flops_per_s, const EfficiencyTerms& terms) {
  return std::max(floor_of(direction, place, terms),
                  work_time(work, device, peak_flops_per_s, terms));
}

bool at_floor(const Work& work, Direction direction, Place place, const DeviceSheet& device,
              double peak_flops_per_s, const EfficiencyTerms& terms) {
  return floor_of(direction, place, terms) > work_time(work, device, peak_flops_per_s, terms);
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
  if (find(efficiency, kAny, true) == nullptr) {
    reader.fail("there is no curve for the generation \"any\"; fit again: penstock estimate --fit");
  }
  return efficiency;
}

Json write_efficiency(const Efficiency& efficiency) {
  Json curves = Json::array();
  for (const EfficiencyCurve& curve : efficiency.curves) {
    curves.push(Json::object()
                    .set("generation", curve.generation)
                    .set("tensor_cores", curve.tensor_cores)
                    .set("products", curve.terms.products)
                    .set("memory", curve.terms.memory)
                    .set("link", curve.terms.link)
                    .set("forward_floor_us", microseconds(curve.terms.forward_floor_s))
                    .set("backward_floor_us", microseconds(curve.terms.backward_floor_s))
                    .set("end_floor", curve.terms.end_floor)
                    .set("error", curve.error));
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
