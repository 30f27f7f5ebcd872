#include "cli/answers/files/file_at_hand.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/core/temporary_folder.h"

namespace penstock {
namespace {

// What the verb says of the file in the first place; empty where it takes it.
std::string said(const std::string& verb, const std::string& takes, const std::string& file) {
  try {
    refuse_file_at_hand(verb, takes, {file});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("files of numbers, of actions and of GPUs that come and go are told apart") {
  const tests::TemporaryFolder folder;
  const std::string actions = folder / "actions.csv", recording = folder / "trace.csv",
                    lengths = folder / "lengths.txt";
  std::ofstream(actions) << "0F0,0F1,,0B0\n,1F0\n";
  std::ofstream(recording) << "time_s,gpus\n0,8\n";
  std::ofstream(lengths) << "100\n200\n";
  CHECK(is_actions_file(actions));
  CHECK(!is_actions_file(recording));
  CHECK(is_recording(recording));
  CHECK(!is_lengths_file(recording));
  CHECK(file_at_hand(actions).words == "a schedule's list of actions");
  CHECK(file_at_hand(recording).words == "a recording of GPUs that come and go");
  CHECK(file_at_hand(lengths).words == "a list of lengths");
  CHECK(file_at_hand(folder / "nothing.txt").words.empty());
}

TEST_CASE("a file that another verb takes is refused, with that verb") {
  CHECK(has(said("plan", "MODEL", "tests/report/imports/data/all_reduce.txt"),
            "penstock import nccl-tests tests/report/imports/data/all_reduce.txt"));
  CHECK(has(said("simulate", "PLAN", "tests/report/imports/data/nvbandwidth.txt"),
            "penstock import nvbandwidth"));
  CHECK(has(said("estimate", "CONFIG", "data/clusters/a100-40gb-p4d-8x8.json"),
            "this is a cluster, and a model's config.json belongs here"));
  CHECK(has(said("manage", "JOB.json", "data/availability/aws_p3_bamboo.nodes.csv"),
            "penstock manage --example > job.json"));
}

TEST_CASE("what the verb reads, and what nothing is known of, is left to its reader") {
  CHECK(said("plan", "MODEL", "data/models/llama-3-8b.json").empty());
  CHECK(said("plan", "MODEL", "data/profiles/opt-350m.json").empty());
  CHECK(said("report", "PLAN", "data/models/llama-3-8b.json").empty());
  CHECK(said("manage", "JOB.json", "data/jobs/two_machines.json").empty());
  CHECK(said("plan", "MODEL", "README.md").empty());
  CHECK(said("plan", "MODEL", "nothing.json").empty());
  const tests::TemporaryFolder folder;
  std::ofstream(folder / "model.pt") << "PK";
  std::ofstream(folder / "config.yaml") << " {\"model_type\": \"llama\", \"hidden_size\": 64}";
  CHECK(said("profile", "MODEL", folder / "model.pt").empty());  // a TorchScript archive
  CHECK(has(said("simulate", "PLAN", folder / "model.pt"), "an archive of PyTorch"));
  CHECK(said("plan", "MODEL", folder / "config.yaml").empty());  // JSON, whatever its name
  // PyTorch's lists begin with communication as well as with a forward pass.
  CHECK(said("schedule", "NAME", "data/schedules/1f1b-2x3.compute_comms.csv").empty());
  CHECK(said("schedule", "NAME", "data/schedules/1f1b-2x3.csv").empty());
  CHECK(has(said("schedule", "NAME", "data/availability/aws_p3_bamboo.nodes.csv"), "morph"));
}

}  // namespace penstock
