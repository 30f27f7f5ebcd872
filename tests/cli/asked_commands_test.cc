// Commands that are put together of words which were typed to another verb, or to none: what was
// typed stays, and only what is missing is an example.
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "cli/answers/files/file_at_hand.h"
#include "cli/answers/verbs/asked_of_search.h"
#include "cli/answers/verbs/measured_asked.h"
#include "cli/answers/verbs/plan_compared.h"
#include "cli/answers/verbs/schedule_asked.h"
#include "cli/answers/verbs/trainer_asked.h"
#include "cli/words/schedule_called.h"

namespace penstock {
namespace {

class TextFile {
 public:
  TextFile(const std::string& name, const std::string& text)
      : path_((std::filesystem::temp_directory_path() /
               ("penstock_asked_" + std::to_string(getpid()) + '_' + name))
                  .string()) {
    std::ofstream(path_) << text;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::filesystem::remove(path_); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("a schedule is asked for by its name and sizes in anybody's words") {
  CHECK(schedule_asked({"--schedule", "1f1b", "--pp", "4", "--num-microbatches", "8"},
                       ScheduleView::kPicture) ==
        "penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,I=10ms,W=10ms -o schedule.svg");
  CHECK(schedule_asked({"gpipe", "1F1B", "zero-bubble", "--pp", "8", "--mb", "32"},
                       ScheduleView::kFigures) ==
        "penstock schedule gpipe,1f1b,zb-h1 -P 8 -M 32 --cost F=10ms,I=10ms,W=10ms");
  CHECK(schedule_asked({"1f1b", "--ascii", "--cost", "F=1ms,B=2ms"}, ScheduleView::kFigures) ==
        "penstock schedule 1f1b -P 4 -M 8 --cost F=1ms,B=2ms --print");
}

TEST_CASE("schedules that nobody names are three, where they are to be compared") {
  CHECK(schedule_asked({"--stages", "4", "--microbatches", "8"}, ScheduleView::kBeside) ==
        "penstock schedule gpipe,1f1b,zb-h1 -P 4 -M 8 --cost F=10ms,I=10ms,W=10ms");
}

TEST_CASE("what is about a model asks for no schedule alone") {
  CHECK(schedule_asked({"1f1b", "--pp", "4", "--tp", "8"}, ScheduleView::kFigures).empty());
  CHECK(schedule_asked({"data/models/gpt2.json", "1f1b"}, ScheduleView::kFigures).empty());
  CHECK(schedule_asked({"--pp", "4"}, ScheduleView::kFigures).empty());
}

TEST_CASE("the first of a family is the plainest") {
  REQUIRE(!schedules_of_family("Zero-Bubble").empty());
  CHECK(schedules_of_family("Zero-Bubble").front() == "zb-h1");
  CHECK(schedules_of_family("1f1b").empty());
}

TEST_CASE("a trainer is told by the file that is its own") {
  CHECK(trainer_of_file("out/ds_config.json") == "deepspeed");
  CHECK(trainer_of_file("train_config.toml") == "torchtitan");
  CHECK(trainer_of_file("bonds-x.json").empty());
  CHECK(trainer_asked({"--format", "DeepSpeed", "config.json"}) == "deepspeed");
  CHECK(trainer_asked({"--to=ds_config.json"}) == "deepspeed");
  CHECK(trainer_asked({"--gpus", "8"}).empty());
  CHECK(starts_jobs("train.sbatch"));
  CHECK(!starts_jobs("megatron"));
}

TEST_CASE("a job is written into the folder that was typed, or into one of its own") {
  CHECK(command_of_export("plan.json", "deepspeed", {}) ==
        "penstock export plan.json --to deepspeed -o job");
  CHECK(command_of_export("plan.json", "megatron", {"-o", "out"}) ==
        "penstock export plan.json --to megatron -o out");
  CHECK(command_of_export("plan.json", "megatron", {"-o", "ds_config.json"}) ==
        "penstock export plan.json --to megatron -o job");
}

TEST_CASE("the layout that ran is what was typed of it") {
  CHECK(layout_typed({"--tp", "4", "--pin", "PP=2,mbs=2", "--global-batch", "64"}) ==
        "TP=4 PP=2 mbs=2 gbs=64");
  CHECK(layout_typed({"--dp=8", "--gbs", "64"}) == "DP=8 mbs=1 gbs=64");
  CHECK(layout_typed({"--global-batch", "64"}).empty());
}

TEST_CASE("a deadline is a question of how many GPUs") {
  const std::string command =
      deadline_asked({"data/models/gpt2.json", "--device", "h100-sxm", "--tokens", "1T",
                      "--max-days", "30", "--batch", "1024"});
  CHECK(command.find("penstock compare data/models/gpt2.json --device h100-sxm --tokens 1T") == 0);
  CHECK(command.find("--global-batch 1024 --vary gpus=64,128,256,512") != std::string::npos);
  CHECK(deadline_asked({"data/models/gpt2.json", "--tokens", "1T", "--gpus", "8", "--days", "3"})
            .empty());
}

TEST_CASE("samples of different lengths keep their file, and a batch of them is told in tokens") {
  const TextFile lengths("lengths.txt", "100\n200\n300\n");  // 200 in the mean
  CHECK(is_lengths_file(lengths.path()));
  const std::string command =
      lengths_asked({"data/models/gpt2.json", "--device", "h100-sxm", "--gpus", "8",
                     "--global-batch", "16", "--packing", "--dataset", lengths.path()});
  CHECK(command.find("--lengths " + lengths.path() + " --pack --tokens-per-batch 3200") !=
        std::string::npos);
}

TEST_CASE("a plan that is not there is compared with nothing") {
  CHECK(plan_compared({"no-plan.json", "--network", "2x"}).empty());
}

}  // namespace penstock
