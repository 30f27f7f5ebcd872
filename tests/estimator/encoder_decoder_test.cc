#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/json.h"
#include "estimator/count_encoder_decoder.h"
#include "estimator/estimate_encoder_decoder.h"
#include "estimator/shipped_data.h"
#include "tests/core/messages.h"

using namespace penstock;

namespace {

EncoderDecoder read(const std::string& text) {
  return read_encoder_decoder(parse_json(text, "config.json"), "config.json");
}

std::string config(int d_model, int d_kv, int heads, int d_ff, int layers,
                   const std::string& more = "") {
  return R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": )" +
         std::to_string(d_model) + ", \"d_kv\": " + std::to_string(d_kv) +
         ", \"num_heads\": " + std::to_string(heads) + ", \"d_ff\": " + std::to_string(d_ff) +
         ", \"num_layers\": " + std::to_string(layers) + ", \"vocab_size\": 32128, " +
         R"("relative_attention_num_buckets": 32, "n_positions": 512)" + more + "}";
}

const std::string kGated = R"(, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false)";

DeviceSheet a100() {
  for (DeviceSheet& sheet : shipped_devices()) {
    if (sheet.name == "a100-sxm-40gb") return sheet;
  }
  FAIL("no such datasheet");
  return {};
}

}  // namespace

