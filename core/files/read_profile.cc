// One function per object of penstock.profile/1. Bounds are chosen so that sums over all sections
// stay in 64 bits, which spares every later sum a check. Behind the single objects the profile is
// checked as a whole: section types exist, rows of one key occur once, tied parameters are among
// those of each of their sections, at every tensor degree.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/files/format.h"
#include "core/files/read_sources.h"
#include "core/values/json_reader.h"
#include "core/values/other_degrees.h"

namespace penstock {
namespace {

// Wide of anything real, and close enough that sums over the sections of a model stay in 64 bits:
// 60,000 sections x 10^12 parameters x (32 + 32 + 64) bytes < 2^63.
constexpr std::size_t kMostSections = 60'000;
constexpr std::int64_t kMostParameters = 1'000'000'000'000;
constexpr int kMostBytesPerParameter = 32;
constexpr int kMostOptimizerBytes = 64;
constexpr std::int64_t kMostPicosecondsPerParameter = 1'000'000'000;
constexpr std::int64_t kMostFixedBytes = 10'000'000'000'000;
constexpr int kMostDegree = 1'000'000;
constexpr int kMostExperts = 1'000'000;
constexpr int kMostSamples = 1'000'000;
constexpr int kMostTokens = 100'000'000;
constexpr int kMostCollectives = 1000;  // of one kind and size, in one section
constexpr std::size_t kMostTrafficKinds = 64, kMostTerms = 64;
constexpr std::int64_t kMostBucketParameters = 1'000'000'000'000;

TrainingState read_training(JsonReader object, const Names& sources) {
  TrainingState training;
  const auto bytes = [&object](std::string_view key, int least, int most,
                               const std::string& meaning) {
    return Bytes{need(object, key, meaning).integer(least, most)};
  };
  training.bytes_per_parameter =
      bytes("bytes_per_parameter", 1, kMostBytesPerParameter, "2 for half precision");
  training.bytes_per_gradient =
      bytes("bytes_per_gradient", 1, kMostBytesPerParameter, "2 for half precision");
  training.optimizer_bytes_per_parameter =
      bytes("optimizer_bytes_per_parameter", 0, kMostOptimizerBytes,
            "12 for Adam with a master copy in single precision");
  if (const auto time = object.get("optimizer_ps_per_parameter")) {
    training.optimizer_ps_per_parameter = time->integer(0, kMostPicosecondsPerParameter);
  }
  if (const auto time = object.get("norm_ps_per_parameter")) {
    training.norm_ps_per_parameter = time->integer(0, kMostPicosecondsPerParameter);
  }
  if (const auto bucket = object.get("bucket_parameters")) {
    training.bucket_parameters = bucket->integer(1, kMostBucketParameters);
  }
  training.source = sources.resolve(object, "source", 0);
  object.finish();
  return training;
}

std::vector<ParameterCount> read_parameters(JsonReader& object) {
  std::vector<ParameterCount> parameters;
  int least = 1;
  for (JsonReader& element :
       need_elements(object, "parameters", "{\"tensor_degree\": T, \"count\": n}")) {
    ParameterCount entry;
    const JsonReader degree =
        need(element, "tensor_degree", "the size of the tensor-parallel group, ascending");
    entry.tensor_degree = read_int(degree, 1, kMostDegree);
    if (entry.tensor_degree < least) {
      degree.expected("a tensor degree greater than the one before, at least " +
                      std::to_string(least));
    }
    entry.count = need(element, "count", "the parameters held by one rank of the group")
                      .integer(0, kMostParameters);
    element.finish();
    least = entry.tensor_degree + 1;
    parameters.push_back(entry);
  }
  return parameters;
}

// Degrees ascend.
const ParameterCount* at_degree(const std::vector<ParameterCount>& parameters, int degree) {
  const auto found =
      std::ranges::lower_bound(parameters, degree, {}, &ParameterCount::tensor_degree);
  return found == parameters.end() || found->tensor_degree != degree ? nullptr : &*found;
}

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

class ProfileReader {
 public:
  explicit ProfileReader(JsonReader file) : file_(std::move(file)) {}

  ModelProfile read() {
    read_format(file_, "penstock.profile/1");
    profile_.name = read_name(need(file_, "name", "the name of the model"));
    if (auto description = file_.get("description")) {
      profile_.description = read_description(std::move(*description));
    }
    profile_.sources = read_sources(file_, sources_);
    profile_.training =
        read_training(need(file_, "training", "what training keeps per parameter"), sources_);
    for (JsonReader& type : need_elements(file_, "section_types", "what sections of one type do")) {
      profile_.section_types.push_back(read_section_type(type));
    }
    read_chain();
    if (const auto ties = file_.get("tied_weights")) {
      for (JsonReader& tie : ties->elements()) profile_.tied_weights.push_back(read_tie(tie));
    }
    file_.finish();
    return std::move(profile_);
  }

 private:
  SectionType read_section_type(JsonReader& object) {
    SectionType type;
    type.name = types_.add(need(object, "name", "what sections refer to this type by"));
    type.parameters = read_parameters(object);
    type.parameter_source = sources_.resolve(object, "parameter_source", 0);
    if (const auto fixed = object.get("fixed_bytes")) {
      type.fixed = {fixed->integer(0, kMostFixedBytes)};
    }
    read_expert_parameters(object, type);
    std::map<Key, std::size_t> keys;
    for (JsonReader& row : need_elements(object, "measurements", "one measured row of this type")) {
      type.measurements.push_back(read_measurement(row, type, sources_));
      refuse_twice(row, type.measurements.back(), keys);
      check_length(row, type.measurements.back().sequence_length);
      check_decoder(row, type);
    }
    if (const auto list = object.get("out_of_memory")) {
      for (const JsonReader& row : list->elements()) {
        type.out_of_memory.push_back(read_out_of_memory(row));
        if (!is_new(type.out_of_memory.back(), keys)) {
          row.fail("this key was measured or is listed above; remove it here");
        }
      }
    }
    object.finish();
    return type;
  }

