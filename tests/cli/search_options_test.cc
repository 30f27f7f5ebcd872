#include "cli/options/search_options.h"

#include <filesystem>

#include <doctest/doctest.h>

#include "cli/io/files.h"
#include "costmodel/price_stages.h"
#include "tests/core/messages.h"
#include "trainers/trainer_table.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

SearchOptions options() {
  SearchOptions options;
  options.profile = "data/profiles/gpt-6.7b.a100-40gb.json";
  options.cluster = "data/clusters/a100-40gb-p4d-8x8.json";
  options.global_batch = "512";
  return options;
}

std::string first_line(const SearchOptions& options) {
  const std::string message = tests::message_of([&] { question_of(options); });
  return message.substr(0, message.find('\n'));
}

}  // namespace

TEST_CASE("without --gpus all of the cluster is used") {
  const Question question = question_of(options());
  CHECK(question.request.gpus == 64);
  CHECK(question.request.global_batch == 512);
  CHECK(words_of(question) ==
        "GPT-6.7B on 8 x p4d.24xlarge: at most 64 GPUs, global batch 512, executor ideal");
}

// Pinned off and left open are the same to a search, but not to what is told beside its answer.
TEST_CASE("it is known whether the place of the optimizer's state was pinned") {
  SearchOptions given = options();
  CHECK_FALSE(pins_offload(given));
  given.pins = {"PP=4,TP=1"};
  CHECK_FALSE(pins_offload(given));
  given.pins.emplace_back("DP=2,offload=off");
  CHECK(pins_offload(given));
  CHECK(question_of(given).request.pins.offload == false);
}

TEST_CASE("pins and choices reach the request") {
  SearchOptions given = options();
  given.pins = {"P=8,T=1", "b=2"};
  given.schedules = {"1f1b,zb-h1"};
  given.zero1 = "on";
  given.placement = "data-inner";
  given.reserve_gib = "2.5";
  given.budget = "30s";
  const Question question = question_of(given);
  CHECK(question.request.pins.pipeline == 8);
  CHECK(question.request.pins.tensor == 1);
  CHECK(question.request.pins.micro_batch_size == 2);
  CHECK_FALSE(question.request.pins.data);
  CHECK(question.request.pins.schedules == std::vector<std::string>{"1f1b", "zb-h1"});
  CHECK(question.request.pins.zero1 == true);
  CHECK(question.request.pins.placement == Placement::kDataInner);
  CHECK(question.reserve == Bytes{2684354560});
  CHECK(question.budget == 30s);
}

TEST_CASE("what makes no sense is refused before the search") {
  SearchOptions given = options();
  given.gpus = "65";
  CHECK(first_line(given) == "--gpus: 65 is more than the cluster has");
  given = options();
  given.global_batch = {};
  CHECK(first_line(given) == "--global-batch: missing");
  given = options();
  given.pins = {"M=3"};
  CHECK(first_line(given) == "--pin: unknown key 'M'");
  given.pins = {"P=2", "P=4"};
  CHECK(first_line(given) == "--pin: PP is given twice");
  given.pins = {"P=0"};
  CHECK(first_line(given) == "--pin PP: '0' is too small");
  given = options();
  given.schedules = {"1f1c"};
  CHECK(first_line(given) == "--schedule: unknown schedule '1f1c'");
  given = options();
  given.device = "h100";
  CHECK(first_line(given) == "--device: the cluster has no device 'h100'");
  given = options();
  given.recompute = "al";
  CHECK(first_line(given) == "--recompute: the profile has no recompute mode 'al'");
}

TEST_CASE("every key that can vary can be set, and no other") {
  Question question = question_of(options());
  for (const std::string& key : settable_keys()) {
    std::string value = "2";
    if (key == "schedule") value = "gpipe";
    if (key == "recompute") value = "none";
    if (key == "zero1") value = "off";
    if (key == "sharding") value = "fsdp";
    if (key == "device") value = "a100-40gb";
    if (key == "memory-limit") value = "30";
    if (key == "cp-kind") value = "ulysses";
    if (key == "offload") value = "optimizer";
    if (key == "placement") value = "data-inner";
    CHECK_MESSAGE(set(question, "--vary " + key, key, value), key);
  }
  CHECK_FALSE(set(question, "--vary x", "x", "2"));
}

TEST_CASE("a config.json and a device make a question; the cluster is assumed") {
  SearchOptions given;
  given.profile = "data/models/llama-3-8b.json";
  given.device = "H100";
  given.gpus = "16";
  given.global_batch = "64";
  const Question question = question_of(given);
  REQUIRE(question.estimated);
  CHECK(question.profile.value.name == "Llama-3-8B (estimated)");
  CHECK(question.request.sequence_length == 8192);
  CHECK(question.request.pins.device == "h100-sxm");
  CHECK(device_count(question.cluster.value) == 16);
  CHECK(question.cluster.value.levels.size() == 2);
  CHECK(words_of(question).find("; estimated for h100-sxm, bfloat16") != std::string::npos);
  CHECK(
      notes_of(question).back() ==
      "assumed: 8 GPUs a node, nvlink4 inside (364 GB/s per direction), 46.5 GB/s per GPU between "
      "nodes; give --cluster for yours");
  Json json = Json::object();
  set_question(json, question);
  REQUIRE(json.find("estimated") != nullptr);
  CHECK(json.find("estimated")->find("cluster")->text() == "assumed");
  CHECK(json.find("estimated")->find("parameters")->text() == "8030261248");
}