// Sizes of the checkpoints on the Hugging Face Hub (num_parameters() of transformers).
TEST_CASE("T5 and Flan-T5 have their published numbers of parameters") {
  CHECK(parameter_count(read(config(512, 64, 8, 2048, 6))) == 60'506'624);            // t5-small
  CHECK(parameter_count(read(config(768, 64, 12, 3072, 12))) == 222'903'552);         // t5-base
  CHECK(parameter_count(read(config(1024, 64, 16, 4096, 24))) == 737'668'096);        // t5-large
  CHECK(parameter_count(read(config(1024, 128, 32, 16384, 24))) == 2'851'598'336);    // t5-3b
  CHECK(parameter_count(read(config(1024, 128, 128, 65536, 24))) == 11'307'321'344);  // t5-11b
  CHECK(parameter_count(read(config(512, 64, 6, 1024, 8, kGated))) == 76'961'152);    // flan-small
  CHECK(parameter_count(read(config(768, 64, 12, 2048, 12, kGated))) == 247'577'856);
  CHECK(parameter_count(read(config(1024, 64, 16, 2816, 24, kGated))) == 783'150'080);
  CHECK(parameter_count(read(config(2048, 64, 32, 5120, 24, kGated))) == 2'849'757'184);
  CHECK(parameter_count(read(config(4096, 64, 64, 10240, 24, kGated))) == 11'135'332'352);
}

TEST_CASE("what is no T5 is another reader's, and what lacks a size is refused") {
  CHECK(is_encoder_decoder(parse_json(config(512, 64, 8, 2048, 6), "c")));
  CHECK(
      is_encoder_decoder(parse_json(R"({"architectures": ["T5ForConditionalGeneration"]})", "c")));
  CHECK_FALSE(is_encoder_decoder(parse_json(R"({"model_type": "llama"})", "c")));
  CHECK_FALSE(is_encoder_decoder(parse_json(R"({"model_type": "bart"})", "c")));
  const std::string message = tests::refusal_of(
      [] { (void)read(R"({"model_type": "t5", "d_model": 512, "num_layers": 6})"); });
  CHECK(message.find("config.json:1") == 0);
  CHECK(message.find("num_heads") != std::string::npos);
}

TEST_CASE("a decoder may have other layers than the encoder, and unknown fields are listed") {
  const EncoderDecoder model =
      read(config(512, 64, 8, 2048, 6, R"(, "num_decoder_layers": 2, "unheard_of": 1)"));
  CHECK(model.encoder.layers == 6);
  CHECK(model.decoder.layers == 2);
  CHECK_FALSE(model.encoder.causal);
  CHECK(model.decoder.causal);
  CHECK(model.encoder.not_read == std::vector<std::string>{"unheard_of"});
}

TEST_CASE("cross attention follows both lengths") {
  // h = 8, one head of width 8: of one sample with 3 tokens in the decoder and 5 in the encoder the
  // queries and the output take 2 x (2 x 3 x 8 x 8) operations, keys and values 2 x 5 x 16 x 8, and
  // the scores with their sums 2 x (2 x 3 x 5 x 8).
  const EncoderDecoder model = read(config(8, 8, 1, 16, 1));
  CountKey key;
  PairKey pair{key, key};
  pair.encoder.sequence_length = 5;
  pair.decoder.sequence_length = 3;
  const SectionCounts both = count_decoder_layer(model, pair);
  const SectionCounts own = count_layer(model.decoder, LayerKind::kDense, pair.decoder);
  CHECK(both.forward.product_flops() - own.forward.product_flops() == 2 * 384.0 + 1280.0);
  CHECK(both.forward.scores - own.forward.scores == 480.0);
  CHECK(both.backward.product_flops() - own.backward.product_flops() == 2 * (2 * 384.0 + 1280.0));
  CHECK(both.parameters - own.parameters == 4 * 8 * 8);
  // The boundary holds 3 tokens of the decoder and 5 of the encoder, of 8 numbers of 2 bytes.
  CHECK(both.boundary == Bytes{(3 + 5) * 8 * 2});
  CHECK(count_decoder_embedding(model, pair).boundary == Bytes{(3 + 5) * 8 * 2});
}

// 8 wide, one head of width 8, inner width 16: 4 matrices of attention and 2 of the perceptron; 4
// more of attention to the encoder's output.
TEST_CASE("each micro-batch adds its gradients to those before, cross attention's included") {
  const EncoderDecoder model = read(config(8, 8, 1, 16, 1));
  CountKey key;
  key.gradient_bytes = 4;
  const PairKey pair{key, key};
  const auto summed = [](const Work& work) {
    double bytes = work.sums;
    for (const Product& product : work.products) bytes += product.summed;
    return bytes;
  };
  const double decoder = 8.0 * (8 * 8 * 8 + 2 * 8 * 16), encoder = 8.0 * (4 * 8 * 8 + 2 * 8 * 16);
  const SectionCounts within = count_decoder_layer(model, pair);
  CHECK(within.backward.sums == 0.0);
  CHECK(summed(within.backward) == decoder);
  CHECK(summed(count_layer(model.encoder, LayerKind::kDense, key).backward) == encoder);
  key.sums_apart = true;
  CHECK(count_decoder_layer(model, PairKey{key, key}).backward.sums == decoder);
  CHECK(count_layer(model.encoder, LayerKind::kDense, key).backward.sums == encoder);
}

TEST_CASE("sections of the encoder have rows by its length, those of the decoder by both") {
  const EncoderDecoder model = read(config(512, 64, 8, 2048, 2));
  const Estimate estimate = estimate_encoder_decoder(model, a100(), shipped_efficiency(),
                                                     EstimateRequest{}, {{16, 32}, {16, 24}, 64});
  const ModelProfile& profile = estimate.profile;
  std::vector<std::string> names;
  for (const Section& section : profile.sections) names.push_back(section.name);
  CHECK(names == std::vector<std::string>{"encoder embedding", "encoder.0", "encoder.1",
                                          "encoder norm", "decoder embedding", "decoder.0",
                                          "decoder.1", "head"});
  const SectionType& encoder = profile.section_types[1];
  const SectionType& decoder = profile.section_types[4];
  CHECK(encoder.name == "encoder layer");
  CHECK(decoder.name == "decoder layer");
  // 64 tokens: 1, 2 and 4 samples of 16, 1 and 2 of 32, in three recompute modes.
  CHECK(encoder.measurements.size() == 3 * 5);
  for (const Measurement& m : encoder.measurements) CHECK(m.decoder_length == 0);
  // (16, 16): 1, 2; (32, 16): 1; (16, 24): 1; (32, 24): 1.
  CHECK(decoder.measurements.size() == 3 * 5);
  for (const Measurement& m : decoder.measurements) CHECK(m.decoder_length > 0);
  CHECK(profile.tied_weights.front().sections.size() == 3);
}

// Six runs had an encoder: a curve that is near for others is not taken to be near for these.
TEST_CASE("intervals of encoder-decoders are assumed, and wider for other trainers") {
  const EncoderDecoder model = read(config(512, 64, 8, 2048, 2));
  Efficiency efficiency = shipped_efficiency();
  for (EfficiencyCurve& curve : efficiency.curves) {
    const bool own = curve.generation == "ampere" && curve.width == "half";
    if (own) curve.error = {0.08, 0.09};
    if (own) curve.other_trainers = ErrorBand{0.3, 0.6};
  }
  EstimateRequest request;
  const auto estimate = [&] {
    return estimate_encoder_decoder(model, a100(), efficiency, request, {{16}, {16}, 32});
  };
  CHECK(estimate().error == ErrorBand{0.21, 0.55});
  CHECK(estimate().basis == ErrorBasis::kAssumed);
  CHECK(estimate().profile.sources.front().error == ErrorBand{0.21, 0.55});
  request.sums_apart = true;  // --for pytorch
  CHECK(estimate().error == ErrorBand{0.3, 0.6});
  CHECK(estimate().profile.sources.front().error == ErrorBand{0.3, 0.6});
}

// In place a logit keeps 2 bytes instead of 4.
TEST_CASE("the optimizer and the loss of an encoder-decoder are those that were asked for") {
  const EncoderDecoder model = read(config(512, 64, 8, 2048, 2));
  EstimateRequest request;
  const auto profile = [&] {
    return estimate_encoder_decoder(model, a100(), shipped_efficiency(), request, {{16}, {16}, 32})
        .profile;
  };
  const auto head = [](const ModelProfile& of) { return of.section_types.back().measurements[0]; };
  const ModelProfile usual = profile();
  CHECK(usual.training.optimizer_bytes_per_parameter == Bytes{12});
  request.optimizer_bytes = 10;
  request.loss = LossKind::kInPlace;
  const ModelProfile asked = profile();
  CHECK(asked.training.optimizer_bytes_per_parameter == Bytes{10});
  const std::int64_t logits = std::int64_t{16} * model.decoder.vocabulary;
  CHECK(head(usual).stash - head(asked).stash == Bytes{2 * logits});
}
