#include "training/torch/archive_values.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>

#include <doctest/doctest.h>
#include <torch/script.h>

#include "core/values/error.h"
#include "tests/training/torch/tiny_models.h"
#include "training/torch/cpu_device.h"
#include "training/torch/script_model.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

using torch::jit::Module;

at::Tensor random(at::IntArrayRef shape) {
  return (at::randn(shape, at::kFloat) * 0.1).set_requires_grad(true);
}

// An embedding, two linear maps, and a head that is the embedding again; the buffer
// `mean` is a part of a larger tensor.
Module chain() {
  at::manual_seed(3);
  Module model("__torch__.ArchiveValuesChain");
  model.register_parameter("tokens", random({256, 16}), false);
  const auto linear = [](const std::string& name) {
    Module module("__torch__." + name);
    module.register_parameter("weight", random({16, 16}), false);
    module.define("def forward(self, x):\n  return torch.tanh(torch.linear(x, self.weight))\n");
    return module;
  };
  model.register_module("first", linear("First"));
  model.register_module("second", linear("Second"));
  model.register_buffer("mean", at::randn({64}).narrow(0, 16, 16));
  model.define(
      "def forward(self, x):\n"
      "  h = torch.embedding(self.tokens, x) + self.mean\n"
      "  h = self.second.forward(self.first.forward(h))\n"
      "  return torch.linear(h, self.tokens)\n");
  return model;
}

struct Saved {
  explicit Saved(const Module& module)
      : path(std::filesystem::temp_directory_path() / "penstock_archive_values_test.pt") {
    module.save(path);
  }
  Saved(const Saved&) = delete;
  Saved& operator=(const Saved&) = delete;
  ~Saved() { std::filesystem::remove(path); }
  std::string path;
};

std::string refusal(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("what is read from the file is what LibTorch loads: weights, parts of tensors, twice") {
  const Saved saved(chain());
  ArchiveValues values(saved.path);
  const std::optional<Module> module = values.load();
  REQUIRE(module.has_value());
  const Module whole = torch::jit::load(saved.path);
  const auto attributes = whole.named_attributes();
  int tensors = 0;
  for (const auto& attribute : module->named_attributes()) {
    if (!attribute.value.isTensor()) continue;
    const at::Tensor placed = attribute.value.toTensor();
    for (const auto& expected : attributes) {
      if (expected.name != attribute.name) continue;
      const at::Tensor read = values.read(placed);
      CHECK(at::equal(read, expected.value.toTensor()));
      CHECK(read.requires_grad() == expected.value.toTensor().requires_grad());
      CHECK(read.data_ptr() != placed.data_ptr());
      CHECK(at::equal(values.read(placed), read));
      ++tensors;
    }
  }
  CHECK(tensors == 4);
  const at::Tensor other = at::ones({3});
  CHECK(values.read(other).is_same(other));
}

TEST_CASE("a class that makes itself anew when it is loaded is not left in the file") {
  Module module("__torch__.MakesItself");
  module.register_parameter("weight", random({16, 16}), false);
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(R"(
    def __getstate__(self):
      return (self.weight, self.training)
    def __setstate__(self, state: Tuple[Tensor, bool]):
      self.weight = state[0] * 2
      self.training = state[1]
    def forward(self, x):
      return torch.linear(x, self.weight)
  )");
  const Saved saved(module);
  CHECK_FALSE(ArchiveValues(saved.path).load().has_value());
}

// One byte of the record that holds `tensor`.
void damage(const std::string& path, const at::Tensor& tensor) {
  const ArchiveFile file(path);
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const auto& [record, begin] = file.tensors()[i];
    if (record.size != tensor.nbytes()) continue;
    std::string bytes(record.size, '\0');
    file.read(begin, std::as_writable_bytes(std::span(bytes)));
    if (std::memcmp(bytes.data(), tensor.data_ptr(), bytes.size()) != 0) continue;
    std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(begin));
    out.put(static_cast<char>(bytes[0] ^ 1));
    return;
  }
  FAIL("no such tensor");
}

RankSetup first_of_two(const ModelDescription& model) {
  RankSetup setup;
  setup.model = model;
  setup.ranks = 2;
  setup.stages = {{.stage = 0, .first_section = 0, .end_section = 2, .takes_input = true}};
  setup.ties = {{"tokens", {0, 1}}};
  setup.micro_batches = {{0, 2}};
  setup.global_batch = 2;
  setup.sequence_length = testing::kTinyLength;
  return setup;
}

// The second stage's weight is damaged, which nobody notices who does not read it.
TEST_CASE("a rank reads its own sections only, unless the division was not seen before") {
  Module module = chain();
  const Saved saved(module);
  ModelDescription model;
  model.family = ModelFamily::kTorchScript;
  model.archive = saved.path;
  model.precision = Precision::kFloat64;
  model.optimizer = OptimizerKind::kSgd;
  model.cutpoints = {"add", "first", "second"};
  ModelDescription seen = model;
  seen.division = make_script_model(model)->division(testing::kTinyLength);
  REQUIRE(seen.division.has_value());
  REQUIRE(seen.division->handed_on.size() == 3);
  const HandedTensor expected{"float64", {0, testing::kTinyLength, 16}, {1, 0, 0}};
  CHECK((seen.division->handed_on[1] == std::vector{expected}));

  const auto device = make_cpu_device();
  const ByteData data = testing::tiny_data();
  damage(saved.path, module.attr("second").toModule().attr("weight").toTensor());
  const auto start = [&](const ModelDescription& description) {
    return refusal([&] { TorchWork(first_of_two(description), *device, data); });
  };
  CHECK(start(seen) == "accepted");
  CHECK(start(model).find("is damaged") != std::string::npos);
  damage(saved.path, module.attr("first").toModule().attr("weight").toTensor());
  CHECK(start(seen).find("is damaged") != std::string::npos);
}

TEST_CASE("a description that says of the sections what they are not is refused") {
  const Saved saved(chain());
  ModelDescription model;
  model.family = ModelFamily::kTorchScript;
  model.archive = saved.path;
  model.cutpoints = {"add", "first"};
  model.division = ArchiveDivision{12, {{}, {HandedTensor{"float32", {0, 12, 16}, {1, 0, 0}}}}};
  CHECK(refusal([&] { make_script_model(model); }).find("profile it again") != std::string::npos);
  model.division->handed_on[0] = {HandedTensor{"complex", {0}, {1}}};
  CHECK(refusal([&] { make_script_model(model); }).find("profile it again") != std::string::npos);
}

}  // namespace
}  // namespace penstock
