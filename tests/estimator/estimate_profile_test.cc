#include "estimator/estimate_profile.h"

#include <algorithm>
#include <cstdlib>

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/json.h"
#include "core/values/term_names.h"
#include "estimator/default_cluster.h"
#include "estimator/shipped_data.h"
#include "tests/core/messages.h"
#include "tests/estimator/models.h"

using namespace penstock;
using tests::shipped_model;

namespace {

// 1e15 FLOP/s, 1e12 B/s and 1e11 B/s, so that times can be read off the counts.
DeviceSheet round_device() {
  DeviceSheet device;
  device.name = "round";
  device.generation = "none";
  device.sources = {{"sheet", Origin::kDatasheet, "made up", ""}};
  device.peaks = {{Arithmetic::kBFloat16, 1e15, 0}};
  device.memory = {80'000'000'000};
  device.memory_bandwidth = {1e12};
  device.node = {8, "link", {1e11}, 0};
  return device;
}

Efficiency half_of_everything() {
  Efficiency efficiency;
  efficiency.curves = {
      {"any", "half", false, {.products = 0.5, .memory = 0.5, .link = 0.5}, {0.2, 0.4}}};
  return efficiency;
}

const Measurement& measurement(const ModelProfile& profile, const std::string& type, int degree,
                               int samples, const std::string& recompute) {
  for (const SectionType& each : profile.section_types) {
    if (each.name != type) continue;
    for (const Measurement& m : each.measurements) {
      if (m.tensor_degree == degree && m.micro_batch_size == samples && m.recompute == recompute) {
        return m;
      }
    }
  }
  FAIL("no such measurement");
  return profile.section_types.front().measurements.front();
}

std::string refusal(const EstimateRequest& request, const std::string& model) {
  return tests::message_of([&] {
    static_cast<void>(
        estimate_profile(shipped_model(model), round_device(), half_of_everything(), request));
  });
}

}  // namespace

TEST_CASE(
    "a time is operations over half the peak and bytes over half the bandwidth, without links") {
  const Architecture llama = shipped_model("llama-3-8b");
  const EstimateRequest request{"", Arithmetic::kBFloat16, 8192, {}, 8};
  const Estimate estimate = estimate_profile(llama, round_device(), half_of_everything(), request);
  const SectionCounts counts = count_layer(llama, LayerKind::kDense,
                                           {2, 4, 8192, 2, AttentionKind::kFused,
                                            /*sequence_parallel=*/true});
  // 298, 319, 333 TFLOP/s of 989 at 2k, 4k and 8k tokens, nine tenths of it inside a step.
  const double scores = 333.0 / 989.0 * 0.9 * 1e15;
  const double seconds = counts.forward.product_flops() / 5e14 + counts.forward.scores / scores +
                         counts.forward.bytes / 5e11;
  const Measurement& layer = measurement(estimate.profile, "layer", 2, 4, "none");
  CHECK(layer.forward.median == round_up_to_ns(seconds));
  CHECK(layer.device == "round");
  CHECK(layer.stash == counts.stash);
  CHECK(estimate.profile.sections.size() == 34);
  CHECK(estimate.profile.tied_weights.empty());
  CHECK(estimate.error == ErrorBand{0.2, 0.4});
  CHECK(estimate.profile.sources[0].error == estimate.error);
}

// Counted on such a device: that figure alone. Counted elsewhere: no nearer than those there, nor
// than other runs here, below 0.2 and above 0.6; and it says that it is assumed.
TEST_CASE("another trainer has an interval of its own") {
  const Architecture llama = shipped_model("llama-3-8b");
  DeviceSheet device = round_device();
  Efficiency efficiency = half_of_everything();
  efficiency.curves.front().other_trainers = ErrorBand{0.1, 0.6};
  EfficiencyCurve own = efficiency.curves.front();
  own.generation = "counted";
  own.other_trainers = ErrorBand{0.05, 0.3};
  efficiency.curves.push_back(own);
  EstimateRequest request{"", Arithmetic::kBFloat16, 8192, {1}};
  request.sums_apart = true;
  const Estimate elsewhere = estimate_profile(llama, device, efficiency, request);
  CHECK(elsewhere.error == ErrorBand{0.2, 0.6});
  CHECK(elsewhere.basis == ErrorBasis::kAssumed);
  device.generation = "counted";
  const Estimate counted = estimate_profile(llama, device, efficiency, request);
  CHECK(counted.error == ErrorBand{0.05, 0.3});
  CHECK(counted.basis == ErrorBasis::kRuns);
  request.sums_apart = false;
  CHECK(estimate_profile(llama, device, efficiency, request).error == ErrorBand{0.2, 0.4});
}

// The interval is that of the curve of 8 bits; whether it was counted is said there.
TEST_CASE("8 bits have an interval that was counted, or that is assumed") {
  const Architecture llama = shipped_model("llama-3-8b");
  DeviceSheet device = round_device();
  device.generation = "counted";
  device.peaks.push_back({Arithmetic::kFloat8, 2e15, 0});
  Efficiency efficiency = half_of_everything();
  EfficiencyCurve own = efficiency.curves.front();
  own.generation = "counted";
  own.width = "float8";
  own.error = {0.06, 0.21};
  efficiency.curves.push_back(own);
  const EstimateRequest request{"", Arithmetic::kFloat8, 8192, {1}};
  const Estimate counted = estimate_profile(llama, device, efficiency, request);
  CHECK(counted.error == ErrorBand{0.06, 0.21});
  CHECK(counted.basis == ErrorBasis::kRuns);
  efficiency.curves.back().error_assumed = true;
  CHECK(estimate_profile(llama, device, efficiency, request).basis == ErrorBasis::kAssumed);
}

// 4 samples of 8192 tokens, 4096 wide, 2 bytes: 256 MiB in each of 2 gathers and 2 scatters
// forward; backward 6, of which 3 show and 3 run beside products.
TEST_CASE("collectives of tensor parallelism are given apart, as sequence parallelism makes them") {
  const Estimate estimate =
      estimate_profile(shipped_model("llama-3-8b"), round_device(), half_of_everything(),
                       {"", Arithmetic::kBFloat16, 8192, {}, 8});
  const Measurement& layer = measurement(estimate.profile, "layer", 2, 4, "none");
  REQUIRE(layer.tensor_traffic.size() == 2);
  const TensorTraffic& gather = layer.tensor_traffic[0];
  const TensorTraffic& scatter = layer.tensor_traffic[1];
  CHECK(gather == TensorTraffic{CollectiveKind::kAllGather, Bytes{256 << 20}, 2, 2, 0, 0, 2, 0});
  CHECK(scatter ==
        TensorTraffic{CollectiveKind::kReduceScatter, Bytes{256 << 20}, 2, 1, 0, 0, 0, 1});
  const Measurement& full = measurement(estimate.profile, "layer", 2, 4, "full");
  CHECK(full.tensor_traffic[0].recompute == 2);
  CHECK(full.tensor_traffic[1].recompute == 2);
  CHECK(measurement(estimate.profile, "layer", 1, 4, "none").tensor_traffic.empty());
  // Each rank hands on its own half of the tokens.
  CHECK(layer.boundary == Bytes{128 << 20});
  const Measurement& head = measurement(estimate.profile, "head", 2, 4, "full");
  REQUIRE(head.tensor_traffic.size() == 3);
  CHECK(head.tensor_traffic[2] ==
        TensorTraffic{CollectiveKind::kAllReduce, Bytes{4 * 4 * 8192}, 3, 0, 0, 0, 0, 0});
}

TEST_CASE("every time says that it was not measured") {
  const Estimate estimate =
      estimate_profile(shipped_model("deepseek-v2-lite"), round_device(), half_of_everything(),
                       {"", Arithmetic::kBFloat16, 4096, {}, 8});
  const ModelProfile& profile = estimate.profile;
  CHECK(profile.name == "DeepSeek-V2-Lite (estimated)");
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& m : type.measurements) {
      CHECK(profile.sources[static_cast<std::size_t>(m.time_source)].origin == Origin::kDatasheet);
    }
  }
  // One dense layer, then 26 with experts.
  CHECK(profile.section_types[static_cast<std::size_t>(profile.sections[1].type)].name ==
        "dense layer");
  CHECK(profile.section_types[static_cast<std::size_t>(profile.sections[2].type)].name ==
        "expert layer");
  // What is written is read again as it was.
  const std::string text = to_text(write_profile(profile));
  CHECK(read_profile(parse_json(text, "p.json"), "p.json") == profile);
}

