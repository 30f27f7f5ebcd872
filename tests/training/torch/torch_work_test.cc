#include "training/torch/torch_work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/training/torch/tiny_models.h"
#include "training/torch/cpu_device.h"

namespace penstock {
namespace {

using testing::distance;
using testing::one_rank;
using testing::reference_training;
using testing::ReferenceRun;
using testing::tiny_data;
using testing::tiny_model;
using testing::WeightComparison;

enum class Backward { kFused, kSplit };

// What a rank does that has the pipeline to itself: all forwards, all backwards, the tail.
class OneRank {
 public:
  OneRank(const RankSetup& setup, Device& device, const ByteData& data)
      : setup_(setup), work_(setup, device, data, /*bucket_bytes=*/4096) {}

  TorchWork& work() { return work_; }
  NormShare step(std::int64_t number, Backward backward) {
    work_.begin_step(number);
    const int micro_batches = static_cast<int>(setup_.micro_batches.size());
    const int stages = static_cast<int>(setup_.stages.size());
    for (int m = 0; m < micro_batches; ++m) {
      for (int s = 0; s < stages; ++s) {
        work_.compute(ActionKind::kForward, s, m);
        if (s + 1 < stages) work_.hand_on_activation(s, m);
      }
    }
    for (int m = 0; m < micro_batches; ++m) {
      for (int s = stages - 1; s >= 0; --s) {
        if (setup_.recompute) work_.compute(ActionKind::kRecompute, s, m);
        work_.compute(
            backward == Backward::kFused ? ActionKind::kFusedBackward : ActionKind::kInputGradient,
            s, m);
        if (s > 0) work_.hand_on_gradient(s, m);
      }
    }
    for (int m = 0; m < micro_batches && backward == Backward::kSplit; ++m) {
      for (int s = 0; s < stages; ++s) work_.compute(ActionKind::kWeightGradient, s, m);
    }
    for (std::size_t tie = 0; tie < setup_.ties.size(); ++tie) {
      const auto t = static_cast<int>(tie);
      work_.add_tied_gradient(t, stages - 1, 0);
      work_.copy_tied_gradient(t, 0, stages - 1);
    }
    const NormShare share = work_.norm_share();
    work_.set_global_norm(share);
    for (int s = 0; s < stages; ++s) work_.optimize(s);
    return share;
  }