TEST_CASE("an estimate takes the device of the cluster, by the cluster's name for it") {
  SearchOptions given = options();
  given.profile = "data/models/llama-3-8b.json";
  given.sequence_length = "2048";
  const Question question = question_of(given);
  REQUIRE(question.estimated);
  CHECK(question.estimated->device.name == "a100-sxm-40gb");
  CHECK(question.request.pins.device == "a100-40gb");
  CHECK(question.request.sequence_length == 2048);
  CHECK(measured_tensor_degrees(question.profile.value, "a100-40gb") ==
        std::vector<int>{1, 2, 4, 8});
  given.device = "h100";
  CHECK(first_line(given) == "--device: the cluster has no h100-sxm");
  given.cluster = {};
  given.device = {};
  given.gpus = "8";
  CHECK(first_line(given) == "--device: missing");
}

TEST_CASE("a trainer brings its executor, unless another one is asked for") {
  SearchOptions given = options();
  given.trainer = "megatron";
  CHECK(question_of(given).executor.transfer == TransferMode::kSenderBlocks);
  CHECK(words_of(question_of(given)).ends_with("executor sender-blocks (as megatron)"));
  given.trainer = "deepspeed";
  CHECK(question_of(given).executor.transfer == TransferMode::kRendezvous);
  CHECK(question_of(given).executor.issue == IssueOrder::kDeepSpeed);
  for (const char* trainer : {"torchtitan", "pytorch", "penstock"}) {
    given.trainer = trainer;
    CHECK(question_of(given).executor.transfer == TransferMode::kAsync);
  }
  given.trainer = "megatron";
  given.executor.name = "ideal";
  CHECK(question_of(given).executor == ExecutorModel());
  CHECK(question_of(given).request.trainer == find_trainer("megatron"));
}

TEST_CASE("an estimate for several device types holds the measurements of each") {
  SearchOptions given;
  given.profile = "data/models/gpt2.json";
  given.cluster = "data/clusters/a100-40gb-2x4-v100-16gb-4x4.json";
  given.global_batch = "8";
  given.device = "a100-40gb";
  const Question one = question_of(given);
  given.also_on = {"v100-16gb"};
  const Question both = question_of(given);
  REQUIRE(both.estimated);
  CHECK(words_of(both).find(" and v100-sxm-16gb") != std::string::npos);
  given.device = "v100-16gb";
  given.also_on.clear();
  const Question other = question_of(given);
  const ModelProfile& profile = both.profile.value;
  CHECK(profile.sections == one.profile.value.sections);
  for (std::size_t type = 0; type < profile.section_types.size(); ++type) {
    const std::vector<Measurement>& all = profile.section_types[type].measurements;
    const std::vector<Measurement>& first = one.profile.value.section_types[type].measurements;
    const std::vector<Measurement>& second = other.profile.value.section_types[type].measurements;
    REQUIRE(all.size() == first.size() + second.size());
    CHECK(all.front() == first.front());
    CHECK(all.back().device == "v100-16gb");
    CHECK(all.back().forward == second.back().forward);
    // Its sources stand behind those of the first.
    const auto source = [](const ModelProfile& of, int index) -> const Source& {
      return of.sources.at(static_cast<std::size_t>(index));
    };
    CHECK(source(profile, all.back().time_source).text ==
          source(other.profile.value, second.back().time_source).text);
  }
  // Also in single precision, which both have.
  given.device = "a100-40gb";
  given.also_on = {"v100-16gb"};
  given.precision = "float32";
  CHECK(question_of(given).estimated);
}

namespace {

SearchOptions estimated(const std::string& config) {
  SearchOptions options;
  options.profile = config;
  options.device = "h100-sxm";
  options.gpus = "8";
  options.global_batch = "8";
  options.takes_pairs = true;
  return options;
}

}  // namespace

TEST_CASE("what an estimate does not tell apart is refused") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "penstock_search_options_t5.json").string();
  write_file(path, R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"],
      "d_model": 512, "d_kv": 64, "num_heads": 8, "d_ff": 2048, "num_layers": 6,
      "vocab_size": 32128, "n_positions": 512})");
  SearchOptions pairs = estimated(path);
  pairs.sequence_length = "128";
  pairs.optimizer_bytes = "10";
  pairs.loss = "in-place";
  pairs.trainer = "megatron";
  CHECK(question_of(pairs).profile.value.training.optimizer_bytes_per_parameter == Bytes{10});
  pairs.kernels = "eager";
  CHECK(first_line(pairs) ==
        "--kernels: eager kernels of encoder-decoder models are not estimated");
  pairs.kernels.reset();
  pairs.fsdp_prefetch = "backward-post";
  CHECK(first_line(pairs) ==
        "--fsdp-prefetch: of encoder-decoder models every backward gathers ahead");
  pairs.fsdp_prefetch.reset();
  pairs.precision = "fp8";
  CHECK(first_line(pairs) == "--precision: encoder-decoder models in 8 bits are not estimated");
  std::filesystem::remove(path);

  SearchOptions wide = estimated("data/models/gpt2.json");
  wide.precision = "float32";
  wide.loss = "eager";
  CHECK(first_line(wide) == "--loss: numbers of 32 bits are estimated as eager PyTorch runs them");
  wide.kernels = "compiled";
  CHECK(first_line(wide) ==
        "--kernels: numbers of 32 bits are estimated as eager PyTorch runs them");
}

TEST_CASE("a named trainer gathers the weights of every model ahead, unless told otherwise") {
  SearchOptions llama = estimated("data/models/llama-2-7b.json");
  llama.trainer = "torchtitan";
  CHECK(question_of(llama).estimated->request.gathers_ahead == true);
  llama.fsdp_prefetch = "backward-post";
  CHECK(question_of(llama).estimated->request.gathers_ahead == false);
  CHECK_FALSE(question_of(estimated("data/models/gpt2.json")).estimated->request.gathers_ahead);
}
