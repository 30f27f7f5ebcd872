#include "estimator/divided_sequences.h"

#include "estimator/count_of_rank.h"
#include "estimator/layer_shapes.h"

namespace penstock {

// PyTorch's context parallelism (torch/distributed/tensor/experimental/_attention.py). Key-value
// heads are repeated before it (torchtitan's repeat_kv), so that they move as often as queries have
// heads; every part's output is merged in 32 bits.
bool torch_divides_sequences(const CountKey& key) {
  return key.torch_collectives && key.context_degree > 1;
}

// Its `accum_dtype` is that of 32 bits.
bool widens_passed_gradients(const CountKey& key) {
  return torch_divides_sequences(key) && key.element_bytes == 2;
}

// Where PyTorch compiles, a collective is waited for where it is issued (_maybe_wrap_tensor of
// torch/distributed/_functional_collectives.py), and Inductor moves neither unless it is told to
// (reorder_for_compute_comm_overlap, off by default).
bool waits_for_ring(const CountKey& key) {
  return torch_divides_sequences(key) && !key.unfused && !key.eager;
}

// Keys and values of a rank's own tokens, latent ones as attention takes them.
Bytes ring_bytes(const Architecture& model, const CountKey& key) {
  if (key.context_degree == 1) return {};
  const int heads = torch_divides_sequences(key) ? model.heads : model.key_value_heads;
  const double of_token =
      model.latent ? real(model.heads) * (model.latent->content_width + model.latent->rotary_width +
                                          model.latent->value_width)
                   : 2.0 * heads * model.head_width;
  return whole(tokens(key) * of_token * key.element_bytes / key.tensor_degree);
}

// Bytes that one kernel per operation moves around the parts, C of them, in numbers of e bytes.
// Forward (_SDPAMerger), per number of the output: of each part but the first to 32 bits e + 4
// where they are not yet, difference 4 + 4 + 4, times the sigmoid 4 + 4, sum 4 + 4 + 4; of the
// first e + 4, at the end 4 + e; keys and values joined for the gather 2 (e + e). Backward, of each
// part: gradients of queries added 4 + e + 4; those of keys and values, 2 numbers, half of them
// added so, put beside the other half 4 + 4, joined to be sent 4 + 4.
double merged_bytes(const Architecture& model, const CountKey& key, bool backward) {
  if (!torch_divides_sequences(key)) return 0.0;
  const double parts = key.context_degree;
  const double outputs = tokens(key) * real(attention_of(model).value) / key.tensor_degree;
  const double e = key.element_bytes, cast = e < 4.0 ? e + 4.0 : 0.0, added = 4.0 + e + 4.0;
  if (backward) return outputs * parts * (added + 2.0 * (added / 2.0 + 8.0 + 8.0));
  return outputs * ((cast + 32.0) * (parts - 1.0) + 2.0 * cast + 4.0 * e);
}

// What of keys and values is there while a layer works, in those of its own tokens: what arrives
// and what leaves, in the backward their gradients beside them. PyTorch's has those of all ranks,
// three copies of gradients in 32 bits (added up, arriving and sent), and in 32 bits the output and
// the gradients of queries, each half as many numbers.
double ring_copies(const CountKey& key) {
  const double wider = 4.0 / key.element_bytes;
  return torch_divides_sequences(key) ? key.context_degree + (3.0 + 1.0) * wider : 4.0;
}

// What goes to other ranks where they divide heads during attention.
Bytes exchanged_bytes(const Architecture& model, const CountKey& key) {
  if (key.context_degree == 1) return {};
  const AttentionShape attention = attention_of(model);
  return whole(tokens(key) * real(attention.query_key_value + attention.value) * key.element_bytes /
               key.tensor_degree);
}

}  // namespace penstock
