
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "cli/verbs/verbs.h"
#include "core/values/json.h"
#include "tests/core/messages.h"

using namespace penstock;

namespace {

// A folder that goes with the test; other builds may run theirs at the same time.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("penstock_folder_test_" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path / "job"); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
  }
  [[nodiscard]] std::string name(const std::string& file) const {
    return (path / file).generic_string();
  }
};

// T = 1, P = 4 on 8 GPUs: D = 2; b = 1 and a batch of 6 make M = 3, fewer than P: a warning.
constexpr const char* kArgs =
    "ARGS=(--num-layers 8 --pipeline-model-parallel-size 4\n"
    "  --micro-batch-size 1 --global-batch-size 6)\n";
constexpr const char* kRun =
    "source args.sh\ntorchrun --nproc_per_node 8 pretrain_gpt.py \"${ARGS[@]}\"\n";

}  // namespace

TEST_CASE("of a folder every launch file is judged, and a part of one with it") {
  const Folder folder;
  folder.write("job/args.sh", kArgs);
  folder.write("job/run.sh", kRun);
  folder.write("job/twin.sh", kRun);  // finds the same in args.sh, which is told once
  folder.write("job/notes.txt", "nothing");
  folder.write("package.json", "{\"name\": \"x\"}");
  folder.write("pyproject.toml", "[tool.x]\ny = 1\n");
  folder.write("tool.py", "parser.add_argument('--num-layers', '--seq-length')\n");
  const Answer answer = run_penstock({"check", folder.path.string(), "--json"});
  CHECK(answer.exit == 1);
  const Json json = parse_json(answer.text, "answer");
  const auto& files = json.find("files")->elements();
  REQUIRE(files.size() == 2);
  CHECK(files[0].find("file")->text() == folder.name("job/run.sh"));
  CHECK(files[0].find("with")->elements().at(0).text() == folder.name("job/args.sh"));
  CHECK(files[0].find("report")->find("findings")->elements().size() == 1);
  CHECK(files[1].find("report")->find("findings")->elements().empty());
  CHECK(json.find("warnings")->text() == "1");
  CHECK(json.find("errors")->text() == "0");
  CHECK(json.find("other_files")->text() == "4");
  CHECK(run_penstock({"check", folder.path.string(), "--exit-zero"}).exit == 0);
  CHECK(run_penstock({"check", folder.path.string(), "--ignore", "E020"}).exit == 0);
  CHECK(run_penstock({"check", folder.path.string(), "--format", "github"})
            .text.starts_with("::warning file=" + folder.name("job/args.sh") + ",line=2"));
}

TEST_CASE("a file that cannot be read is listed, and the others are judged") {
  const Folder folder;
  folder.write("job/a.json", "{\"train_batch_size\": }");
  folder.write("job/b.json",
               "{\"train_batch_size\": 8, \"train_micro_batch_size_per_gpu\": 1,\n"
               "\"gradient_accumulation_steps\": 8}");
  folder.write("plan.json", "{\"format\": \"penstock.plan/1\"}");
  const Answer answer = run_penstock({"check", folder.path.string()});
  CHECK(answer.exit == 1);
  CHECK(answer.text.find("1 file judged: 0 errors, 0 warnings; 2 files could not be read; 0 files "
                         "of other kinds") != std::string::npos);
  CHECK(answer.text.find("could not be read: " + folder.name("job/a.json")) != std::string::npos);
}

TEST_CASE("files that read each other are judged once") {
  const Folder folder;
  folder.write("job/a.sh", std::string("source b.sh\n") + kArgs);
  folder.write("job/b.sh", std::string("source a.sh\n") + kArgs);
  const Json json =
      parse_json(run_penstock({"check", folder.path.string(), "--json"}).text, "answer");
  CHECK(json.find("files")->elements().size() == 1);
}

TEST_CASE("a folder of nothing to judge, and options of one file, are refused") {
  const Folder folder;
  folder.write("job/notes.txt", "nothing");
  const auto refusal = [&](const Arguments& arguments) {
    return tests::message_of([&] { static_cast<void>(run_penstock(arguments)); });
  };
  CHECK(refusal({"check", folder.path.string()})
            .find("no launch file, plan, profile or cluster among its 1 file") !=
        std::string::npos);
  CHECK(refusal({"check", folder.path.string(), "--stages", "4"})
            .find("it is said of one file, and this is a folder") != std::string::npos);
}

TEST_CASE("a template is named, and is no finding") {
  const Folder folder;
  folder.write("ds_config.json",
               "{\"train_batch_size\": {{ batch }}, \"zero_optimization\": {}}\n");
  folder.write("args.toml", "[training]\nlocal_batch_size = ${BATCH}\n");
  folder.write("job/ds_TEMPLATE.json", "{\"train_batch_size\" : CONFIG_BATCH_SIZE}\n");
  folder.write("job/run.sh", "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8\n");
  const Answer answer = run_penstock({"check", folder.path.string()});
  CHECK(answer.exit == 0);
  CHECK(answer.text.find(folder.name("ds_config.json") + ": a template") != std::string::npos);
  CHECK(answer.text.find("3 templates not judged") != std::string::npos);
  const Json json = parse_json(run_penstock({"check", folder.path.string(), "--json"}).text, "");
  CHECK(json.find("templates")->elements().size() == 3);
  CHECK(json.find("not_read")->elements().empty());
}

TEST_CASE("a file that is only broken is no template") {
  const Folder folder;
  folder.write("ds_config.json", "{\"train_batch_size\": 8, \"zero_optimization\": {}\n");
  const Answer answer = run_penstock({"check", folder.path.string()});
  CHECK(answer.exit == 1);
  CHECK(answer.text.find("1 file could not be read") != std::string::npos);
}