TEST_CASE("full recompute keeps a layer's input and forwards once more") {
  const Estimate estimate =
      estimate_profile(shipped_model("gpt2"), round_device(), half_of_everything(),
                       {"", Arithmetic::kBFloat16, 1024, {}, 8});
  const Measurement& none = measurement(estimate.profile, "layer", 1, 2, "none");
  const Measurement& full = measurement(estimate.profile, "layer", 1, 2, "full");
  CHECK(full.stash == none.boundary);
  CHECK(full.recompute_time.median < none.forward.median);  // but for the last product
  CHECK(measurement(estimate.profile, "layer", 2, 2, "full").recompute_time ==
        measurement(estimate.profile, "layer", 2, 2, "none").forward);
  // While a layer works, what it kept of its own accord and what it computed again is there.
  CHECK(full.working_peak + full.stash == none.working_peak + none.stash);
  REQUIRE(estimate.profile.tied_weights.size() == 1);
  CHECK(estimate.profile.tied_weights[0].parameters[0].count == 50257 * 768);
  // 12 heads: T of 1, 2 and 4.
  CHECK(estimate.profile.tied_weights[0].parameters.size() == 3);
}

// 2 + 4 + 12 bytes.
TEST_CASE("training in mixed precision holds 18 bytes per parameter") {
  const Estimate estimate =
      estimate_profile(shipped_model("gpt2"), round_device(), half_of_everything(),
                       {"", Arithmetic::kBFloat16, 1024, {}, 1});
  const TrainingState& state = estimate.profile.training;
  CHECK(state.bytes_per_parameter.count + state.bytes_per_gradient.count +
            state.optimizer_bytes_per_parameter.count ==
        18);
}

