#include "estimator/estimate_lengths.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "estimator/estimate_profile.h"

namespace penstock {
namespace {

constexpr int kShortest = 16;

std::vector<int> sizes_up_to(std::int64_t most_tokens, int length) {
  std::vector<int> sizes{1};
  while (std::int64_t{2} * sizes.back() * length <= most_tokens) sizes.push_back(2 * sizes.back());
  return sizes;
}

}  // namespace

std::vector<int> grid_of_lengths(int longest) {
  std::vector<int> lengths;
  for (int length = kShortest; length < longest; length *= 2) lengths.push_back(length);
  lengths.push_back(longest);
  return lengths;
}

Estimate estimate_lengths(const Architecture& model, const DeviceSheet& device,
                          const Efficiency& efficiency, EstimateRequest request,
                          const std::vector<int>& lengths, std::int64_t most_tokens) {
  Estimate all;
  std::vector<std::vector<Measurement>> rows;  // by section type
  for (const int length : lengths) {
    request.sequence_length = length;
    request.samples = sizes_up_to(most_tokens, length);
    all = estimate_profile(model, device, efficiency, request);
    std::vector<SectionType>& types = all.profile.section_types;
    rows.resize(types.size());
    for (std::size_t type = 0; type < types.size(); ++type) {
      std::vector<Measurement>& of_length = types[type].measurements;
      rows[type].insert(rows[type].end(), std::make_move_iterator(of_length.begin()),
                        std::make_move_iterator(of_length.end()));
    }
  }
  for (std::size_t type = 0; type < rows.size(); ++type) {
    all.profile.section_types[type].measurements = std::move(rows[type]);
  }
  return all;
}

}  // namespace penstock
