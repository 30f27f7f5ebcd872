// write_profile() writes exactly what read_profile() reads: every source by its id, every time in
// nanoseconds, and no key that says nothing.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/files/format.h"
#include "core/files/read_sources.h"

namespace penstock {
namespace {

Json write_training(const TrainingState& training, const std::vector<Source>& sources) {
  Json object = Json::object();
  object.set("bytes_per_parameter", training.bytes_per_parameter.count)
      .set("bytes_per_gradient", training.bytes_per_gradient.count)
      .set("optimizer_bytes_per_parameter", training.optimizer_bytes_per_parameter.count);
  if (training.optimizer_ps_per_parameter) {
    object.set("optimizer_ps_per_parameter", *training.optimizer_ps_per_parameter);
  }
  if (training.norm_ps_per_parameter != 0) {
    object.set("norm_ps_per_parameter", training.norm_ps_per_parameter);
  }
  if (training.bucket_parameters != 0) {
    object.set("bucket_parameters", training.bucket_parameters);
  }
  object.set("source", id_of(sources, training.source));
  return object;
}

Json write_parameters(const std::vector<ParameterCount>& parameters) {
  Json array = Json::array();
  for (const ParameterCount& entry : parameters) {
    array.push(Json::object().set("tensor_degree", entry.tensor_degree).set("count", entry.count));
  }
  return array;
}

void write_timing(Json& row, const std::string& stem, const std::optional<Timing>& timing) {
  if (!timing) return;
  row.set(stem + "_ns", std::int64_t{timing->median.count()});
  if (timing->spread != Duration{}) {
    row.set(stem + "_spread_ns", std::int64_t{timing->spread.count()});
  }
}

// Times of 0 say nothing.
Json write_terms(const std::vector<TimeTerm>& terms) {
  Json array = Json::array();
  for (const TimeTerm& each : terms) {
    Json object = Json::object();
    object.set("name", each.name);
    for (const auto& [key, duration] : kTermTimes) {
      if (each.*duration == Duration{}) continue;
      object.set(std::string(key) + "_ns", std::int64_t{(each.*duration).count()});
    }
    array.push(std::move(object));
  }
  return array;
}

// Counts of 0 say nothing.
Json write_traffic(const std::vector<TensorTraffic>& traffic) {
  Json array = Json::array();
  for (const TensorTraffic& each : traffic) {
    Json object = Json::object();
    object.set("kind", std::string(name_of(each.kind))).set("bytes", each.bytes.count);
    for (const auto& [key, count] : kTrafficCounts) {
      if (each.*count != 0) object.set(std::string(key), each.*count);
    }
    array.push(std::move(object));
  }
  return array;
}

Json write_ring(const RingTraffic& ring) {
  Json object = Json::object();
  object.set("bytes", ring.bytes.count)
      .set("beside_forward_ns", std::int64_t{ring.beside_forward.count()})
      .set("beside_backward_ns", std::int64_t{ring.beside_backward.count()});
  if (ring.beside_recompute) {
    object.set("beside_recompute_ns", std::int64_t{ring.beside_recompute->count()});
  }
  if (ring.exchanged != Bytes{}) object.set("exchanged_bytes", ring.exchanged.count);
  return object;
}

Json write_experts(const ExpertTraffic& experts) {
  Json object = Json::object();
  object.set("dispatched_bytes", experts.dispatched.count)
      .set("combined_bytes", experts.combined.count)
      .set("count", experts.experts)
      .set("visited", experts.visited)
      .set("once", experts.once);
  if (experts.most_nodes > 0) object.set("most_nodes", experts.most_nodes);
  if (experts.imbalance != 1.0) object.set("imbalance", experts.imbalance);
  if (experts.again) object.set("again", true);
  return object;
}

Json write_measurement(const Measurement& m, const std::vector<Source>& sources) {
  Json row = Json::object();
  row.set("device", m.device).set("tensor_degree", m.tensor_degree);
  if (m.context_degree > 1) row.set("context_degree", m.context_degree);
  if (m.expert_degree > 1) row.set("expert_degree", m.expert_degree);
  if (m.expert_tensor_degree > 0) row.set("expert_tensor_degree", m.expert_tensor_degree);
  row.set("micro_batch_size", m.micro_batch_size).set("sequence_length", m.sequence_length);
  if (m.decoder_length != 0) row.set("decoder_length", m.decoder_length);
  row.set("recompute", m.recompute).set("count", m.count);
  write_timing(row, "forward", m.forward);
  write_timing(row, "fused_backward", m.fused_backward);
  write_timing(row, "input_gradient", m.input_gradient);
  write_timing(row, "weight_gradient", m.weight_gradient);
  if (m.recompute_time != Timing{}) write_timing(row, "recompute_time", m.recompute_time);
  if (m.weight_gradient_share) row.set("weight_gradient_share", *m.weight_gradient_share);
  if (!m.terms.empty()) row.set("terms", write_terms(m.terms));
  if (!m.tensor_traffic.empty()) row.set("tensor_traffic", write_traffic(m.tensor_traffic));
  if (m.ring) row.set("ring", write_ring(*m.ring));
  if (m.experts) row.set("experts", write_experts(*m.experts));
  row.set("stash_bytes", m.stash.count)
      .set("weight_stash_bytes", m.weight_stash.count)
      .set("working_peak_bytes", m.working_peak.count)
      .set("boundary_bytes", m.boundary.count)
      .set("time_source", id_of(sources, m.time_source))
      .set("split_source", id_of(sources, m.split_source))
      .set("memory_source", id_of(sources, m.memory_source));
  return row;
}

Json write_out_of_memory(const OutOfMemoryKey& key) {
  Json row = Json::object();
  row.set("device", key.device)
      .set("tensor_degree", key.tensor_degree)
      .set("micro_batch_size", key.micro_batch_size)
      .set("sequence_length", key.sequence_length);
  if (key.decoder_length != 0) row.set("decoder_length", key.decoder_length);
  return row.set("recompute", key.recompute);
}

Json write_section_type(const SectionType& type, const std::vector<Source>& sources) {
  Json measurements = Json::array();
  for (const Measurement& m : type.measurements) measurements.push(write_measurement(m, sources));
  Json object = Json::object();
  object.set("name", type.name)
      .set("parameters", write_parameters(type.parameters))
      .set("parameter_source", id_of(sources, type.parameter_source));
  if (type.fixed.count != 0) object.set("fixed_bytes", type.fixed.count);
  if (type.expert_parameters != 0) object.set("expert_parameters", type.expert_parameters);
  object.set("measurements", std::move(measurements));
  if (!type.out_of_memory.empty()) {
    Json out_of_memory = Json::array();
    for (const OutOfMemoryKey& key : type.out_of_memory) {
      out_of_memory.push(write_out_of_memory(key));
    }
    object.set("out_of_memory", std::move(out_of_memory));
  }
  return object;
}

Json write_tie(const TiedWeights& tie, const std::vector<Section>& sections) {
  Json names = Json::array();
  for (const SectionId id : tie.sections) {
    names.push(sections[static_cast<std::size_t>(id.value)].name);
  }
  Json object = Json::object();
  object.set("name", tie.name)
      .set("sections", std::move(names))
      .set("parameters", write_parameters(tie.parameters));
  return object;
}

}  // namespace

Json write_profile(const ModelProfile& profile) {
  Json types = Json::array();
  for (const SectionType& type : profile.section_types) {
    types.push(write_section_type(type, profile.sources));
  }
  Json sections = Json::array();
  for (const Section& section : profile.sections) {
    const SectionType& type = profile.section_types[static_cast<std::size_t>(section.type)];
    sections.push(Json::object().set("name", section.name).set("type", type.name));
  }
  Json file = Json::object();
  file.set("format", "penstock.profile/1").set("name", profile.name);
  if (profile.description) file.set("description", write_description(*profile.description));
  file.set("sources", write_sources(profile.sources))
      .set("training", write_training(profile.training, profile.sources))
      .set("section_types", std::move(types))
      .set("sections", std::move(sections));
  if (!profile.tied_weights.empty()) {
    Json ties = Json::array();
    for (const TiedWeights& tie : profile.tied_weights) {
      ties.push(write_tie(tie, profile.sections));
    }
    file.set("tied_weights", std::move(ties));
  }
  return file;
}

}  // namespace penstock