 private:
  RankSetup setup_;
  TorchWork work_;
};

struct Distances {
  double losses = 0.0, norms = 0.0, weights = 0.0;
};
Distances against_reference(const RankSetup& setup, Backward backward, int steps = 20) {
  at::set_num_threads(1);
  const ByteData data = tiny_data();
  const ReferenceRun expected = reference_training(setup, data, steps);
  CHECK(expected.losses.back() < expected.losses.front());
  const auto device = make_cpu_device();
  OneRank rank(setup, *device, data);
  std::vector<double> losses, norms;
  for (int step = 0; step < steps; ++step) {
    const NormShare share = rank.step(step, backward);
    losses.push_back(share.loss);
    norms.push_back(std::sqrt(share.squared_norm));
  }
  WeightComparison weights(expected);
  weights.add(setup.model, rank.work().state().section_states());
  CHECK(rank.work().not_split().empty());
  return {distance(losses, expected.losses), distance(norms, expected.gradient_norms),
          weights.worst()};
}

void check_close(const Distances& distances, double tolerance) {
  CHECK(distances.losses <= tolerance);
  CHECK(distances.norms <= tolerance);
  CHECK(distances.weights <= tolerance);
}

TEST_CASE("one rank trains a GPT as a plain loop over the whole batch does") {
  for (const int stages : {1, 3}) {
    for (const Backward backward : {Backward::kFused, Backward::kSplit}) {
      CAPTURE(stages);
      CAPTURE(static_cast<int>(backward));
      check_close(against_reference(one_rank(tiny_model(), stages, {2, 2, 1}), backward), 1e-10);
    }
  }
}

TEST_CASE("tied weights, weight decay and clipping: as torch::optim and clip_grad_norm_ have it") {
  for (const int stages : {1, 4}) {
    RankSetup setup = one_rank(
        [] {
          ModelDescription model = tiny_model();
          model.tied_embedding = true;
          return model;
        }(),
        stages, {2, 3});
    setup.options.weight_decay = 0.1;
    setup.options.clip_norm = 0.5;
    CAPTURE(stages);
    check_close(against_reference(setup, Backward::kSplit), 1e-10);
  }
}

TEST_CASE("SGD with momentum, and without") {
  RankSetup setup = one_rank(tiny_model(), 2, {3, 2});
  setup.model.optimizer = OptimizerKind::kSgd;
  setup.options.learning_rate = 0.1;
  check_close(against_reference(setup, Backward::kFused), 1e-10);
  setup.options.momentum = 0.9;
  setup.options.weight_decay = 0.01;
  check_close(against_reference(setup, Backward::kFused), 1e-10);
}

TEST_CASE("recomputing changes nothing") {
  RankSetup setup = one_rank(tiny_model(), 2, {2, 2});
  setup.recompute = true;
  check_close(against_reference(setup, Backward::kFused), 1e-10);
  check_close(against_reference(setup, Backward::kSplit), 1e-10);
}

TEST_CASE("BERT predicts masked tokens, MLP the next one") {
  check_close(
      against_reference(one_rank(tiny_model(ModelFamily::kBert), 2, {4, 3}), Backward::kSplit),
      1e-10);
  check_close(
      against_reference(one_rank(tiny_model(ModelFamily::kMlp), 2, {2, 2}), Backward::kSplit),
      1e-10);
}

TEST_CASE("single precision is close, bf16 learns and stays finite") {
  RankSetup single = one_rank(tiny_model(ModelFamily::kGpt, Precision::kFloat32), 2, {2, 2});
  // Attention's key biases have no gradient but what rounding leaves; AdamW would divide that by
  // itself.
  single.options.epsilon = 1e-5;
  check_close(against_reference(single, Backward::kSplit), 1e-4);
  const ByteData data = tiny_data();
  const auto device = make_cpu_device();
  OneRank rank(one_rank(tiny_model(ModelFamily::kGpt, Precision::kBFloat16), 2, {2, 2}), *device,
               data);
  const RankSetup precise = one_rank(tiny_model(ModelFamily::kGpt, Precision::kFloat32), 2, {2, 2});
  const ReferenceRun expected = reference_training(precise, data, 20);
  for (std::size_t step = 0; step < 20; ++step) {
    const NormShare share = rank.step(static_cast<std::int64_t>(step), Backward::kSplit);
    CHECK(share.loss == doctest::Approx(expected.losses[step]).epsilon(0.02));
  }
}

TEST_CASE("a gradient that is not finite ends the run with a word of advice") {
  const ByteData data = tiny_data();
  const auto device = make_cpu_device();
  OneRank rank(one_rank(tiny_model(), 1, {2}), *device, data);
  rank.work().begin_step(7);
  NormShare share;
  share.not_finite = 1.0;
  CHECK_THROWS_WITH_AS(rank.work().set_global_norm(share),
                       doctest::Contains("step 7: a gradient is infinite or not a number"), Error);
}

TEST_CASE("what cannot be trained is refused before anything is built") {
  const ByteData data = tiny_data();
  const auto device = make_cpu_device();
  RankSetup setup = one_rank(tiny_model(ModelFamily::kGpt, Precision::kFloat16), 1, {2});
  CHECK_THROWS_WITH_AS(TorchWork(setup, *device, data),
                       "float16 is for GPUs; on a CPU train in bfloat16 or float32", Error);
  setup = one_rank(tiny_model(), 1, {2});
  setup.sequence_length = 17;
  CHECK_THROWS_WITH_AS(TorchWork(setup, *device, data),
                       doctest::Contains("sequence length 17 is beyond the model's 16 positions"),
                       Error);
}

// A CPU that says it is a GPU: fp16 gets as far as LibTorch's CPU kernels allow.
class WouldBeGpu : public Device {
 public:
  std::string name() const override { return "cpu"; }
  bool is_gpu() const override { return true; }
  void* stream() const override { return nullptr; }
  void synchronize() override {}
  std::unique_ptr<Stopwatch> stopwatch() override { return nullptr; }
  Bytes held_memory() override { return {}; }
  Bytes peak_memory() override { return {}; }
  void reset_peak_memory() override {}
};

TEST_CASE(
    "fp16: gradients are taken back to scale, an overflow skips the step and halves the scale") {
  const ByteData data = tiny_data();
  WouldBeGpu device;
  RankSetup setup = one_rank(tiny_model(ModelFamily::kGpt, Precision::kFloat16), 1, {2});
  setup.model.optimizer = OptimizerKind::kSgd;
  setup.options.learning_rate = 0.5;
  TorchWork work(setup, device, data);
  const auto number = [&](std::size_t i) { return work.state().shared_numbers().at(i).second; };
  REQUIRE(work.state().shared_numbers().size() == 3);
  CHECK(number(1) == 65536.0);
  const StatePiece weight = work.state().section_states()[0].optimizer.at(0);  // fp32
  REQUIRE(weight.buffer.type == ElementType::kFloat32);
  const auto value = [&] { return *reinterpret_cast<const float*>(weight.buffer.data); };
  const float before = value();

  work.begin_step(0);
  auto* gradient = reinterpret_cast<float*>(work.gradients(0)[0].data);
  gradient[0] = 3.0F * 65536.0F;
  NormShare share = work.norm_share();
  CHECK(share.squared_norm == 9.0);
  CHECK(share.not_finite == 0.0);
  gradient[0] = std::numeric_limits<float>::infinity();
  share = work.norm_share();
  CHECK(share.not_finite == 1.0);
  work.set_global_norm(share);
  work.optimize(0);
  CHECK(value() == before);
  CHECK(number(0) == 0.0);  // no step was taken
  CHECK(number(1) == 32768.0);

  work.begin_step(1);
  gradient[0] = 0.25F * 32768.0F;
  work.set_global_norm(work.norm_share());
  work.optimize(0);
  CHECK(value() == before - 0.125F);
  CHECK(number(0) == 1.0);
}

TEST_CASE("warming up changes nothing of what is trained") {
  const ByteData data = tiny_data();
  WouldBeGpu device;
  const auto losses = [&](bool warm, Backward backward) {
    RankSetup setup = one_rank(tiny_model(), 3, {2, 2, 1});
    setup.options.clip_norm = 0.5;
    OneRank rank(setup, device, data);
    std::vector<double> numbers;
    for (int step = 0; step < 4; ++step) {
      // Also under way: a run that goes on under another plan warms up again.
      if (warm && step % 2 == 0) rank.work().warm_up();
      const NormShare share = rank.step(step, backward);
      numbers.push_back(share.loss);
      numbers.push_back(share.squared_norm);
    }
    return numbers;
  };
  for (const Backward backward : {Backward::kFused, Backward::kSplit}) {
    CHECK(losses(true, backward) == losses(false, backward));
  }
}

TEST_CASE("ZeRO-1: the holders' moments are each a part, and together all there are, once") {
  const ByteData data = tiny_data();
  const auto device = make_cpu_device();
  std::map<std::string, std::vector<int>> held;  // by section and name: how often each element is
  for (const int holder : {0, 1, 2}) {
    RankSetup setup = one_rank(tiny_model(), 1, {3});
    setup.zero1 = true;
    setup.stages[0].holders = 3;
    setup.stages[0].holder = holder;
    TorchWork work(setup, *device, data, /*bucket_bytes=*/4096);
    for (const SectionState& section : work.state().section_states()) {
      for (const StatePiece& piece : section.optimizer) {
        CHECK(piece.only_here);
        CHECK(piece.buffer.elements == piece.end - piece.begin);
        std::size_t elements = 1;
        for (const std::int64_t size : piece.shape) elements *= static_cast<std::size_t>(size);
        auto& counts = held[std::to_string(section.section) + "." + piece.name];
        counts.resize(elements);
        for (std::size_t i = piece.begin; i < piece.end; ++i) ++counts.at(i);
      }
      for (const StatePiece& piece : section.parameters) CHECK_FALSE(piece.only_here);
    }
  }
  CHECK(held.size() == 2 * (2 + 6 * 12 + 3));
  for (const auto& [name, counts] : held) {
    CAPTURE(name);
    CHECK(std::count(counts.begin(), counts.end(), 1) ==
          static_cast<std::ptrdiff_t>(counts.size()));
  }
}

TEST_CASE("what a rank holds is read back under another layout, and training goes on the same") {
  const ByteData data = tiny_data();
  const auto device = make_cpu_device();
  const RankSetup one = one_rank(tiny_model(), 1, {2, 2}), three = one_rank(tiny_model(), 3, {4});
  OneRank from(one, *device, data);
  for (int step = 0; step < 3; ++step) from.step(step, Backward::kFused);
  OneRank to(three, *device, data);
  const auto source = from.work().state().section_states(),
             target = to.work().state().section_states();
  REQUIRE(source.size() == target.size());
  const auto copy = [](const std::vector<StatePiece>& a, const std::vector<StatePiece>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(a[i].name == b[i].name);
      CHECK(a[i].shape == b[i].shape);
      REQUIRE(a[i].buffer.bytes() == b[i].buffer.bytes());
      std::copy_n(a[i].buffer.data, a[i].buffer.bytes(), b[i].buffer.data);
    }
  };
  for (std::size_t s = 0; s < source.size(); ++s) {
    copy(source[s].parameters, target[s].parameters);
    copy(source[s].optimizer, target[s].optimizer);
  }
  to.work().state().state_was_loaded(from.work().state().shared_numbers());
  for (int step = 3; step < 6; ++step) {
    const double expected = from.step(step, Backward::kFused).loss;
    CHECK(to.step(step, Backward::kSplit).loss == doctest::Approx(expected).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace penstock
