#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "cli/verbs/verbs.h"
#include "tests/core/messages.h"

using namespace penstock;

namespace {

// Of a schedule whose ranks meet in transfers.
std::string refusal(Arguments arguments) {
  arguments.insert(arguments.begin(), "schedule");
  arguments.insert(arguments.end(), {"--executor", "rendezvous"});
  return tests::message_of([&] { static_cast<void>(run_penstock(arguments)); });
}

std::string remedy(const std::string& help) {
  return "\nhelp: " + help +
         ", or --executor ideal or sender-blocks without --queues and --posted, which take any "
         "number of micro-batches";
}

}  // namespace

TEST_CASE("ranks that meet are replayed rolled up, however long the pipeline") {
  CHECK(refusal({"1f1b", "-P", "600", "-M", "40000", "--cost", "F=2us,B=4us,C=1us"}).empty());
}

// F, B and two transfers at both of their ends: 6 P - 4 actions per micro-batch, at most 2^24. A
// period shows in 9 P micro-batches or more.
TEST_CASE("a step too short to be told from fewer micro-batches is not said to have no period") {
  CHECK(refusal({"1f1b", "-P", "1000", "-M", "3500", "--cost", "F=2us,B=4us,C=1us"}) ==
        "-M: 20986000 actions are too many to replay one by one, as executor 'rendezvous' needs "
        "where no part of the step is found to repeat" +
            remedy("at most -M 2798"));
}

// 2^24 / (6 P - 4) slices, four per micro-batch.
TEST_CASE("the remedy counts micro-batches, not slices") {
  CHECK(refusal({"seq-1f1b", "-P", "1000", "-M", "10000", "--slices", "4", "--cost",
                 "F=2us,B=4us,C=1us"})
            .ends_with(remedy("at most -M 699")));
}

// Eight actions per micro-batch of two ranks.
TEST_CASE("micro-batches that a cost file lists are refused by what can be changed") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "penstock_replayed_schedule_test.json").string();
  std::ofstream(path) << R"({"format": "penstock.costs/1", "shapes": [{
      "stages": [{"forward_ms": 1, "fused_backward_ms": 2},
                 {"forward_ms": 1, "fused_backward_ms": 2}],
      "boundaries": [{"activation_us": 1, "gradient_us": 1}]}],
      "micro_batches": [{"shape": 0, "count": 3000000}]})";
  CHECK(refusal({"1f1b", "-P", "2", "--cost-file", path}) ==
        "--cost-file: 24000000 actions are too many to replay one by one, as executor "
        "'rendezvous' needs where the micro-batches are listed" +
            remedy("list at most 2097152 micro-batches"));
  std::filesystem::remove(path);
}
