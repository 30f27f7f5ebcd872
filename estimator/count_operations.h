// What the sections of a transformer hold, compute, move and keep: the bare counts that an estimate
// of times divides by a device's rates. Figures are those of one rank of a tensor-parallel group;
// docs/estimates.md derives them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/architecture.h"
#include "core/profile.h"
#include "core/units.h"

namespace penstock {

enum class AttentionKind {
  kFused,  // scores stay on the chip (FlashAttention, arXiv 2307.08691)
  kKept,   // scores are written to memory and kept for the backward
};

struct CountKey {
  int tensor_degree = 1;    // T
  int samples = 1;          // b
  int sequence_length = 1;  // s
  int element_bytes = 2;
  AttentionKind attention = AttentionKind::kFused;
};

// Of one direction (forward, or backward as a whole).
struct Work {
  double flops = 0.0;    // of matrix products
  double bytes = 0.0;    // read and written between and around them
  double reduced = 0.0;  // bytes per rank over the links of the tensor-parallel group, when times
                         // are to hold its collectives (as measured ones do)
  bool operator==(const Work&) const = default;
};

struct SectionCounts {
  std::int64_t parameters = 0;
  Work forward, backward;
  double weight_share = 0.0;           // of the operations of backward: W / (I + W)
  std::vector<TensorTraffic> traffic;  // T > 1; recompute: of one that repeats the whole forward
  Bytes stash, weight_stash, working_peak, boundary;
  bool operator==(const SectionCounts&) const = default;
};

SectionCounts count_embedding(const Architecture& model, const CountKey& key);
enum class LayerKind { kDense, kExperts };
SectionCounts count_layer(const Architecture& model, LayerKind kind, const CountKey& key);
enum class EndKind { kNormAndHead, kNormOnly };
SectionCounts count_end(const Architecture& model, EndKind kind, const CountKey& key);

LayerKind kind_of_layer(const Architecture& model, int layer);
// The whole model, a tied tensor once.
std::int64_t parameter_count(const Architecture& model);
// Those that a token meets: of experts the visited ones.
std::int64_t active_parameter_count(const Architecture& model);
// Rows of embedding and head on one rank.
std::int64_t vocabulary_rows(const Architecture& model, int tensor_degree);

// Can the layers be divided over this many ranks? Heads, key-value heads and perceptron widths must
// divide evenly.
bool divides(const Architecture& model, int tensor_degree);

}  // namespace penstock
