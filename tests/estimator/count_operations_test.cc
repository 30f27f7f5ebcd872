#include "estimator/count_operations.h"

#include <doctest/doctest.h>

#include "estimator/count_recompute.h"
#include "tests/estimator/models.h"

using namespace penstock;
using tests::model_of;
using tests::shipped_model;

namespace {

CountKey key_of(int degree, int samples, int length) {
  return {degree, samples, length, 2, AttentionKind::kFused};
}

}  // namespace

// 4096 * 4096 * 2 + 2 * 4096 * 1024 = 41,943,040 of attention, 3 * 4096 * 14336 = 176,160,768 of
// the perceptron, 2 * 4096 of norms; 32 layers, two tables of 128256 * 4096 and the last norm.
TEST_CASE("Llama-3-8B has 8,030,261,248 parameters, 218,112,000 in a layer") {
  const Architecture llama = shipped_model("llama-3-8b");
  CHECK(count_layer(llama, LayerKind::kDense, key_of(1, 1, 1)).parameters == 218'112'000);
  CHECK(parameter_count(llama) == 8'030'261'248);
  // Matrices are divided, norms are not: 218,103,808 / 8 + 8,192.
  CHECK(count_layer(llama, LayerKind::kDense, key_of(8, 1, 1)).parameters == 27'271'168);
}

// 2 * 8192 * 218,103,808 = 3,573,412,790,272 for the matrices, and half of
// 4 * 8192^2 * 4096 = 1,099,511,627,776 for causal attention.
TEST_CASE("a layer of Llama-3-8B takes 4.123 TFLOP for one sample of 8192 tokens") {
  const Architecture llama = shipped_model("llama-3-8b");
  const SectionCounts layer = count_layer(llama, LayerKind::kDense, key_of(1, 1, 8192));
  CHECK(layer.forward.product_flops() == 3'573'412'790'272.0);
  CHECK(layer.forward.scores == 549'755'813'888.0);
  // Twice the matrices, and attention with its scores computed again: 2.5 times.
  CHECK(layer.backward.product_flops() == 2 * 3'573'412'790'272.0);
  CHECK(layer.backward.scores == 2.5 * 549'755'813'888.0);
  CHECK(layer.boundary == Bytes{8192 * 4096 * 2});
  CHECK(layer.forward.reduced == 0.0);
  // Two all-reduces of 64 MiB; a ring moves 2 * 3 / 4 of it per rank.
  const SectionCounts quarter = count_layer(llama, LayerKind::kDense, key_of(4, 1, 8192));
  CHECK(quarter.forward.reduced == 2 * 1.5 * 67'108'864.0);
  CHECK(quarter.forward.product_flops() * 4 == layer.forward.product_flops());
}

// The backward needs the input of a layer's last product, not its output: 2 * 8192 * 14336 * 4096
// of 3.573 TFLOP. Over a tensor-parallel group trainers repeat it.
TEST_CASE("full recompute stops before the last product where T = 1") {
  const Architecture llama = shipped_model("llama-3-8b");
  const auto again = [&](int degree) {
    const CountKey key = key_of(degree, 1, 8192);
    return count_recompute(llama, LayerKind::kDense, key, Recompute::kFull).again.product_flops();
  };
  CHECK(again(1) == 3'573'412'790'272.0 - 962'072'674'304.0);
  CHECK(again(4) * 4 == 3'573'412'790'272.0);
}

// Per token and layer, in elements: inputs of the norms and of the first products 4 h, queries,
// keys and values 3 h / T, input of the output projection h / T, two inner tensors of 4 h: 16 h for
// T = 1 and 4 h + 12 h / 8 for T = 8, and 4 bytes for each head's row (arXiv 2205.05198 has 2 bytes
// of dropout masks besides; its 5 a s / h are those of scores that are kept).
TEST_CASE("what a layer of GPT keeps for its backward") {
  const Architecture gpt = shipped_model("gpt-6.7b");
  const std::int64_t tokens_by_width = std::int64_t{2048} * 4096, rows = 4 * 32 * 2048;
  CHECK(count_layer(gpt, LayerKind::kDense, key_of(1, 1, 2048)).stash ==
        Bytes{32 * tokens_by_width + rows});
  CHECK(count_layer(gpt, LayerKind::kDense, key_of(8, 1, 2048)).stash ==
        Bytes{11 * tokens_by_width + rows / 8});
  CountKey kept = key_of(1, 1, 2048);
  kept.attention = AttentionKind::kKept;
  CHECK(count_layer(gpt, LayerKind::kDense, kept).stash ==
        Bytes{32 * tokens_by_width + 5 * std::int64_t{32} * 2048 * 2048});
  // Selective recompute brings the scores back and nothing else.
  CHECK(count_recompute(gpt, LayerKind::kDense, kept, Recompute::kSelective).stash ==
        Bytes{32 * tokens_by_width});
}

// 8B: 2 (4 * 4096 + 6144 + 4096 + 3 * 14336) + 4 * 32 = 139,392 bytes per token. 70B: 274,688;
// with T = 4 a quarter of it when sequences are divided too, else the 4 h stay whole.
TEST_CASE("what a layer of Llama-3 keeps for its backward, with and without sequence parallelism") {
  const Architecture small = shipped_model("llama-3-8b");
  CHECK(count_layer(small, LayerKind::kDense, key_of(1, 1, 8192)).stash == Bytes{139'392 * 8192});
  const Architecture large = model_of(R"({"model_type": "llama", "num_hidden_layers": 80,
      "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 8,
      "intermediate_size": 28672, "vocab_size": 128256})");
  CHECK(count_layer(large, LayerKind::kDense, key_of(1, 1, 4096)).stash == Bytes{274'688 * 4096});
  CountKey four = key_of(4, 1, 4096);
  CHECK(count_layer(large, LayerKind::kDense, four).stash == Bytes{117'824 * 4096});
  four.sequence_parallel = true;
  const SectionCounts divided = count_layer(large, LayerKind::kDense, four);
  CHECK(divided.stash == Bytes{274'688 / 4 * 4096});
  CHECK(divided.boundary == Bytes{8192 / 4 * 2 * 4096});
  CHECK(count_recompute(large, LayerKind::kDense, four, Recompute::kFull).stash ==
        Bytes{16 * 1024 * 1024});
}

// Kept of 8B per token: the layer's input and the last output 2 * 4096, queries and the output of
// attention 2 * 4096, values 1024, the first matrix of the perceptron 14336, and the rows. Computed
// again: keys 1024, output projection 4096, gate 14336, each 4096 deep.
TEST_CASE("per-operation checkpointing keeps every second product") {
  const Architecture llama = shipped_model("llama-3-8b");
  const RecomputeCounts counts =
      count_recompute(llama, LayerKind::kDense, key_of(1, 1, 8192), Recompute::kSelective);
  CHECK(counts.stash == Bytes{(2 * (4 * 4096 + 1024 + 14336) + 128) * std::int64_t{8192}});
  CHECK(counts.again.product_flops() == 2.0 * 8192 * 4096 * (1024 + 4096 + 14336));
  CHECK(counts.again.scores == 0.0);
}

TEST_CASE("experts: all of them are held, a token's operations are those it visits") {
  const Architecture mixtral = shipped_model("mixtral-8x7b");
  const SectionCounts layer = count_layer(mixtral, LayerKind::kExperts, key_of(1, 1, 1024));
  // attention, 8 experts of 3 * 4096 * 14336, router, norms
  CHECK(layer.parameters == 41'943'040 + 8 * 176'160'768 + 8 * 4096 + 8192);
  const double products = 41'943'040.0 + 2 * 176'160'768.0 + 8 * 4096.0;
  CHECK(layer.forward.product_flops() == 2 * 1024 * products);
  CHECK(layer.forward.scores == 2.0 * 1024 * 512 * 8192);
}

TEST_CASE("a window bounds how far attention reaches back") {
  const std::string sizes = R"("num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 1,
      "intermediate_size": 8, "vocab_size": 8, "model_type": "mistral")";
  const Architecture whole = model_of("{" + sizes + "}");
  const Architecture window = model_of("{" + sizes + R"(, "sliding_window": 16})");
  const auto flops = [](const Architecture& model) {
    return count_layer(model, LayerKind::kDense, key_of(1, 1, 64)).forward.scores;
  };
  // Pairs: 64^2 / 2 = 2048 against 64 * 16 - 16^2 / 2 = 896; 4 * 8 operations each.
  CHECK(flops(whole) - flops(window) == (2048 - 896) * 32);
}

// Five of six layers of Gemma 3 have a window: (5 * 896 + 2048) / 6 pairs, 4 * 8 operations each.
TEST_CASE("where only some layers have a window, each is given the mean of all") {
  const std::string sizes = R"("num_hidden_layers": 6, "hidden_size": 8, "num_attention_heads": 1,
      "intermediate_size": 8, "vocab_size": 8, "model_type": "gemma3_text",
      "sliding_window": 16, "sliding_window_pattern": 6)";
  const Architecture gemma = model_of("{" + sizes + "}");
  CHECK(gemma.window == 16);
  CHECK(gemma.windowed_layers == 5);
  const double scores = count_layer(gemma, LayerKind::kDense, key_of(1, 1, 64)).forward.scores;
  CHECK(scores == doctest::Approx((5.0 * 896 + 2048) / 6 * 32));
}

TEST_CASE("tensor degrees that do not divide heads and perceptrons are none") {
  const Architecture llama = shipped_model("llama-3-8b");
  CHECK(divides(llama, 8));
  CHECK_FALSE(divides(llama, 16));                 // 8 key-value heads
  CHECK_FALSE(divides(shipped_model("gpt2"), 8));  // 12 heads
}

// 4 tokens of width 8, 10 words, 2 bytes: 40 logits, 32 elements of the head's input, 80 weights.
// Kept are that input twice and the logits, in 2 bytes where the loss overwrites them with
// gradients and else in 4; of the passes, 6 over the input and one over the weights, the logits are
// then written and read forward, read and overwritten backward.
TEST_CASE("a loss that overwrites the logits keeps them once, in their own precision") {
  const Architecture model = model_of(
      R"({"num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 1,
          "intermediate_size": 16, "vocab_size": 10})");
  CountKey key = key_of(1, 1, 4);
  const SectionCounts apart = count_end(model, EndKind::kNormAndHead, key);
  key.loss_in_place = true;
  const SectionCounts in_place = count_end(model, EndKind::kNormAndHead, key);
  CHECK(in_place.stash == Bytes{2 * 32 * 2 + 40 * 2});
  CHECK(apart.stash == Bytes{2 * 32 * 2 + 40 * 4});
  const double around = (6 * 32 + 80) * 2;
  CHECK(in_place.forward.bytes == around + 2 * 2 * 40);
  CHECK(in_place.backward.bytes == 2 * around + 2 * 2 * 40);
  CHECK(apart.forward.bytes == around + 4 * 4 * 40);
  CHECK(in_place.working_peak == Bytes{2 * 80});  // gradients of the weights
  CHECK(apart.working_peak == Bytes{6 * 40});     // logits and their gradients
}

// A layer of 8B has 218,103,808 weights in its products: 4 bytes of each gradient are read and
// written. Of a quarter of the experts of Qwen3-30B, 32 x 3 x 2048 x 768, beside 20,971,520 of
// attention and 2048 x 128 of the router.
TEST_CASE("each micro-batch adds its gradients to those before") {
  CountKey key = key_of(1, 1, 8192);
  CHECK(count_layer(shipped_model("llama-3-8b"), LayerKind::kDense, key).backward.sums == 0.0);
  key.gradient_bytes = 4;
  key.sums_apart = true;
  const SectionCounts llama = count_layer(shipped_model("llama-3-8b"), LayerKind::kDense, key);
  CHECK(llama.backward.sums == 8.0 * 218'103'808);
  CHECK(llama.forward.sums == 0.0);
  key.gradient_bytes = 2;
  key.expert_degree = 4;
  const SectionCounts qwen = count_layer(shipped_model("qwen3-30b"), LayerKind::kExperts, key);
  CHECK(qwen.backward.sums == 4.0 * (32.0 * 3 * 2048 * 768 + 18'874'368 + 2048 * 128));
}

// The same bytes, by the products that make the gradients: every second one of the backward, and
// none of the forward.
TEST_CASE("products that make gradients add them up, where no kernels apart do") {
  CountKey key = key_of(1, 1, 8192);
  key.gradient_bytes = 4;
  const SectionCounts llama = count_layer(shipped_model("llama-3-8b"), LayerKind::kDense, key);
  CHECK(llama.backward.sums == 0.0);
  double bytes = 0.0;
  for (std::size_t i = 0; i < llama.backward.products.size(); ++i) {
    const Product& product = llama.backward.products[i];
    CHECK(product.summed == (i % 2 == 0 ? 0.0 : 8.0 * product.rows * product.columns));
    bytes += product.summed;
  }
  CHECK(bytes == 8.0 * 218'103'808);
  for (const Product& product : llama.forward.products) CHECK(product.summed == 0.0);
}

// Bytes of a token of Llama-3-8B beyond those of fused kernels: two RMS norms of 32 * 4,096, 16 for
// each of the 40 * 128 numbers of queries and keys, 4 * 14,336 behind the gate: 401,408; in the
// backward twice that. Kept besides: 4 bytes a number and norm.
TEST_CASE("kernels that are not fused move more, and norms keep more") {
  const Architecture llama = shipped_model("llama-3-8b");
  CountKey key = key_of(1, 1, 8192);
  const SectionCounts fused = count_layer(llama, LayerKind::kDense, key);
  const SectionCounts fused_head = count_end(llama, EndKind::kNormAndHead, key);
  CHECK(fused.forward.unfused == 0.0);
  key.unfused = true;
  const SectionCounts eager = count_layer(llama, LayerKind::kDense, key);
  CHECK(eager.forward.unfused == 8192.0 * 401'408);
  CHECK(eager.backward.unfused == 2 * eager.forward.unfused);
  CHECK(eager.forward.bytes == fused.forward.bytes);
  CHECK(eager.stash == fused.stash + Bytes{8192 * 2 * 4 * 4096});
  // Computed again as it was computed; per-operation checkpointing keeps no more for it.
  const RecomputeCounts selective =
      count_recompute(llama, LayerKind::kDense, key, Recompute::kSelective);
  CHECK(selective.again.unfused == eager.forward.unfused);
  // Of the loss 2 bytes a logit forward and 14 backward, and its norm; 12 bytes a logit are there
  // at once, of which 4 are kept from the forward.
  key.eager_loss = true;
  const SectionCounts head = count_end(llama, EndKind::kNormAndHead, key);
  const double logits = 8192.0 * 128'256;
  CHECK(head.forward.unfused == 2 * logits + 32.0 * 8192 * 4096);
  CHECK(head.backward.unfused == 14 * logits + 64.0 * 8192 * 4096);
  CHECK(head.stash == fused_head.stash + Bytes{4 * 8192 * 4096});
  CHECK(head.working_peak == Bytes{8 * std::int64_t{8192} * 128'256});
}

// 16,032 words on each of 8 ranks, 8,192 tokens: 12 bytes a logit beside the 4 that are kept, and
// twice the tokens of 4,096 numbers, which sequence parallelism gathers and scatters. Megatron's
// loss, one kernel after another, has 8.
TEST_CASE("PyTorch's loss over divided words has 16 bytes a logit at once") {
  const Architecture llama = shipped_model("llama-3-8b");
  CountKey key = key_of(8, 1, 8192);
  key.sequence_parallel = true;
  key.eager_loss = true;
  const std::int64_t logits = 8192 * 16'032, gathered = 2 * 8192 * 4096 * 2;
  const auto working = [&] { return count_end(llama, EndKind::kNormAndHead, key).working_peak; };
  CHECK(working() == Bytes{8 * logits + gathered});
  key.torch_collectives = true;
  CHECK(working() == Bytes{12 * logits + gathered});
}

// Llama-3-8B, 8 ranks, 4,096 tokens each of 32 heads of 128 numbers, key-value heads repeated to as
// many: keys and values 2 * 4,096 * 4,096 numbers of 2 bytes. Forward 38 bytes for each of 7 parts
// and 20 a number of the output, backward 52 for each of 8. At once those of 8 ranks, 3 gradients
// of twice the bytes, and output and gradients of queries, each in 32 bits as large as they.
TEST_CASE("PyTorch's context parallelism moves every head and merges in 32 bits") {
  const Architecture llama = shipped_model("llama-3-8b");
  CountKey key = key_of(1, 1, 32'768);
  key.context_degree = 8;
  const SectionCounts ring = count_layer(llama, LayerKind::kDense, key);
  CHECK(ring.forward.copies == 0.0);
  key.torch_collectives = true;
  const SectionCounts torch = count_layer(llama, LayerKind::kDense, key);
  const std::int64_t outputs = 4096 * 4096;
  CHECK(torch.ring == Bytes{2 * outputs * 2});
  CHECK(torch.ring == ring.ring * 4);
  CHECK(torch.exchanged == ring.exchanged);
  CHECK(torch.forward.copies == static_cast<double>(outputs) * (7 * 38 + 20));
  CHECK(torch.backward.copies == static_cast<double>(outputs) * 8 * 52);
  CHECK(torch.working_peak == ring.working_peak - ring.ring * 4 + torch.ring * 16);
  // Selective recompute keeps what attention made, full recompute merges once more.
  CHECK(count_recompute(llama, LayerKind::kDense, key, Recompute::kSelective).again.copies == 0.0);
  CHECK(count_recompute(llama, LayerKind::kDense, key, Recompute::kFull).again.copies ==
        torch.forward.copies);
}

// In 32 bits nothing is cast: 32 bytes for each of 7 parts and 16; backward 12 for queries, 2 (6 +
// 16) for keys and values. Gradients and outputs are as wide as keys and values: 8 + 4 times those.
TEST_CASE("PyTorch's context parallelism casts nothing in 32 bits") {
  const Architecture llama = shipped_model("llama-3-8b");
  CountKey key = key_of(1, 1, 32'768);
  key.element_bytes = 4;
  key.context_degree = 8;
  const SectionCounts ring = count_layer(llama, LayerKind::kDense, key);
  key.torch_collectives = true;
  const SectionCounts torch = count_layer(llama, LayerKind::kDense, key);
  const double outputs = 4096.0 * 4096;
  CHECK(torch.forward.copies == outputs * (7 * 32 + 16));
  CHECK(torch.backward.copies == outputs * 8 * 56);
  CHECK(torch.working_peak == ring.working_peak - ring.ring * 4 + torch.ring * 12);
}

// Layers of 64, 4 heads of 16, perceptrons of 256.
double unfused_of(const std::string& family, const std::string& more) {
  const Architecture model =
      model_of(R"({"architectures": [")" + family +
               R"("], "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
      "intermediate_size": 256, "max_position_embeddings": 128, "vocab_size": 256)" +
               more + "}");
  CountKey key = key_of(1, 1, 128);
  key.unfused = true;
  return count_layer(model, LayerKind::kDense, key).forward.unfused / 128;
}

// Of a token: 32 * 64 a norm, 16 * 128 for queries and keys, 4 * 256 for the gate.
TEST_CASE("norms and positions are those of the family") {
  CHECK(unfused_of("LlamaForCausalLM", "") == 2 * 2048 + 2048 + 1024);
  CHECK(unfused_of("LlamaForCausalLM", R"(, "partial_rotary_factor": 0.5)") ==
        2 * 2048 + 1024 + 1024);
  CHECK(unfused_of("Gemma2ForCausalLM", "") == 4 * 2048 + 2048 + 1024);
  // Those of 128 queries and keys.
  CHECK(unfused_of("Qwen3ForCausalLM", R"(, "head_dim": 16)") == 2 * 2048 + 4096 + 2048 + 1024);
  // Layer norms, with or without a bias.
  CHECK(unfused_of("CohereForCausalLM", "") == 2048 + 1024);
  CHECK(unfused_of("GPTNeoXForCausalLM", "") == 512);
  CHECK(unfused_of("GPTNeoXForCausalLM", R"(, "rotary_pct": 1.0)") == 2048);
  CHECK(unfused_of("BloomForCausalLM", "") == 0);
  CHECK(unfused_of("MPTForCausalLM", "") == 0);
  // Of an unknown family the name of epsilon tells.
  CHECK(unfused_of("NewForCausalLM", R"(, "hidden_act": "silu", "layer_norm_eps": 1e-5)") ==
        2048 + 1024);
  CHECK(unfused_of("NewForCausalLM", R"(, "hidden_act": "silu", "rms_norm_eps": 1e-5)") ==
        2 * 2048 + 2048 + 1024);
}

// GPT-2 has layer norms, which are one kernel, positions that are added once, and no gate.
TEST_CASE("a layer of GPT-2 has nothing that compiling would fuse") {
  const Architecture gpt = model_of(R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
      "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 128, "vocab_size": 256})");
  CountKey key = key_of(1, 1, 128);
  key.unfused = true;
  CHECK(count_layer(gpt, LayerKind::kDense, key).forward.unfused == 0.0);
}

// Both ways two gathers and two scatters of 8,192 tokens of 4,096 numbers, each read and written by
// a copy; none behind other work. Gathered inputs are kept: 2 x 7/8 of 4,096 numbers a token more.
TEST_CASE("PyTorch's tensor parallelism waits, copies and keeps what it gathered") {
  const Architecture llama = shipped_model("llama-3-8b");
  CountKey key = key_of(8, 1, 8192);
  key.sequence_parallel = true;
  const SectionCounts megatron = count_layer(llama, LayerKind::kDense, key);
  CHECK(megatron.forward.copies == 0.0);
  key.torch_collectives = true;
  const SectionCounts torch = count_layer(llama, LayerKind::kDense, key);
  CHECK(torch.forward.copies == 4.0 * 2 * 8192 * 4096 * 2);
  CHECK(torch.backward.copies == torch.forward.copies);
  CHECK(torch.stash == megatron.stash + Bytes{2 * 7 * 512 * 2 * 8192});
  REQUIRE(torch.traffic.size() == 2);
  for (const TensorTraffic& each : torch.traffic) {
    CHECK(each.forward == 2);
    CHECK(each.input_gradient == 2);
    CHECK(each.beside_input_gradient == 0);
    CHECK(each.beside_weight_gradient == 0);
  }
  // The embedding scatters once and gathers once; the head gathers and scatters.
  const SectionCounts embedding = count_embedding(llama, key);
  CHECK(embedding.forward.copies == 2.0 * 8192 * 4096 * 2);
  CHECK(embedding.backward.copies == embedding.forward.copies);
  const SectionCounts head = count_end(llama, EndKind::kNormAndHead, key);
  CHECK(head.forward.copies == embedding.forward.copies);
  CHECK(head.backward.copies == embedding.forward.copies);
  // What was gathered for the head, and its whole gradient, beside the logits' of 2 and 4 bytes.
  CHECK(head.working_peak == Bytes{2 * 8192 * 4096 * 2 + 8192 * 16'032 * (2 + 4)});
  // Whole tokens: two sums each way, nothing copied.
  key.sequence_parallel = false;
  const SectionCounts sums = count_layer(llama, LayerKind::kDense, key);
  CHECK(sums.forward.copies == 0.0);
  REQUIRE(sums.traffic.size() == 1);
  CHECK(sums.traffic[0].kind == CollectiveKind::kAllReduce);
  CHECK(sums.traffic[0].forward == 2);
  CHECK(sums.traffic[0].input_gradient == 2);
  CHECK(sums.traffic[0].beside_weight_gradient == 0);
  key.tensor_degree = 1;
  CHECK(count_layer(llama, LayerKind::kDense, key).forward.copies == 0.0);
  CHECK(count_embedding(llama, key).forward.copies == 0.0);
}
