// An encoder-decoder model + datasheet + fitted efficiencies -> a ModelProfile for micro-batches of
// many pairs of lengths, every time marked as estimated.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/device_sheet.h"
#include "core/values/encoder_decoder.h"
#include "core/values/estimate.h"
#include "estimator/efficiency.h"

namespace penstock {

struct PairGrid {
  std::vector<int> lengths, decoder_lengths;  // ascending
  std::int64_t most_tokens = 0;               // of a micro-batch: of both lengths together
};

// Of each pair of lengths, micro-batches of 1, 2, 4, ... samples up to so many tokens. The
// request's own length and sizes are not looked at. Error{kBadInput} where the datasheet has no
// rate for the arithmetic.
Estimate estimate_encoder_decoder(const EncoderDecoder& model, const DeviceSheet& device,
                                  const Efficiency& efficiency, const EstimateRequest& request,
                                  const PairGrid& grid);

}  // namespace penstock
