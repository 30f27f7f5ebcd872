#include "cli/answers/options/option_aliases.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/core/messages.h"
#include "tests/watched.h"

using namespace penstock;

namespace {

const std::vector<std::string> kPlan{
    "--pin",       "--gpus",  "--global-batch", "--sequence-length",
    "--device",    "--zero1", "--precision",    "--budget",
    "--recompute", "-o",      "--output",       "--sharding"};
const std::vector<std::string> kPredict{"--layout", "--device", "--gpus"};
const std::vector<std::string> kSchedule{"-P", "--ranks", "-V", "-M", "--micro-batches", "--cost"};

std::string refusal(const Arguments& arguments, const std::vector<std::string>& known) {
  return tests::message_of([&] { static_cast<void>(in_own_options(arguments, known)); });
}

}  // namespace

TEST_CASE("a degree goes where the verb has it") {
  CHECK(in_own_options({"--tp", "8", "--pp=4", "c.json"}, kPlan) ==
        Arguments{"--pin", "T=8", "--pin", "P=4", "c.json"});
  CHECK(in_own_options({"--tp", "8", "--gbs", "64"}, kPredict) ==
        Arguments{"--layout", "TP=8", "--layout", "gbs=64"});
  CHECK(in_own_options({"--cp", "2"}, kPlan) == Arguments{"--pin", "C=2"});
  CHECK(in_own_options({"--pipeline_model_parallel_size", "4", "-m", "8"}, kSchedule) ==
        Arguments{"-P", "4", "-M", "8"});
}

TEST_CASE("what trainers put around a word is taken off") {
  CHECK(in_own_options({"--parallelism.pipeline_parallel_degree", "4"}, kPlan) ==
        Arguments{"--pin", "P=4"});
  CHECK(in_own_options({"--activation_checkpoint.mode=full"}, kPlan) ==
        Arguments{"--recompute", "full"});
  CHECK(in_own_options({"--training.seq_len", "4096"}, kPlan) ==
        Arguments{"--sequence-length", "4096"});
  CHECK(in_own_options({"--num-gpus-count", "8", "--device-name", "h100"}, kPlan) ==
        Arguments{"--gpus", "8", "--device", "h100"});
  CHECK(refusal({"--zero_optimization.overlap_comm"}, {"--executor"}).find("--for TRAINER") !=
        std::string::npos);
}

TEST_CASE("a number of experts is of the model, and no degree") {
  CHECK(in_own_options({"--expert-parallel-size", "8"}, kPlan) == Arguments{"--pin", "EP=8"});
  for (const auto* known : {&kPlan, &kPredict}) {
    CHECK(
        refusal({"--num-experts", "8"}, *known).find("experts stand in the model's config.json") !=
        std::string::npos);
  }
}

TEST_CASE("what the verb has itself is left alone") {
  const Arguments own{"-P4", "-M", "-1", "--cost=F=1ms", "-ofile", "--", "--tp"};
  CHECK(in_own_options(own, {"-P", "-M", "--cost", "-o"}) == own);
  CHECK(in_own_options({"--Global_Batch", "8", "-gpus", "2"}, kPlan) ==
        Arguments{"--global-batch", "8", "--gpus", "2"});
}

TEST_CASE("what is counted on one GPU is a micro-batch, whatever else its name says") {
  for (const char* name : {"--global-batch-size-per-gpu", "--per_device_train_batch_size",
                           "--samples-per-gpu", "--training.local_batch_size"}) {
    CHECK(refusal({name, "4"}, kPlan).find("write --pin mbs=4") != std::string::npos);
  }
}

TEST_CASE("of what one GPU has only a batch of the training is a micro-batch") {
  std::vector<std::string> plan = kPlan;
  plan.emplace_back("--global-batch-tokens");
  CHECK(refusal({"--bs-per-gpu", "2"}, plan).find("write --pin mbs=2") != std::string::npos);
  CHECK(refusal({"--batch-tokens-per-gpu", "8192"}, plan).find("--global-batch-tokens N") !=
        std::string::npos);
  for (const char* name :
       {"--per-device-eval-batch-size", "--max-sequence-length-per-device",
        "--sequence-length-per-gpu", "--jobs-per-gpu", "--test-samples-per-gpu"}) {
    CAPTURE(name);
    CHECK(refusal({name, "8"}, plan).find("mbs") == std::string::npos);
  }
  CHECK(refusal({"--batch-per-gpu", "2"}, {"--pin"}).ends_with("the micro-batch of one GPU"));
}