  // Every rank holds its part of them among its own.
  static void read_expert_parameters(JsonReader& object, SectionType& type) {
    const auto count = object.get("expert_parameters");
    if (!count) return;
    type.expert_parameters = count->integer(0, kMostParameters);
    for (const ParameterCount& each : type.parameters) {
      if (type.expert_parameters / each.tensor_degree <= each.count) continue;
      count->fail("a rank with tensor degree " + std::to_string(each.tensor_degree) + " has only " +
                  std::to_string(each.count) +
                  " parameters; 'parameters' must count its part of the experts, too");
    }
  }

  using Key = std::tuple<std::string, int, OtherDegrees, int, int, int, std::string>;
  static OtherDegrees others_of(const Measurement& m) {
    return {m.context_degree, m.expert_degree, m.expert_tensor_degree};
  }
  static OtherDegrees others_of(const OutOfMemoryKey& /*key*/) { return {}; }
  template <class Keyed>
  static Key key_of(const Keyed& m) {
    return {m.device,          m.tensor_degree,  others_of(m), m.micro_batch_size,
            m.sequence_length, m.decoder_length, m.recompute};
  }
  template <class Keyed>
  static bool is_new(const Keyed& m, std::map<Key, std::size_t>& keys) {
    return keys.emplace(key_of(m), keys.size()).second;
  }
  static void refuse_twice(const JsonReader& row, const Measurement& m,
                           std::map<Key, std::size_t>& keys) {
    if (is_new(m, keys)) return;
    row.fail("measurement " + std::to_string(keys.find(key_of(m))->second) +
             " has the same device, tensor_degree, micro_batch_size, sequence_length" +
             (m.decoder_length > 0 ? ", decoder_length" : "") + " and recompute; keep one");
  }

  // A section knows the decoder's length in all of its rows or in none.
  static void check_decoder(const JsonReader& row, const SectionType& type) {
    const bool first = type.measurements.front().decoder_length > 0;
    if ((type.measurements.back().decoder_length > 0) == first) return;
    row.fail(first ? "expected a decoder_length, as the first measurement of this type has"
                   : "expected no decoder_length, as the first measurement of this type has none");
  }

  // A model has a sequence dimension or has none.
  void check_length(JsonReader& row, int length) {
    if (!has_length_) has_length_ = length > 0;
    if (*has_length_ == (length > 0)) return;
    const JsonReader place = row.get("sequence_length").value_or(row);
    place.fail(*has_length_
                   ? "expected a sequence_length >= 1, as the first measurement has, got 0"
                   : "expected a sequence_length of 0, as the first measurement has, got " +
                         std::to_string(length));
  }

  void read_chain() {
    std::vector<JsonReader> elements =
        need_elements(file_, "sections", "{\"name\": .., \"type\": ..}, along the model");
    if (elements.size() > kMostSections) {
      file_.at("sections").expected("at most " + std::to_string(kMostSections) + " sections");
    }
    for (JsonReader& element : elements) {
      Section section;
      section.name = sections_.add(need(element, "name", "the name of the section"));
      section.type = types_.resolve(need(element, "type", "the name of one of section_types"));
      element.finish();
      profile_.sections.push_back(std::move(section));
    }
  }

  TiedWeights read_tie(JsonReader& object) {
    TiedWeights tie;
    tie.name = ties_.add(need(object, "name", "the name of the shared tensor"));
    const JsonReader sections = need(object, "sections", "the names of at least two sections");
    std::set<SectionId> listed;
    for (const JsonReader& name : sections.elements()) {
      if (!listed.insert(SectionId{sections_.resolve(name)}).second) {
        name.fail("the section " + to_text(name.value()) + " is listed twice; remove one");
      }
    }
    if (listed.size() < 2) sections.expected("the names of at least two sections");
    tie.sections.assign(listed.begin(), listed.end());
    tie.parameters = read_parameters(object);
    std::set<int> types;
    for (const SectionId id : tie.sections) {
      const Section& section = profile_.sections[static_cast<std::size_t>(id.value)];
      if (types.insert(section.type).second) check_share(object, tie, section);
    }
    object.finish();
    return tie;
  }

  // A section counts what it shares among its own parameters, at every tensor degree; so do all of
  // its type.
  void check_share(const JsonReader& object, const TiedWeights& tie, const Section& section) const {
    const SectionType& type = profile_.section_types[static_cast<std::size_t>(section.type)];
    for (const ParameterCount& own : type.parameters) {
      const ParameterCount* shared = at_degree(tie.parameters, own.tensor_degree);
      const std::string degree = "tensor degree " + std::to_string(own.tensor_degree);
      if (shared == nullptr) {
        object.fail("there is no parameter count for " + degree + ", which section " +
                    to_text(Json(section.name)) + " has; add one");
      }
      if (shared->count > own.count) {
        object.fail(std::to_string(shared->count) + " parameters are tied at " + degree +
                    ", but section " + to_text(Json(section.name)) + " has only " +
                    std::to_string(own.count) + "; its type must count the tied ones too");
      }
    }
  }

  JsonReader file_;
  ModelProfile profile_;
  Names sources_{"source"};
  Names types_{"section type"};
  Names sections_{"section"};
  Names ties_{"tied weight"};
  std::optional<bool> has_length_;
};

}  // namespace

ModelProfile read_profile(const Json& json, const std::string& file) {
  return ProfileReader(JsonReader(json, file)).read();
}

}  // namespace penstock
