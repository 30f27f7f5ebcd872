// Fresh rows replace those of the same device, degree, recompute, length and size; all others stay,
// with their sources. Both must describe the same model, part by part, or the merge is refused with
// the part that differs.
#include "profiler/merge_profiles.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/values/error.h"
#include "core/values/other_degrees.h"

namespace penstock {
namespace {

// What in `fresh` differs from `existing`; empty when they are of one model.
std::string difference(const ModelProfile& existing, const ModelProfile& fresh) {
  if (!existing.description) return "it does not say how to build its model";
  if (!is_same_model(existing.description, fresh.description)) return "it describes another model";
  if (existing.sections != fresh.sections) return "it has other sections";
  if (existing.tied_weights != fresh.tied_weights) return "it has other tied weights";
  if (existing.section_types.size() != fresh.section_types.size()) {
    return "it has other section types";
  }
  for (std::size_t i = 0; i < existing.section_types.size(); ++i) {
    const SectionType& a = existing.section_types[i];
    const SectionType& b = fresh.section_types[i];
    if (a.name != b.name) return "it has other section types";
    if (a.parameters != b.parameters || a.expert_parameters != b.expert_parameters)
      return "its " + a.name + " has other parameters";
  }
  return "";
}

OtherDegrees others_of(const Measurement& m) {
  return {m.context_degree, m.expert_degree, m.expert_tensor_degree};
}
OtherDegrees others_of(const OutOfMemoryKey& /*key*/) { return {}; }

template <class Keyed>
auto key_of(const Keyed& m) {
  return std::tuple(m.device, m.tensor_degree, others_of(m), m.recompute, m.decoder_length,
                    m.sequence_length, m.micro_batch_size);
}

template <class Profile, class Visit>
void for_each_source(Profile& profile, const Visit& visit) {
  visit(profile.training.source);
  for (auto& type : profile.section_types) {
    visit(type.parameter_source);
    for (auto& row : type.measurements) {
      visit(row.time_source);
      visit(row.split_source);
      visit(row.memory_source);
    }
  }
}

// Sources of `fresh` behind those of `existing`, under ids of their own: "run", "run-2", "run-3".
void append_sources(std::vector<Source>& sources, const std::vector<Source>& fresh) {
  std::set<std::string> ids;
  for (const Source& source : sources) ids.insert(source.id);
  for (Source source : fresh) {
    const std::string stem = source.id;
    for (int number = 2; !ids.insert(source.id).second; ++number) {
      source.id = stem + "-" + std::to_string(number);
    }
    sources.push_back(std::move(source));
  }
}

void drop_unused_sources(ModelProfile& profile) {
  std::vector<int> place(profile.sources.size(), -1);
  for_each_source(profile, [&](int source) { place[static_cast<std::size_t>(source)] = 0; });
  std::vector<Source> kept;
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0) continue;
    place[i] = static_cast<int>(kept.size());
    kept.push_back(profile.sources[i]);
  }
  profile.sources = std::move(kept);
  for_each_source(profile, [&](int& source) { source = place[static_cast<std::size_t>(source)]; });
}

void merge_rows(std::vector<Measurement>& rows, const std::vector<Measurement>& fresh) {
  for (const Measurement& row : fresh) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Measurement& other) {
      return key_of(other) == key_of(row);
    });
    if (same != rows.end()) {
      *same = row;
    } else {
      rows.push_back(row);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Measurement& a, const Measurement& b) {
    return key_of(a) < key_of(b);
  });
}

// What was tried again counts, whichever way it ended.
void merge_out_of_memory(SectionType& type, const SectionType& fresh) {
  const auto is_in = [](const auto& list, const auto& key) {
    return std::any_of(list.begin(), list.end(),
                       [&](const auto& other) { return key_of(other) == key_of(key); });
  };
  std::erase_if(type.out_of_memory,
                [&](const OutOfMemoryKey& key) { return is_in(fresh.measurements, key); });
  for (const OutOfMemoryKey& key : fresh.out_of_memory) {
    std::erase_if(type.measurements,
                  [&](const Measurement& row) { return key_of(row) == key_of(key); });
    if (!is_in(type.out_of_memory, key)) type.out_of_memory.push_back(key);
  }
}

}  // namespace

ModelProfile merge_profiles(const ModelProfile& existing, const ModelProfile& fresh,
                            const std::string& file) {
  if (const std::string what = difference(existing, fresh); !what.empty()) {
    throw_bad_input(file + ": " + what +
                    "; measurements of two models do not go into one profile\nhelp: leave out "
                    "--resume, or give the MODEL and the options that " +
                    file + " was made with");
  }
  ModelProfile merged = existing;
  merged.description = fresh.description;  // with what was seen last
  ModelProfile moved = fresh;
  const int offset = static_cast<int>(existing.sources.size());
  for_each_source(moved, [&](int& source) { source += offset; });
  append_sources(merged.sources, moved.sources);
  if (moved.training.optimizer_ps_per_parameter) merged.training = moved.training;
  for (std::size_t i = 0; i < merged.section_types.size(); ++i) {
    merge_rows(merged.section_types[i].measurements, moved.section_types[i].measurements);
    merge_out_of_memory(merged.section_types[i], moved.section_types[i]);
  }
  drop_unused_sources(merged);
  return merged;
}

}  // namespace penstock