TEST_CASE("a price that may be that of a node is not taken for that of a GPU") {
  const std::vector<std::string> simulate{"--usd-per-gpu-hour", "--tokens"};
  CHECK(in_own_options({"--gpu-cost", "2.5"}, simulate) == Arguments{"--usd-per-gpu-hour", "2.5"});
  CHECK(in_own_options({"--price", "2.5"}, simulate) == Arguments{"--usd-per-gpu-hour", "2.5"});
  for (const char* name : {"--price-per-hour", "--cost-per-hour", "--hourly-cost", "--cost"}) {
    CAPTURE(name);
    CHECK(refusal({name, "32"}, simulate).find("--usd-per-gpu-hour 32 is that of one GPU") !=
          std::string::npos);
  }
  CHECK(in_own_options({"--rate", "5"}, simulate) == Arguments{"--rate", "5"});
}

TEST_CASE("jobs and workers of other words are no threads") {
  const std::vector<std::string> known{"--threads", "--global-batch"};
  CHECK(in_own_options({"--jobs", "4"}, known) == Arguments{"--threads", "4"});
  CHECK(in_own_options({"--num-threads", "4"}, known) == Arguments{"--threads", "4"});
  CHECK(refusal({"--job-name", "4"}, known).find("job.sbatch") != std::string::npos);
  CHECK(refusal({"--num-workers", "8"}, known).find("leave it out") != std::string::npos);
}

TEST_CASE("an option that the verb does not have is not proposed to it") {
  for (const char* name : {"--flash-attention", "--offload", "--sp"}) {
    CAPTURE(name);
    CHECK(in_own_options({name}, {"--tokens", "--json", "--print"}) == Arguments{name});
  }
}

TEST_CASE("a name that is too long is cut between its letters") {
  std::string name = "--a";
  for (int i = 0; i < 60; ++i) name += "\u00e4";  // two bytes each; byte 80 is a second one
  CHECK(tests::message_of([&] { refuse_option(name, "x"); }) ==
        fmt::format("unknown option '{}'...\nhelp: x", name.substr(0, 79)));
}

TEST_CASE("parallelism is what it divides") {
  CHECK(in_own_options({"--tensor-model-parallelism", "8"}, kPlan) == Arguments{"--pin", "T=8"});
  CHECK(in_own_options({"--virtual-pipeline-parallel-size", "2"}, kPredict) ==
        Arguments{"--layout", "VP=2"});
}

TEST_CASE("a value that an option cannot take says that another one was meant") {
  std::vector<std::string> plan = kPlan;
  plan.emplace_back("--usd-per-gpu-hour");
  CHECK(in_own_options({"--price", "2.5"}, plan) == Arguments{"--usd-per-gpu-hour", "2.5"});
  CHECK(in_own_options({"--price", "F=10ms"}, plan) == Arguments{"--price", "F=10ms"});
  CHECK(refusal({"--cost", "2.5"}, plan).find("--usd-per-gpu-hour X") != std::string::npos);
  CHECK(refusal({"--cost", "F=10ms"}, plan).find("penstock schedule") != std::string::npos);
}

TEST_CASE("dashes alone name no option") {
  CHECK(in_own_options({"--=5", "-", "---"}, kPlan) == Arguments{"--=5", "-", "---"});
}

TEST_CASE("a GPU is a number of them or a device") {
  CHECK(in_own_options({"--gpu", "8"}, kPlan) == Arguments{"--gpus", "8"});
  CHECK(in_own_options({"--gpu", "h100-sxm"}, kPlan) == Arguments{"--device", "h100-sxm"});
}

