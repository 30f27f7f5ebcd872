// Which keys the profile can price: what an enumeration may ask for.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "costmodel/price_stages.h"
#include "costmodel/section_grid.h"
#include "costmodel/used_types.h"

namespace penstock {
namespace {

// The values that `values_of` finds for every section type of the model.
template <class Value, class ValuesOf>
std::vector<Value> common_to_all(const ModelProfile& profile, ValuesOf values_of) {
  std::optional<std::set<Value>> common;
  for (const int type : used_types(profile)) {
    const std::set<Value> here = values_of(profile.section_types[static_cast<std::size_t>(type)]);
    if (!common) {
      common = here;
      continue;
    }
    std::set<Value> both;
    std::set_intersection(common->begin(), common->end(), here.begin(), here.end(),
                          std::inserter(both, both.end()));
    common = std::move(both);
  }
  if (!common) return {};
  return {common->begin(), common->end()};
}

// Sizes that were measured at this length, or at both lengths around it, so that nothing has to be
// extrapolated; outside the measured lengths, those of the nearest.
std::set<int> sizes_around(const std::map<int, std::set<int>>& rows, int length) {
  if (rows.empty()) return {};
  const auto above = rows.lower_bound(length);
  if (above == rows.end()) return rows.rbegin()->second;
  if (above->first == length || above == rows.begin()) return above->second;
  const std::set<int>& low = std::prev(above)->second;
  std::set<int> both;
  std::set_intersection(low.begin(), low.end(), above->second.begin(), above->second.end(),
                        std::inserter(both, both.end()));
  return both;
}

}  // namespace

std::vector<int> measured_tensor_degrees(const ModelProfile& profile, const std::string& device) {
  return common_to_all<int>(profile, [&](const SectionType& type) {
    std::set<int> degrees;
    for (const Measurement& m : type.measurements) {
      if (m.device == device) degrees.insert(m.tensor_degree);
    }
    return degrees;
  });
}

std::vector<int> measured_context_degrees(const ModelProfile& profile, const std::string& device) {
  return common_to_all<int>(profile, [&](const SectionType& type) {
    std::set<int> degrees;
    for (const Measurement& m : type.measurements) {
      if (m.device == device) degrees.insert(m.context_degree);
    }
    return degrees;
  });
}

std::vector<std::pair<int, int>> measured_expert_degrees(const ModelProfile& profile,
                                                         const std::string& device,
                                                         int tensor_degree) {
  std::optional<std::set<std::pair<int, int>>> common;
  for (const int index : used_types(profile)) {
    const SectionType& type = profile.section_types[static_cast<std::size_t>(index)];
    if (type.expert_parameters == 0) continue;
    std::set<std::pair<int, int>> here;
    for (const Measurement& m : type.measurements) {
      if (m.device == device && m.tensor_degree == tensor_degree) {
        here.emplace(m.expert_degree, m.expert_tensor_degree);
      }
    }
    if (common) std::erase_if(*common, [&](const auto& each) { return !here.contains(each); });
    if (!common) common = std::move(here);
  }
  if (!common) return {{1, 0}};
  return {common->begin(), common->end()};
}

std::vector<std::string> measured_recompute_modes(const ModelProfile& profile,
                                                  const std::string& device) {
  auto modes = common_to_all<std::string>(profile, [&](const SectionType& type) {
    std::set<std::string> names;
    for (const Measurement& m : type.measurements) {
      if (m.device == device) names.insert(m.recompute);
    }
    return names;
  });
  // Keeping all activations is the plain case and comes first.
  std::stable_partition(modes.begin(), modes.end(),
                        [](const std::string& mode) { return mode == "none"; });
  return modes;
}

std::vector<int> measured_micro_batch_sizes(const ModelProfile& profile, const std::string& device,
                                            int tensor_degree, int sequence_length,
                                            const std::string& recompute,
                                            const OtherDegrees& others) {
  return common_to_all<int>(profile, [&](const SectionType& type) {
    std::map<int, std::set<int>> rows;
    for (const Measurement& m : type.measurements) {
      if (m.device == device && m.tensor_degree == tensor_degree && is_row_for(type, m, others) &&
          m.recompute == recompute) {
        rows[m.sequence_length].insert(m.micro_batch_size);
      }
    }
    return sizes_around(rows, sequence_length);
  });
}

int default_sequence_length(const ModelProfile& profile, const std::string& device) {
  // The shortest of the types' longest, so that no section is extrapolated; types without the
  // dimension have no say.
  int shortest = 0;
  for (const int type : used_types(profile)) {
    int longest = 0;
    for (const Measurement& m :
         profile.section_types[static_cast<std::size_t>(type)].measurements) {
      if (m.device == device) longest = std::max(longest, m.sequence_length);
    }
    if (longest > 0) shortest = shortest == 0 ? longest : std::min(shortest, longest);
  }
  return shortest;
}

}  // namespace penstock
