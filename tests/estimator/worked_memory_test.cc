// Worked numbers of the memory of a rank, to the digits that they were worked out to on paper: of
// GPT-3 175B by the equations of arXiv 2205.05198, of Llama 3, DeepSeek-V3 and Qwen3 by
// docs/estimates.md.
#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

#include "estimator/count_operations.h"
#include "estimator/count_recompute.h"
#include "tests/estimator/models.h"

using namespace penstock;
using tests::shipped_model;

namespace {

constexpr auto kLayer = LayerKind::kDense;

CountKey key_of(int degree, int context, int length, bool divides_sequences) {
  CountKey key{degree, 1, length, 2, AttentionKind::kFused, divides_sequences};
  key.context_degree = context;
  return key;
}

double gib(double bytes) { return bytes / 0x1p30; }
double gib(Bytes bytes) { return gib(static_cast<double>(bytes.count)); }
double mib(Bytes bytes) { return static_cast<double>(bytes.count) / 0x1p20; }
// To as many decimals as the paper has.
double rounded(double value, int decimals) {
  const double tens = std::pow(10.0, decimals);
  return std::round(value * tens) / tens;
}

}  // namespace

// u = s b h. Per layer u (34 + 5 a s / h), of which two masks of dropout of u bytes are not
// counted here, since nobody trains these models with it; T = 8: u (10 + 24 / T + 5 a s / (h T)),
// the masks not divided; with sequence parallelism everything is; selective recompute leaves
// 34 u / T, full recompute 2 u, or 2 u / T kept divided.
TEST_CASE("GPT-3 175B, T = 8: 2.672, 0.539, 0.334, 0.0996, 0.0469 and 0.0059 GiB a layer") {
  const Architecture gpt = shipped_model("gpt-3-175b");
  const double masks = 2.0 * 2048 * 12288;
  const auto of = [&](int degree, bool divided) {
    CountKey key = key_of(degree, 1, 2048, divided);
    key.attention = AttentionKind::kKept;
    return key;
  };
  const auto kept = [&](const CountKey& key) {
    return static_cast<double>(count_layer(gpt, kLayer, key).stash.count);
  };
  CHECK(rounded(gib(kept(of(1, false)) + masks), 3) == 2.672);
  CHECK(rounded(gib(kept(of(8, false)) + masks), 3) == 0.539);
  CHECK(rounded(gib(kept(of(8, true)) + masks / 8), 3) == 0.334);
  const auto again = [&](const CountKey& key, Recompute mode) {
    return static_cast<double>(count_recompute(gpt, kLayer, key, mode).stash.count);
  };
  const double selective = again(of(8, true), Recompute::kSelective);
  CHECK(rounded(gib(selective + masks / 8), 4) == 0.0996);
  CHECK(rounded(gib(again(of(8, false), Recompute::kFull)), 4) == 0.0469);
  CHECK(rounded(gib(again(of(8, true), Recompute::kFull)), 4) == 0.0059);
}

TEST_CASE("a layer of Llama-3-70B: 2.096 GiB; over T 4 and C 2 268.25, 460.25 or 16 MiB") {
  const Architecture llama = shipped_model("llama-3-70b");
  CHECK(rounded(gib(count_layer(llama, kLayer, key_of(1, 1, 8192, false)).stash), 3) == 2.096);
  const CountKey divided = key_of(4, 2, 8192, true);
  CHECK(mib(count_layer(llama, kLayer, divided).stash) == 268.25);
  CHECK(mib(count_layer(llama, kLayer, key_of(4, 2, 8192, false)).stash) == 460.25);
  CHECK(mib(count_recompute(llama, kLayer, divided, Recompute::kFull).stash) == 16.0);
}

TEST_CASE("a layer of Llama-3-8B keeps 1.0635 GiB of 8,192 tokens, all of them 34.03") {
  const Architecture llama = shipped_model("llama-3-8b");
  const Bytes layer = count_layer(llama, kLayer, key_of(1, 1, 8192, false)).stash;
  CHECK(rounded(gib(layer), 4) == 1.0635);
  CHECK(rounded(gib(layer * 32), 2) == 34.03);
}

// Latent attention: 2 n (u + r) queries and keys, 2 n v values and the output of attention, and
// the narrow q, c and r: 2 * 128 * 192 + 2 * 128 * 128 + 1536 + 512 + 64 = 84,032 elements. The
// dense layers have 4 h and 3 * 18,432 besides, and 4 bytes for each head's row.
TEST_CASE("attention of DeepSeek-V3 keeps 84,032 elements a token, 168,064 bytes") {
  const Architecture deepseek = shipped_model("deepseek-v3");
  const std::int64_t layer = count_layer(deepseek, kLayer, key_of(1, 1, 1, false)).stash.count;
  const std::int64_t rest = 2 * (4 * 7168 + 3 * 18432) + 4 * 128;
  CHECK(layer - rest == 168'064);
  CHECK((layer - rest) / 2 == 84'032);
}

// 2 K (2 h + 3 f) of K = 8 experts, h = 2048 and f = 768; the rest is that of a layer without them:
// 2 (3 h + (n + 2 k) d + n d) + 4 n, n = 32, k = 4, d = 128.
TEST_CASE("experts of Qwen3-30B keep 102,400 bytes a token") {
  const Architecture qwen = shipped_model("qwen3-30b");
  const std::int64_t layer =
      count_layer(qwen, LayerKind::kExperts, key_of(1, 1, 1, false)).stash.count;
  const std::int64_t rest = 2 * (3 * 2048 + 40 * 128 + 32 * 128) + 4 * 32;
  CHECK(layer - rest == 102'400);
}

// Of 8,192 tokens and 128,256 words in 16 and in 32 bits. While an eager loss works there are the
// logits in both and the gradients of both, 12 bytes; the head here, whose loss is one kernel,
// counts 10: 4 kept and 6 while the loss works. With T = 4 and C = 2, an eighth.
TEST_CASE(
    "logits: 1.957 and 3.914 GiB, 11.74 with an eager loss; over T 4 and C 2 0.245 and 0.489") {
  const double logits = 8192.0 * 128256;
  CHECK(rounded(gib(2 * logits), 3) == 1.957);
  CHECK(rounded(gib(4 * logits), 3) == 3.914);
  CHECK(rounded(gib(12 * logits), 2) == 11.74);
  CHECK(rounded(gib(2 * logits / 8), 3) == 0.245);
  CHECK(rounded(gib(4 * logits / 8), 3) == 0.489);
  const Architecture llama = shipped_model("llama-3-8b");
  const SectionCounts head = count_end(llama, EndKind::kNormAndHead, key_of(1, 1, 8192, false));
  const double inputs = 2.0 * 2 * 8192 * 4096;  // of the norm and of the product
  CHECK(static_cast<double>(head.stash.count) == inputs + 4 * logits);
  CHECK(static_cast<double>(head.working_peak.count) == 6 * logits);
  const SectionCounts part = count_end(llama, EndKind::kNormAndHead, key_of(4, 2, 8192, false));
  CHECK(static_cast<double>(part.stash.count) == inputs / 2 + 4 * logits / 8);
}