TEST_CASE("ZeRO's stages 0 and 1 are a switch, the others a kind of sharding") {
  CHECK(in_own_options({"--zero", "1"}, kPlan) == Arguments{"--zero1", "on"});
  CHECK(in_own_options({"--zero-stage=0"}, kPlan) == Arguments{"--zero1", "off"});
  CHECK(in_own_options({"--zero", "3"}, kPlan) == Arguments{"--sharding", "zero3"});
  CHECK(in_own_options({"--zero-stage=2"}, kPredict) == Arguments{"--layout", "sharding=zero2"});
  CHECK(refusal({"--zero", "4"}, kPlan).find("--sharding none, zero1") != std::string::npos);
}

TEST_CASE("ZeRO's stage is read behind the name as well") {
  CHECK(refusal({"--stage", "2"}, kPlan).find("--sharding zero2, the number") != std::string::npos);
  CHECK(refusal({"--stage", "0"}, kPlan).ends_with("ZeRO's stage is --sharding none"));
  CHECK(refusal({"--stage", "!"}, kPlan).find("zero!") == std::string::npos);
  for (const char* name : {"--zero-3", "--zero3", "--zero-stage-3", "--stage3"}) {
    CHECK(refusal({name}, kPlan).find("write --sharding zero3") != std::string::npos);
  }
  CHECK(refusal({"--zero-0"}, kPredict).find("sharding=none") != std::string::npos);
}

TEST_CASE("a schedule by its name is the value of an option") {
  const std::vector<std::string> plan{"--pin", "--schedule"};
  CHECK(refusal({"--DualPipe"}, plan) ==
        "unknown option '--DualPipe'\nhelp: write --schedule dualpipe");
  CHECK(refusal({"--1f1b"}, kPredict).ends_with("write --layout \"... schedule=1f1b\""));
  CHECK(refusal({"--gpipe"}, kSchedule).find("penstock schedule gpipe -P") != std::string::npos);
}

TEST_CASE("what has no equivalent has a sentence") {
  CHECK(refusal({"--nodes", "8"}, kPlan).find("--gpus 64 for 8 nodes of 8") != std::string::npos);
  CHECK(refusal({"--batch", "8"}, kPlan).find("--global-batch 8") != std::string::npos);
  CHECK(refusal({"--tp", "2"}, {"--why-not"}).find("--why-not TP=2") != std::string::npos);
  for (const char* gpus : {"--gpus", "--world-size", "-n", "--num-gpus", "--gpu"}) {
    CAPTURE(gpus);
    CHECK(refusal({gpus, "64"}, kSchedule).find("ranks of one pipeline: -P N") !=
          std::string::npos);
  }
}

TEST_CASE("of very many unknown options no more are read than are answered") {
  const auto questions = [](int options) {
    const WordIndex words(OptionTable{"plan MODEL", "", {}, ""});
    int count = 0;
    const std::function<const WordIndex&()> index = [&]() -> const WordIndex& {
      ++count;
      return words;
    };
    Arguments typed;
    for (int i = 0; i < options; ++i) typed.push_back("--some-word");
    tests::message_of([&] { static_cast<void>(in_own_options(typed, kPlan, {}, index)); });
    return count;
  };
  if (!testing::kWatched) CHECK(questions(64) > questions(32));
  CHECK(questions(1000) == questions(65));
}

TEST_CASE("words that nobody knows are left to the verb") {
  CHECK(in_own_options({"--rnks", "3"}, kSchedule) == Arguments{"--rnks", "3"});
  std::string longer = "--";  // each way to read it would be as long again
  for (int i = 0; i < 32768; ++i) longer += "num-";
  CHECK(in_own_options({longer + "gpus", "3"}, kPlan) == Arguments{longer + "gpus", "3"});
}

TEST_CASE("what a verb says itself comes first, and what does not concern it is not said") {
  const std::vector<OptionRemark> remarks{{{"data", "batch"}, "the job file says it"}};
  CHECK(tests::message_of([&] {
          static_cast<void>(in_own_options({"--data", "x"}, {"--json"}, remarks));
        }) == "unknown option '--data'\nhelp: the job file says it");
  CHECK(in_own_options({"--nodes", "8"}, {"--json"}) == Arguments{"--nodes", "8"});
}
