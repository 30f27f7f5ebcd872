// One section at one key: a sample of its grid made a price, or the reason why there is none. What
// price_sections() and ShapeSections share. Private to costmodel/.
#pragma once

#include <string>
#include <vector>

#include "core/values/profile.h"
#include "costmodel/price_stages.h"
#include "costmodel/section_grid.h"
#include "costmodel/tensor_traffic.h"

namespace penstock {

struct SectionKey {
  const std::string& device;
  int tensor_degree, samples, sequence_length, decoder_length;
  const std::string& recompute;
  OtherDegrees others{};
};

// The part of the key that the profile does not have, and what it has instead; empty when there is
// a price.
std::string why_no_price(const SectionType& type, const std::vector<SectionGrid>& grids,
                         const SectionKey& key);
std::string why_no_tied_parameters(const ModelProfile& profile, const SectionKey& key);
// Of a decoder length where no section knows one.
std::string why_no_decoder();

// F + B + R.
Duration compute_time(const ComputePrice& price);

// section_price() without what intervals are made of.
SectionPrice price_with_traffic(const GridSample& sample, const SectionKey& key,
                                const SectionGroups& groups);

// B = I + W where the profile measured the parts, because each figure is rounded by itself and B is
// then made their sum.
SectionPrice section_price(const ModelProfile& profile, const GridSample& sample,
                           const SectionKey& key, const SectionGroups& groups);

}  // namespace penstock