TEST_CASE("the optimizer keeps what was said, also in 32 bits") {
  EstimateRequest request{"", Arithmetic::kBFloat16, 8192};
  request.optimizer_bytes = 10;
  const auto estimate = [&] {
    return estimate_profile(shipped_model("llama-3-8b"), round_device(), half_of_everything(),
                            request);
  };
  const ModelProfile profile = estimate().profile;
  CHECK(profile.training.optimizer_bytes_per_parameter == Bytes{10});
  CHECK(profile.sources[static_cast<std::size_t>(profile.training.source)].text.ends_with(
      "4 gradient, 10 optimizer"));

  request.arithmetic = Arithmetic::kFloat32;
  request.optimizer_bytes = 2;
  DeviceSheet device = round_device();
  device.peaks.push_back({Arithmetic::kFloat32, 1e14, 0});
  const ModelProfile wide =
      estimate_profile(shipped_model("llama-3-8b"), device, shipped_efficiency(), request).profile;
  CHECK(wide.training.optimizer_bytes_per_parameter == Bytes{2});
  CHECK(wide.sources[static_cast<std::size_t>(wide.training.source)].text.ends_with(
      "4 gradient, 2 optimizer"));
}

// 401,408 bytes a token of a layer forward, 8,192 tokens, at nine tenths of 1e12 bytes a second;
// in the backward twice as many, with full recompute once more.
TEST_CASE("eager kernels are a term of their own") {
  EstimateRequest request{"", Arithmetic::kBFloat16, 8192};
  const auto layer_of = [&](const std::string& recompute) {
    return measurement(
        estimate_profile(shipped_model("llama-3-8b"), round_device(), half_of_everything(), request)
            .profile,
        "layer", 1, 1, recompute);
  };
  const Measurement compiled = layer_of("full");
  request.eager_kernels = true;
  const Measurement eager = layer_of("full");
  const Duration once = round_up_to_ns(8192.0 * 401'408 / 0.9e12);
  const auto term = std::find_if(eager.terms.begin(), eager.terms.end(), [](const TimeTerm& each) {
    return each.name == "kernels that are not fused";
  });
  REQUIRE(term != eager.terms.end());
  CHECK(term->forward == once);
  CHECK(term->recompute == once);
  CHECK(term->backward == round_up_to_ns(2 * 8192.0 * 401'408 / 0.9e12));
  const Duration more = eager.forward.median - compiled.forward.median;
  CHECK(std::abs((more - once).count()) <= 1);
}

// Composer, which trains MPT, asks for BACKWARD_POST; others gather ahead.
TEST_CASE("a profile says whether its trainer gathers weights ahead in a backward") {
  const auto waits = [](const Architecture& model, std::optional<bool> ahead) {
    EstimateRequest request{"", Arithmetic::kBFloat16, 2048};
    request.gathers_ahead = ahead;
    const ModelProfile profile =
        estimate_profile(model, round_device(), half_of_everything(), request).profile;
    const std::vector<TimeTerm> terms = measurement(profile, "layer", 1, 1, "none").terms;
    return std::any_of(terms.begin(), terms.end(),
                       [](const TimeTerm& each) { return each.name == kGathersWaitedFor; });
  };
  const Architecture mpt = tests::model_of(R"({"architectures": ["MPTForCausalLM"],
      "model_type": "mpt", "n_layers": 2, "d_model": 512, "n_heads": 8, "max_seq_len": 2048,
      "vocab_size": 50368})");
  CHECK(waits(mpt, {}));
  CHECK_FALSE(waits(mpt, true));
  const Architecture llama = shipped_model("llama-3-8b");
  CHECK_FALSE(waits(llama, {}));
  CHECK(waits(llama, false));
}

// Compiled, PyTorch waits for what ranks that divide sequences send; one kernel after another, it
// attends meanwhile, as others do.
TEST_CASE("a profile says how PyTorch's ranks that divide sequences send") {
  const auto layer_of = [](bool torch, bool eager) {
    EstimateRequest request{"", Arithmetic::kBFloat16, 8192};
    request.context_degrees = {2};
    request.torch_collectives = torch;
    request.eager_kernels = eager;
    const ModelProfile profile =
        estimate_profile(shipped_model("llama-3-8b"), round_device(), half_of_everything(), request)
            .profile;
    const auto layer = static_cast<std::size_t>(profile.sections[1].type);
    const std::vector<Measurement>& all = profile.section_types[layer].measurements;
    const auto found = std::find_if(all.begin(), all.end(), [](const Measurement& m) {
      return m.context_degree == 2 && m.recompute == "full";
    });
    REQUIRE(found != all.end());
    REQUIRE(found->ring);
    return *found;
  };
  const auto passes_on = [](const Measurement& m) {
    return std::any_of(m.terms.begin(), m.terms.end(),
                       [](const TimeTerm& term) { return term.name == kGradientsPassedOn; });
  };
  const Measurement others = layer_of(false, false);
  CHECK_FALSE(passes_on(others));
  CHECK(others.ring->beside_forward > Duration{});
  const Measurement compiled = layer_of(true, false);
  CHECK(passes_on(compiled));
  CHECK(compiled.ring->beside_forward == Duration{});
  CHECK(compiled.ring->beside_backward == Duration{});
  CHECK(compiled.ring->beside_recompute == Duration{});
  const Measurement eager = layer_of(true, true);
  CHECK(passes_on(eager));
  CHECK(eager.ring->beside_forward == others.ring->beside_forward);
  CHECK(eager.ring->beside_recompute == others.ring->beside_recompute);
}

TEST_CASE("what cannot be estimated is refused with a remedy") {
  CHECK(refusal({"", Arithmetic::kFloat16, 1024, {}, 1}, "gpt2") ==
        "the datasheet of round has no rate for float16\nhelp: write --precision bfloat16");
  CHECK(refusal({"", Arithmetic::kBFloat16, 2048, {}, 1}, "gpt2")
            .starts_with("GPT-2: a sequence of 2048 tokens, but the model has 1024 learned"));
  CHECK(refusal({"", Arithmetic::kBFloat16, 0, {}, 1}, "llama-3-8b")
            .find("help: give --sequence-length") != std::string::npos);
}

TEST_CASE("the default cluster has whole nodes, or one smaller node") {
  const ClusterSpec large = default_cluster(round_device(), 20);
  CHECK(device_count(large) == 24);
  REQUIRE(large.levels.size() == 2);
  CHECK(large.levels[0].bandwidth.value == 0.81 * 1e11);
  CHECK(large.levels[0].devices == 8);
  CHECK(large.levels[1].bandwidth.value == 0.93 * 50e9);  // the sheet has no network
  CHECK(large.levels[1].devices == 0);
  CHECK(large.sources[2].origin == Origin::kAssumed);
  DeviceSheet sheet = round_device();
  sheet.network = NodeNetwork{{25e9}, 0};
  const ClusterSpec slower = default_cluster(sheet, 20);
  CHECK(slower.levels[1].bandwidth.value == 0.93 * 25e9);
  CHECK(slower.sources[2].text.starts_with("made up; 93 % of it"));
  const ClusterSpec small = default_cluster(round_device(), 4);
  CHECK(device_count(small) == 4);
  CHECK(small.levels.size() == 1);
  const std::string text = to_text(write_cluster(large));
  CHECK(read_cluster(parse_json(text, "c.json"), "c.json") == large);
}

TEST_CASE("shipped datasheets are read, and no name stands for two devices") {
  const std::vector<DeviceSheet> devices = shipped_devices();
  CHECK(devices.size() >= 15);
  for (const DeviceSheet& device : devices) {
    CHECK(device.network.has_value());
    CHECK(std::count_if(devices.begin(), devices.end(), [&](const DeviceSheet& other) {
            return other.is_called(device.name);
          }) == 1);
    for (const std::string& alias : device.aliases) {
      CHECK(std::count_if(devices.begin(), devices.end(),
                          [&](const DeviceSheet& other) { return other.is_called(alias); }) == 1);
    }
  }
}

TEST_CASE("a generation with a curve of its own is priced by it, others by that of any") {
  const Efficiency efficiency = shipped_efficiency();
  DeviceSheet device = round_device();
  CHECK(curve_for(efficiency, device, Arithmetic::kBFloat16).generation == "any");
  device.generation = "hopper";
  CHECK(curve_for(efficiency, device, Arithmetic::kBFloat16).generation == "hopper");
  // Measured in full float32 only.
  device.generation = "volta";
  CHECK(curve_for(efficiency, device, Arithmetic::kFloat32).generation == "volta");
  CHECK(curve_for(efficiency, device, Arithmetic::kFloat16).generation == "any");
  const std::string text = to_text(write_efficiency(efficiency));
  CHECK(read_efficiency(parse_json(text, "e.json"), "e.json") == efficiency);
}
