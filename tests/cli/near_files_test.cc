#include "cli/words/near_files.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "cli/io/text_file.h"
#include "core/values/json_reader.h"

using namespace penstock;

namespace {

// A folder with files of several kinds, which goes with the test.
class Files {
 public:
  explicit Files(std::string folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_ + "/trainers");
    std::filesystem::create_directories(folder_ + "/model");
    for (const char* name :
         {"cut.json", "config.json", "model/config.json", "run.sh", "my.csv", "trains.log"}) {
      write_file(path(name), "{}");
    }
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + '/' + name; }

 private:
  std::string folder_;
};

}  // namespace

TEST_CASE("a neighbour is a file of the kind that is read") {
  const Files files("near_files");
  // One letter apart from "cut.json", but records are no JSON.
  CHECK(near_file(files.path("run.jsonl"), true, false).empty());
  CHECK(near_file(files.path("confg.json"), true, false) ==
        "did you mean 'near_files/config.json'?");
  CHECK(near_file(files.path("config.yaml"), true, false) ==
        "did you mean 'near_files/config.json'?");
  // A folder is no script, and a log is none either.
  CHECK(near_file(files.path("train.sh"), false, false).empty());
  CHECK(near_file(files.path("runs.sh"), false, false) == "did you mean 'near_files/run.sh'?");
  CHECK(near_file(files.path("train.log"), false, false) ==
        "did you mean 'near_files/trains.log'?");
  CHECK(near_file(files.path("cut.jsn"), false, false) == "did you mean 'near_files/cut.json'?");
  CHECK(near_file(files.path("runs"), false, false) == "did you mean 'near_files/run.sh'?");
  // Where a model is read a folder with a config.json is one.
  CHECK(near_file(files.path("modle"), true, true) == "did you mean 'near_files/model'?");
  CHECK(near_file(files.path("modle"), true, false).empty());
  CHECK(near_file("no_such_folder/run.sh", false, false).empty());
  // A pipe is not read: nobody may ever write to it.
  REQUIRE(mkfifo(files.path("clusters.json").c_str(), 0600) == 0);
  CHECK(near_file(files.path("cluster.json"), true, false).empty());
}

TEST_CASE("where nothing is near, files of the kind are named") {
  const Files files("files_of_kind");
  CHECK(files_of_kind(files.path("actions.csv")) == "in this folder: my.csv");
  CHECK(files_of_kind(files.path("trace.html")).empty());
  CHECK(files_of_kind(files.path("actions")).empty());
}

TEST_CASE("a model that lies with the program is found by its words") {
  const std::string small = "data/models/llama-3-8b.json", large = "data/models/llama-2-70b.json";
  CHECK(shipped_models("llama3-8b").paths == small);
  CHECK(shipped_models("Llama-3-8B.json").paths == small);
  CHECK(shipped_models("meta-llama/Llama-2-70b-chat-hf").paths == large);
  CHECK(shipped_models("meta-llama/Llama-2-70b-hf/config.json").paths == large);
  // Two have these words in this order.
  CHECK(shipped_models("llama-70b").paths == large + " or data/models/llama-3-70b.json");
  // Other models, whose names are as near as a letter.
  CHECK(shipped_models("meta-llama/Llama-3.1-8B").paths == small);
  CHECK_FALSE(shipped_models("meta-llama/Llama-3.1-8B").is_it);
  CHECK(shipped_models("meta-llama/Llama-3.2-1B").paths.empty());
  CHECK(shipped_models("mixtral-8x7B-instruct-v0.1.json").paths == "data/models/mixtral-8x7b.json");
  CHECK(shipped_models("gpt2-xl").paths.empty());
  CHECK(shipped_models("8b").paths == small);
  CHECK_FALSE(shipped_models("8b").is_it);
  CHECK(shipped_models("9b").paths.empty());
  CHECK(shipped_models("config.json").paths.empty());
  CHECK(shipped_models("").paths.empty());
  CHECK(shipped_models("llama3-8b").is_it);
  // DeepSeek-V2 is another model than its small one.
  CHECK(shipped_models("deepseek-ai/DeepSeek-V2").paths == "data/models/deepseek-v2-lite.json");
  CHECK_FALSE(shipped_models("deepseek-ai/DeepSeek-V2").is_it);
}

TEST_CASE("a file that is none of what an option takes is said to be what it is") {
  const std::string profile = "data/profiles/gpt-6.7b.a100-40gb.json";
  const std::string help = help_for_misplaced(profile, "--runs");
  CHECK(help.find("penstock validate plan.json RUN --add-to runs.json") != std::string::npos);
  CHECK(help_for_misplaced(profile, "--profile").empty());
  CHECK(help_for_misplaced(profile, "--lengths").empty());  // no format of ours
  CHECK(help_for_misplaced("no_such_file.json", "--runs").empty());
}
