// How fast attention multiplies queries, keys and values: far below other matrix products, and by
// which kernels, how long sequences and how wide heads are.
#pragma once

#include <optional>
#include <string_view>

#include "core/values/device_sheet.h"
#include "core/values/estimate.h"
#include "estimator/count_operations.h"

namespace penstock {

std::string_view name_of(AttentionKernel kernel);  // "flash2", "flash3", "cudnn", "eager"
std::optional<AttentionKernel> attention_named(std::string_view name);

// What trainers use on such a device: cuDNN's on Hopper and Blackwell (Transformer Engine),
// FlashAttention-2 elsewhere, and kernels that keep the scores where there is neither (Volta) or
// numbers have more than 16 bits.
AttentionKernel default_attention(const DeviceSheet& device, Arithmetic arithmetic);
AttentionKind kind_of(AttentionKernel kernel);

struct AttentionKey {
  int sequence_length = 1;
  int head_width = 128;
  bool backward = false;
};
// Share of the device's peak. Of eager kernels relative to other matrix products instead.
double attention_share(AttentionKernel kernel, const DeviceSheet& device, const AttentionKey& key);

}  // namespace penstock
