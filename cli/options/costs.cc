#include "cli/options/costs.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "cli/options/parse.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kExample = "--cost F=10ms,B=20ms,C=0.5ms";
constexpr const char* kSplitExample = "--cost F=10ms,I=10ms,W=10ms,C=0.5ms";

// The times of one stage as they were given.
struct Given {
  std::optional<Duration> forward, fused_backward, input_gradient, weight_gradient, recompute;
  Duration overlap_gain{};
};

// What is wrong with them, and what to do; two empty strings when nothing is.
struct Complaint {
  std::string what, help;
};

Complaint complaint_about(const Given& given, bool split) {
  const bool i = given.input_gradient.has_value();
  const bool w = given.weight_gradient.has_value();
  const bool b = given.fused_backward.has_value();
  if (!given.forward) return {"F, the time of a forward, is missing", "add F"};
  if (b && (i || w)) {
    return {"B is I + W, so they cannot be given together",
            split ? "leave B out" : "leave B out, or I and W"};
  }
  if (split && b) {
    return {"this schedule divides the backward B into I and W", "give I and W instead of B"};
  }
  if (i != w) {
    return {fmt::format("{} is missing", i ? "W, the weight gradient" : "I, the input gradient"),
            "give both I and W"};
  }
  if (!b && !i) {
    return {"the time of a backward is missing", split ? "add I and W" : "add B, or I and W"};
  }
  return {};
}

ComputePrice price_of(const Given& given) {
  ComputePrice price;
  price.forward.duration = *given.forward;
  price.input_gradient.duration = given.input_gradient.value_or(Duration{});
  price.weight_gradient.duration = given.weight_gradient.value_or(Duration{});
  price.fused_backward.duration =
      given.fused_backward.value_or(price.input_gradient.duration + price.weight_gradient.duration);
  price.recompute.duration = given.recompute.value_or(Duration{});
  price.overlap_gain = given.overlap_gain;
  return price;
}

ScheduleCosts sized(int stages) {
  ScheduleCosts costs;
  costs.prices.stages = stages;
  costs.prices.transfer.resize(static_cast<std::size_t>(stages));
  costs.prices.step.resize(static_cast<std::size_t>(stages));
  return costs;
}

Given read_stage(JsonReader stage, bool split) {
  Given given;
  given.forward = stage.duration("forward");
  given.fused_backward = stage.get_duration("fused_backward");
  given.input_gradient = stage.get_duration("input_gradient");
  given.weight_gradient = stage.get_duration("weight_gradient");
  given.recompute = stage.get_duration("recompute");
  given.overlap_gain = stage.get_duration("overlap_gain").value_or(Duration{});
  stage.finish();
  const Complaint complaint = complaint_about(given, split);
  if (!complaint.what.empty()) stage.fail(complaint.what + "; " + complaint.help);
  return given;
}

TransferPrice read_boundary(JsonReader boundary) {
  TransferPrice price;
  price.activation.duration = boundary.duration("activation");
  price.gradient.duration = boundary.duration("gradient");
  boundary.finish();
  return price;
}

std::vector<JsonReader> elements_of(const JsonReader& list, int count, const std::string& why) {
  std::vector<JsonReader> elements = list.elements();
  if (elements.size() != static_cast<std::size_t>(count)) {
    list.fail(fmt::format("expected {} entries, {}, got {}", count, why, elements.size()));
  }
  return elements;
}

}  // namespace

ScheduleCosts parse_costs(const std::vector<std::string>& costs, bool split, int stages) {
  const char* example = split ? kSplitExample : kExample;
  if (costs.empty()) bad_option("--cost", "missing", fmt::format("add for example {}", example));
  Given given;
  Duration transfer{};
  const std::string text = joined(costs, ",");
  for (const auto& [key, value] : parse_key_values("--cost", text)) {
    const Duration time = parse_time("--cost " + key, value);
    if (key == "F") {
      given.forward = time;
    } else if (key == "B") {
      given.fused_backward = time;
    } else if (key == "I") {
      given.input_gradient = time;
    } else if (key == "W") {
      given.weight_gradient = time;
    } else if (key == "R") {
      given.recompute = time;
    } else if (key == "O") {
      given.overlap_gain = time;
    } else if (key == "C") {
      transfer = time;
    } else {
      bad_option("--cost", fmt::format("unknown key '{}'", key),
                 "F forward, B backward (= I + W), I input gradient, W weight gradient, "
                 "R recompute, O gain of an overlap, C transfer");
    }
  }
  const Complaint complaint = complaint_about(given, split);
  if (!complaint.what.empty()) {
    bad_option("--cost", complaint.what,
               fmt::format("{}, for example {}", complaint.help, example));
  }
  ScheduleCosts result = sized(stages);
  result.words = text + " per stage and micro-batch";
  result.recompute = given.recompute.value_or(Duration{}) > Duration{};
  result.prices.compute.assign(static_cast<std::size_t>(stages), price_of(given));
  for (std::size_t s = 0; s + 1 < result.prices.transfer.size(); ++s) {
    result.prices.transfer[s] = {{transfer, {}}, {transfer, {}}};
  }
  return result;
}

ScheduleCosts read_costs(const Json& json, const std::string& path, bool split, int stages) {
  JsonReader file(json, path);
  const JsonReader format = file.at("format");
  if (format.string() != "penstock.costs/1") format.expected("\"penstock.costs/1\"");
  ScheduleCosts result = sized(stages);
  result.words = "from " + path;
  const JsonReader stage_list = file.at("stages");
  for (const JsonReader& stage : elements_of(stage_list, stages, "one per stage (P * V)")) {
    const Given given = read_stage(stage, split);
    result.recompute = result.recompute || given.recompute.value_or(Duration{}) > Duration{};
    result.prices.compute.push_back(price_of(given));
  }
  const JsonReader boundary_list = file.at("boundaries");
  std::size_t s = 0;
  for (const JsonReader& boundary :
       elements_of(boundary_list, stages - 1, "one per boundary (P * V - 1)")) {
    result.prices.transfer[s++] = read_boundary(boundary);
  }
  file.finish();
  return result;
}

}  // namespace penstock
