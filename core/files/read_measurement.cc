// A row is read by groups of keys that belong together: times, bytes, and for every degree what its
// ranks exchange. Whatever a degree of 1 cannot have is refused, because whoever wrote it meant
// another degree. Bounds are those of read_profile.cc.
#include "core/files/read_measurement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace penstock {
namespace {

constexpr int kMostDegree = kMostTensorDegree;
constexpr int kMostExperts = 1'000'000;
constexpr int kMostSamples = 1'000'000;
constexpr int kMostTokens = 100'000'000;
constexpr int kMostCollectives = 1000;  // of one kind and size, in one section
constexpr std::size_t kMostTrafficKinds = 64, kMostTerms = 64;

std::optional<Timing> read_timing(JsonReader& row, const std::string& stem) {
  const std::optional<Duration> median = row.get_duration(stem);
  const std::optional<Duration> spread = row.get_duration(stem + "_spread");
  if (!median && spread) {
    row.fail("there is " + stem + "_spread but no " + stem + "; add \"" + stem +
             "_ns\" (or _us, _ms, _s)");
  }
  if (!median) return {};
  return Timing{.median = *median, .spread = spread.value_or(Duration{})};
}

void read_times(JsonReader& row, Measurement& result) {
  const std::optional<Timing> forward = read_timing(row, "forward");
  if (!forward) {
    row.fail("the key \"forward_ns\" (or _us, _ms, _s) is missing here; add it: the time of F");
  }
  result.forward = *forward;
  result.fused_backward = read_timing(row, "fused_backward");
  result.input_gradient = read_timing(row, "input_gradient");
  result.weight_gradient = read_timing(row, "weight_gradient");
  if (result.input_gradient.has_value() != result.weight_gradient.has_value()) {
    const std::string missing = result.input_gradient ? "weight_gradient" : "input_gradient";
    row.fail("one gradient is given without the other; add \"" + missing +
             "_ns\" (or _us, _ms, _s), or give only fused_backward");
  }
  if (!result.input_gradient && !result.fused_backward) {
    row.fail(
        "the time of the backward is missing here; add \"fused_backward_ns\" (or _us, _ms, _s), "
        "or both input_gradient and weight_gradient");
  }
  result.recompute_time = read_timing(row, "recompute_time").value_or(Timing{});
  if (result.recompute == "none" && result.recompute_time != Timing{}) {
    row.fail(
        "recompute_time is not 0 though recompute is \"none\"; name the recompute mode or remove "
        "the time");
  }
  if (const auto share = row.get("weight_gradient_share")) {
    result.weight_gradient_share = share->number(0.0, 1.0);
  }
  if (const auto count = row.get("count")) {
    result.count = count->integer(1, std::int64_t{1} << 53);
  }
}

void read_bytes(JsonReader& row, Measurement& result) {
  result.stash = need(row, "stash_bytes", "held from F to I or B").bytes();
  const std::optional<JsonReader> weight_stash = row.get("weight_stash_bytes");
  result.weight_stash = weight_stash ? weight_stash->bytes() : result.stash;
  result.working_peak =
      need(row, "working_peak_bytes", "taken on top of every stash inside any action").bytes();
  result.boundary =
      need(row, "boundary_bytes", "the output activation handed to the next section").bytes();
}

TensorTraffic read_traffic(JsonReader object) {
  TensorTraffic traffic;
  traffic.kind = read_collective_kind(object);
  traffic.bytes = need(object, "bytes", "of the whole tensor").bytes();
  for (const auto& [key, count] : kTrafficCounts) {
    if (const auto value = object.get(key)) traffic.*count = read_int(*value, 0, kMostCollectives);
  }
  object.finish();
  return traffic;
}

void read_tensor_traffic(JsonReader& row, Measurement& result) {
  const std::optional<JsonReader> traffic = row.get("tensor_traffic");
  if (!traffic) return;
  for (JsonReader& element : traffic->elements()) {
    result.tensor_traffic.push_back(read_traffic(std::move(element)));
  }
  if (result.tensor_degree == 1 && !result.tensor_traffic.empty()) {
    traffic->fail("a tensor degree of 1 has no collectives; remove tensor_traffic");
  }
  if (result.tensor_traffic.size() > kMostTrafficKinds) {
    traffic->expected("at most " + std::to_string(kMostTrafficKinds) + " elements");
  }
}

void read_ring(JsonReader& row, Measurement& result) {
  const std::optional<JsonReader> found = row.get("ring");
  if (!found) return;
  if (result.context_degree == 1) {
    found->fail("a context degree of 1 has no ring; remove this key, or add context_degree");
  }
  JsonReader object = *found;
  RingTraffic ring;
  ring.bytes = need(object, "bytes", "keys and values of one rank's tokens").bytes();
  ring.beside_forward = object.duration("beside_forward");
  ring.beside_backward = object.duration("beside_backward");
  ring.beside_recompute = object.get_duration("beside_recompute");
  if (const auto exchanged = object.get("exchanged_bytes")) ring.exchanged = exchanged->bytes();
  object.finish();
  result.ring = ring;
}

void read_experts(JsonReader& row, Measurement& result) {
  const std::optional<JsonReader> found = row.get("experts");
  if (!found) return;
  if (result.expert_degree == 1) {
    found->fail("an expert degree of 1 sends no tokens; remove this key, or add expert_degree");
  }
  JsonReader object = *found;
  ExpertTraffic traffic;
  traffic.dispatched = need(object, "dispatched_bytes", "one copy of one rank's tokens").bytes();
  traffic.combined = need(object, "combined_bytes", "the same, on their way back").bytes();
  traffic.experts = read_int(need(object, "count", "experts of a layer"), 1, kMostExperts);
  traffic.visited =
      read_int(need(object, "visited", "experts that a token visits"), 1, traffic.experts);
  traffic.once = need(object, "once", "true or false: a token goes once to each rank").boolean();
  if (const auto nodes = object.get("most_nodes")) {
    traffic.most_nodes = read_int(*nodes, 1, kMostExperts);
  }
  if (const auto imbalance = object.get("imbalance")) {
    traffic.imbalance = imbalance->number(1.0, kMostExperts);
  }
  if (const auto again = object.get("again")) traffic.again = again->boolean();
  object.finish();
  result.experts = traffic;
}

TimeTerm read_term(JsonReader object) {
  TimeTerm term;
  term.name = read_name(need(object, "name", "for example \"attention\""));
  for (const auto& [key, duration] : kTermTimes) {
    term.*duration = object.get_duration(key).value_or(Duration{});
  }
  object.finish();
  return term;
}

void read_terms(JsonReader& row, Measurement& result) {
  const std::optional<JsonReader> terms = row.get("terms");
  if (!terms) return;
  for (JsonReader& element : terms->elements())
    result.terms.push_back(read_term(std::move(element)));
  if (result.terms.size() > kMostTerms) {
    terms->expected("at most " + std::to_string(kMostTerms) + " elements");
  }
}

}  // namespace

