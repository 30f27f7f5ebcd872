// One function per object of penstock.profile/1; rows of measurements have a file of their own.
// Bounds are chosen so that sums over all sections stay in 64 bits, which spares every later sum a
// check. Behind the single objects the profile is checked as a whole: section types exist, rows of
// one key occur once, tied parameters are among those of each of their sections, at every tensor
// degree.
#include <array>
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
#include "core/files/read_measurement.h"
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
    entry.tensor_degree = read_int(degree, 1, kMostTensorDegree);
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
    std::vector<JsonReader> rows =
        need_elements(object, "measurements", "one measured row of this type");
    for (JsonReader& row : rows) {
      type.measurements.push_back(read_measurement(row, type, sources_));
      refuse_twice(row, type.measurements.back(), keys);
      check_length(row, type.measurements.back().sequence_length);
      check_decoder(row, type);
    }
    refuse_zero(rows, type.measurements);
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

  // Times that shrink as b grows are lowered to the smallest (docs/cost_model.md, "Cleaning"), each
  // for itself: a zero that was never measured would make it free at every b. A recompute may be
  // one: it is what a backward takes more with it than without, and may vanish in their noise.
  struct TimeOf {
    const char* name;
    std::optional<Duration> (*time)(const Measurement&);  // nothing: the row does not have it
  };
  static std::optional<Duration> median_of(const std::optional<Timing>& timing) {
    return timing ? std::optional(timing->median) : std::nullopt;
  }
  static std::optional<Duration> backward_of(const Measurement& m) {
    if (m.fused_backward) return m.fused_backward->median;
    return m.input_gradient->median + m.weight_gradient->median;
  }
  static constexpr std::array<TimeOf, 4> kTimes{
      {{"forward", [](const Measurement& m) { return std::optional(m.forward.median); }},
       {"backward", backward_of},
       {"input gradient", [](const Measurement& m) { return median_of(m.input_gradient); }},
       {"weight gradient", [](const Measurement& m) { return median_of(m.weight_gradient); }}}};

  static void refuse_zero(const std::vector<JsonReader>& rows,
                          const std::vector<Measurement>& all) {
    for (const TimeOf& its : kTimes) refuse_zero(rows, all, its);
  }
  static void refuse_zero(const std::vector<JsonReader>& rows, const std::vector<Measurement>& all,
                          const TimeOf& its) {
    using RowKey = std::tuple<std::string, int, OtherDegrees, int, int, std::string>;
    const auto row_of = [](const Measurement& m) {
      return RowKey{m.device,          m.tensor_degree,  others_of(m),
                    m.sequence_length, m.decoder_length, m.recompute};
    };
    std::map<RowKey, std::size_t> with_time;  // one row of each that takes time
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (its.time(all[i]).value_or(Duration{}) > Duration{}) with_time.emplace(row_of(all[i]), i);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto other = with_time.find(row_of(all[i]));
      if (other == with_time.end() || its.time(all[i]) != Duration{}) continue;
      rows[i].fail("its " + std::string(its.name) + " takes no time, but that of measurement " +
                   std::to_string(other->second) +
                   " (b = " + std::to_string(all[other->second].micro_batch_size) +
                   ") does; give its time or remove it");
    }
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
