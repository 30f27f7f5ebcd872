// What the sections of a transformer hold, compute, move and keep: the bare counts that an estimate
// of times divides by a device's rates. Figures are those of one rank of a tensor-parallel group;
// docs/estimates.md derives them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/profile.h"
#include "core/values/units.h"

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
  // With T > 1: what lies between the products of a layer is divided over the ranks by tokens
  // (arXiv 2205.05198).
  bool sequence_parallel = false;
  // Ranks that divide each sequence (context parallelism), each with as many pairs of queries and
  // keys.
  int context_degree = 1;
  // One kernel per operation, as PyTorch runs it uncompiled; else norms, activations and losses are
  // fused as trainers of large models have them.
  bool eager = false;
  // EP ranks have the experts of a layer between them; each expert whole on its rank, or divided
  // over the T of them. The busiest rank has so many times the tokens of the mean.
  int expert_degree = 1;
  bool whole_experts = false;
  double imbalance = 1.0;
  // Inputs of the layers' products in 8 bits.
  bool is_float8 = false;
  // The loss is one kernel that leaves the gradients where the logits were.
  bool loss_in_place = false;
  // Of the gradients that every micro-batch adds its own to; 0: sums are not counted.
  int gradient_bytes = 0;
  // Tensor parallelism of PyTorch (section_traffic.h).
  bool torch_collectives = false;
  // In 16 bits, one kernel per operation where `eager` is not set: passes that fused kernels save
  // are counted apart.
  bool unfused = false;
  // Of the loss likewise.
  bool eager_loss = false;
  // Kernels of their own add gradients up; else the products that make them do.
  bool sums_apart = false;
};

// Of one layer's products or of its experts', which are one kernel.
enum class ProductKind { kWhole, kGrouped };

// Matrices of rows x inner and inner x columns.
struct Product {
  double rows = 0.0, columns = 0.0, inner = 0.0;
  double count = 1.0;  // of them, one after the other; together if they are grouped
  ProductKind kind = ProductKind::kWhole;
  double summed = 0.0;  // bytes read and written by a result that is added to what was there
  [[nodiscard]] double flops() const { return 2.0 * rows * columns * inner * count; }
  bool operator==(const Product&) const = default;
};

// Of one direction (forward, or backward as a whole).
struct Work {
  std::vector<Product> products;  // of weights
  double scores = 0.0;            // operations of attention between queries, keys and values
  double bytes = 0.0;             // read and written between and around them
  double cast = 0.0;              // of them by casts to 8 bits
  double sums = 0.0;     // likewise by sums of gradients over micro-batches that are kernels apart
  double copies = 0.0;   // likewise by copies of what collectives move
  double unfused = 0.0;  // likewise by kernels that are not fused, beyond `bytes`
  double reduced = 0.0;  // bytes per rank over the links of the tensor-parallel group, when times
                         // are to hold its collectives (as measured ones do)
  [[nodiscard]] double product_flops() const;
  bool operator==(const Work&) const = default;
};

struct SectionCounts {
  std::int64_t parameters = 0;
  Work forward, backward;
  double weight_share = 0.0;           // of the operations of backward: W / (I + W)
  std::vector<TensorTraffic> traffic;  // T > 1; recompute: of one that repeats the whole forward
  Bytes ring;       // keys and values of a rank's tokens, where ranks divide the sequence
  Bytes exchanged;  // likewise queries, keys, values and outputs
  std::optional<ExpertTraffic> experts;  // EP > 1
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
// Of a head: queries (and keys).
int score_width(const Architecture& model);
// Rows of embedding and head on one rank.
std::int64_t vocabulary_rows(const Architecture& model, int tensor_degree);

// Of the experts of a layer, what EP ETP ranks divide; 0 in a dense layer.
std::int64_t expert_parameters(const Architecture& model, LayerKind kind);

// Can the layers be divided over this many ranks? Heads, key-value heads and perceptron widths must
// divide evenly.
bool divides(const Architecture& model, int tensor_degree);

}  // namespace penstock