const ParameterCount* at_degree(const std::vector<ParameterCount>& parameters, int degree) {
  const auto found =
      std::ranges::lower_bound(parameters, degree, {}, &ParameterCount::tensor_degree);
  return found == parameters.end() || found->tensor_degree != degree ? nullptr : &*found;
}

Measurement read_measurement(JsonReader row, const SectionType& type, const Names& sources) {
  Measurement result;
  result.device = read_name(need(row, "device", "the device type, as named in a cluster file"));
  const JsonReader degree = need(row, "tensor_degree", "the size of the tensor-parallel group");
  result.tensor_degree = read_int(degree, 1, kMostDegree);
  if (at_degree(type.parameters, result.tensor_degree) == nullptr) {
    degree.fail("there is no parameter count for tensor degree " +
                std::to_string(result.tensor_degree) +
                "; add one to the section type's parameters");
  }
  if (const auto context = row.get("context_degree")) {
    result.context_degree = read_int(*context, 1, kMostDegree);
  }
  if (const auto experts = row.get("expert_degree")) {
    result.expert_degree = read_int(*experts, 1, kMostExperts);
  }
  if (const auto within = row.get("expert_tensor_degree")) {
    result.expert_tensor_degree = read_int(*within, 1, kMostDegree);
  }
  result.micro_batch_size =
      read_int(need(row, "micro_batch_size", "samples per micro-batch"), 1, kMostSamples);
  if (const auto length = row.get("sequence_length")) {
    result.sequence_length = read_int(*length, 0, kMostTokens);
  }
  if (const auto length = row.get("decoder_length")) {
    result.decoder_length = read_int(*length, 1, kMostTokens);
  }
  if (const auto mode = row.get("recompute")) result.recompute = read_name(*mode);
  read_times(row, result);
  read_tensor_traffic(row, result);
  read_ring(row, result);
  read_experts(row, result);
  read_terms(row, result);
  read_bytes(row, result);
  result.time_source = sources.resolve(row, "time_source", 0);
  result.split_source = sources.resolve(row, "split_source", result.time_source);
  result.memory_source = sources.resolve(row, "memory_source", 0);
  row.finish();
  return result;
}

OutOfMemoryKey read_out_of_memory(JsonReader row) {
  OutOfMemoryKey key;
  key.device = read_name(need(row, "device", "the device type, as named in a cluster file"));
  key.tensor_degree =
      read_int(need(row, "tensor_degree", "the size of the tensor-parallel group"), 1, kMostDegree);
  key.micro_batch_size =
      read_int(need(row, "micro_batch_size", "samples per micro-batch"), 1, kMostSamples);
  if (const auto length = row.get("sequence_length")) {
    key.sequence_length = read_int(*length, 0, kMostTokens);
  }
  if (const auto length = row.get("decoder_length")) {
    key.decoder_length = read_int(*length, 1, kMostTokens);
  }
  if (const auto mode = row.get("recompute")) key.recompute = read_name(*mode);
  row.finish();
  return key;
}

}  // namespace penstock
