#include "trainers/pytorch/pipeline_csv.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/trainers/pipeline_csv.h"

using namespace penstock;
using namespace penstock::tests;

TEST_CASE("a compute-only file is a schedule; blanks are idle slots") {
  const PipelineCsv csv = read(kOneForwardOneBackward);
  CHECK(csv.form == PipelineCsvForm::kComputeOnly);
  CHECK(csv.ranks() == 2);
  CHECK(csv.chunks == 1);
  CHECK(csv.micro_batches == 3);
  CHECK(csv.rank_of_stage == std::vector<int>{0, 1});
  const Schedule schedule = schedule_of(csv, "mine");
  CHECK(schedule.name == "mine");
  CHECK(schedule.micro_batches == 3);
  CHECK(schedule.list(1).size() == 6);
  CHECK(write_pipeline_csv(schedule) == kWithoutBlanks);
}

TEST_CASE(
    "carriage returns, surrounding blanks, a missing last newline and leading zeros are read") {
  CHECK(read("0F0,0F1,0B0,0F2, 0B1\t,0B2\r\n1F0,1B0,01F1,1B1,1F02,1B2") == read(kWithoutBlanks));
}

TEST_CASE("the placement is that of the rows") {
  // A V of four stages on two ranks, and a placement that has no name.
  const PipelineCsv v = read("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n");
  CHECK(v.rank_of_stage == std::vector<int>{0, 1, 1, 0});
  CHECK(v.chunks == 2);
  const PipelineCsv other = read("1F0,2F0,2B0,1B0\n0F0,3F0,3B0,0B0\n");
  CHECK(other.rank_of_stage == std::vector<int>{1, 0, 0, 1});
}

TEST_CASE("micro-batches need not ascend, and one stage may have B and another I and W") {
  CHECK(refusal("0F1,0F0,0B0,0B1\n1F1,1I1,1F0,1W1,1I0,1W0\n") == "accepted");
}

TEST_CASE("an overlap is a pair in the list") {
  const PipelineCsv csv = read(kDualPipeV);
  CHECK(csv.lists[0].size() == 19);
  CHECK(csv.lists[0][7].kind == ActionKind::kForward);
  CHECK(csv.lists[0][7].overlaps_next);
  CHECK(csv.lists[0][8].kind == ActionKind::kFusedBackward);
  CHECK(!csv.lists[0][8].overlaps_next);
  CHECK(write_pipeline_csv(schedule_of(csv, "mine")) == kDualPipeV);
}

TEST_CASE("a compute_comms file keeps its order of sends and receives") {
  const PipelineCsv csv = read(kLowered);
  CHECK(csv.form == PipelineCsvForm::kComputeComms);
  const Program program = program_of(csv, "mine");
  CHECK(program.actions.size() == 30);
  CHECK(write_pipeline_csv(program) == kLowered);
  CHECK(write_pipeline_csv(schedule_of(csv, "mine")) == kWithoutBlanks);
}

// By the closed form (M+P-1)(F+B) + 2c(P + M - 3 - floor((M-2)/P)) = 4*3 ms + 2*0.1 ms*2.
TEST_CASE("the lowered file takes as long as the compute-only file") {
  const Duration expected(12'400'000);
  CHECK(makespan(lowered(read(kOneForwardOneBackward))) == expected);
  CHECK(makespan(program_of(read(kLowered), "mine")) == expected);
  CHECK(makespan(lowered(read(kLowered))) == expected);
}

// Neighbours on one rank hand over without a transfer; a pair stays together.
TEST_CASE("what lowering makes can be written, read and run again") {
  const Program program = lowered(read(kDualPipeV));
  const std::string text = write_pipeline_csv(program);
  CHECK(text.find("(0F3;3B1)OVERLAP_F_B,0SEND_F3,3SEND_B1,") != std::string::npos);
  CHECK(text.find("2SEND_F") != std::string::npos);
  CHECK(text.find("1SEND_F") == std::string::npos);
  const PipelineCsv csv = read(text);
  CHECK(csv.form == PipelineCsvForm::kComputeComms);
  CHECK(write_pipeline_csv(schedule_of(csv, "mine")) == kDualPipeV);
  const Program again = program_of(csv, "mine");
  CHECK(write_pipeline_csv(again) == text);
  CHECK(makespan(again) == makespan(program));
}

TEST_CASE("with recomputation an R stands before every backward, and is not written") {
  const Program program = program_of(read(kLowered), "mine", true);
  CHECK(program.actions.size() == 36);
  CHECK(write_pipeline_csv(program) == kLowered);
}

TEST_CASE("a file without rows, and a row without actions") {
  CHECK(refusal("") == "x.csv: the file is empty\nhelp: write one row per rank, as in 0F0,0B0");
  const std::string message =
      "x.csv:2: no action for rank 1; every row is a rank, and every rank has a stage\n"
      "help: remove the line, also at the end of the file";
  CHECK(refusal("0F0,0B0\n\n") == message);
  CHECK(refusal("0F0,0B0\n, ,\n") == message);
  CHECK(complaint("0UNSHARD\n") == "x.csv: no F in the file");
}

TEST_CASE("a byte-order mark is refused, since PyTorch refuses it") {
  CHECK(refusal("\xEF\xBB\xBF"
                "0F0,0B0\n") ==
        "x.csv:1:1: a byte-order mark precedes the first cell, and PyTorch refuses it\n"
        "help: save the file as UTF-8 without one");
}

TEST_CASE("a cell is an action as a whole, not only at its beginning") {
  CHECK(refusal("0F0,0B0x\n") ==
        "x.csv:1:2: '0B0x' (rank 0): is not an action; PyTorch would read 0B0 and ignore 'x'\n"
        "help: an action is STAGE, TYPE and MICRO-BATCH, for example 0F3; TYPE is one of F, I, W, "
        "B, SEND_F, RECV_F, SEND_B, RECV_B, and without a micro-batch UNSHARD, RESHARD, "
        "REDUCE_GRAD; penstock's own are LOAD, STORE and OPT");
  CHECK(
      complaint("0F0 0B0\n") ==
      "x.csv:1:1: '0F0 0B0' (rank 0): is not an action; PyTorch would read 0F0 and ignore ' 0B0'");
  CHECK(complaint("0F0\r,0B0\n") ==
        "x.csv:1:1: '0F0?' (rank 0): is not an action; PyTorch would read 0F0 and ignore '?'");
  CHECK(complaint("0F-1,0B0\n") ==
        "x.csv:1:1: '0F-1' (rank 0): is not an action; PyTorch would read 0F and ignore '-1'");
  CHECK(complaint("0F0,0R0,0B0\n") == "x.csv:1:2: '0R0' (rank 0): is no action");
  CHECK(complaint("\"0F0\",0B0\n") == "x.csv:1:1: '\"0F0\"' (rank 0): is no action");
  CHECK(complaint("0f0,0B0\n") == "x.csv:1:1: '0f0' (rank 0): is no action");
  CHECK(complaint("F0,0B0\n") == "x.csv:1:1: 'F0' (rank 0): is no action");
  CHECK(complaint(std::string(50, 'y') + "\n") ==
        "x.csv:1:1: '" + std::string(40, 'y') + "...' (rank 0): is no action");
}

TEST_CASE("a micro-batch where there must be one, and none where there is none") {
  CHECK(complaint("0F,0B0\n") ==
        "x.csv:1:1: '0F' (rank 0): has no micro-batch; PyTorch reads it and fails when it runs");
  CHECK(complaint("0UNSHARD0,0F0,0B0\n") ==
        "x.csv:1:1: '0UNSHARD0' (rank 0): has a micro-batch, but acts on the whole stage");
}

TEST_CASE("numbers that do not fit are refused") {
  CHECK(refusal("65535F0,0B0\n") ==
        "x.csv:1:1: '65535F0' (rank 0): the stage is too large\nhelp: at most 65534");
  CHECK(refusal("0F4294967295\n") ==
        "x.csv:1:1: '0F4294967295' (rank 0): the micro-batch is too large\n"
        "help: at most 4294967294");
  CHECK(refusal("0F99999999999999999999\n") ==
        "x.csv:1:1: '0F99999999999999999999' (rank 0): the micro-batch is too large\n"
        "help: at most 4294967294");
}

TEST_CASE("an overlap is one F and one B of another stage or micro-batch") {
  const std::string help =
      "\nhelp: an overlap is one F and one B of another stage or micro-batch: (0F7;7B3)OVERLAP_F_B";
  const std::string place = "x.csv:2:1: '(0F0;1B0)OVERLAP' (rank 1): ";
  CHECK(refusal("0F0\n(0F0;1B0)OVERLAP\n") == place + "is no overlap" + help);
  CHECK(complaint("(0F0;1B0\n") == "x.csv:1:1: '(0F0;1B0' (rank 0): is no overlap");
  CHECK(complaint("(0F0)OVERLAP_F_B\n") == "x.csv:1:1: '(0F0)OVERLAP_F_B' (rank 0): is no overlap");
  CHECK(complaint("(0F0;1B0)OVERLAP_F_B2\n") ==
        "x.csv:1:1: '(0F0;1B0)OVERLAP_F_B2' (rank 0): is no overlap");
  CHECK(complaint("(0F0;1B0;2B0)OVERLAP_F_B\n") ==
        "x.csv:1:1: '(0F0;1B0;2B0)OVERLAP_F_B' (rank 0): is not an action; PyTorch would read 1B0 "
        "and "
        "ignore ';2B0'");
  const std::string other = "overlaps other actions than one F and one B, in this order";
  CHECK(refusal("(0F0;1I0)OVERLAP_F_B\n") ==
        "x.csv:1:1: '(0F0;1I0)OVERLAP_F_B' (rank 0): " + other + help);
  CHECK(complaint("(1B0;0F0)OVERLAP_F_B\n") ==
        "x.csv:1:1: '(1B0;0F0)OVERLAP_F_B' (rank 0): " + other);
  CHECK(complaint("(0F0;0B0)OVERLAP_F_B\n") ==
        "x.csv:1:1: '(0F0;0B0)OVERLAP_F_B' (rank 0): overlaps a forward with its own backward");
  CHECK(refusal("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n") == "accepted");
}

TEST_CASE("the dialect of 2024 is refused, with what PyTorch would do silently") {
  CHECK(refusal("0F0,0F1,0BW0,0BW1\n1F0,1F1,1B0,1W0,1BW1\n") ==
        "x.csv:1:3: '0BW0' (rank 0): is of the dialect of 2024, where BW is the whole backward; "
        "today's PyTorch reads 0B without a micro-batch and ignores the rest\n"
        "help: --legacy-csv reads it, with B as I and BW as B; better write the file anew with I "
        "and B");
  CHECK(complaint("0F0,0B0,0W0\n") ==
        "x.csv:1:3: '0W0' (rank 0): is a W in a file without I, as in the dialect of 2024, where "
        "B is the input gradient; today's PyTorch takes B for the whole backward");
}

TEST_CASE("on request the dialect of 2024 is translated") {
  CHECK(read("0F0,0F1,0BW0,0BW1\n1F0,1F1,1B0,1W0,1BW1\n", LegacyCsv::kTranslate) ==
        read("0F0,0F1,0B0,0B1\n1F0,1F1,1I0,1W0,1B1\n"));
  CHECK(read("0F0,0B0,0W0\n", LegacyCsv::kTranslate) == read("0F0,0I0,0W0\n"));
  CHECK(refusal(kWithoutBlanks, LegacyCsv::kTranslate) ==
        "x.csv: --legacy-csv: nothing in it is of the dialect of 2024, which has BW cells, or W "
        "without I\nhelp: leave the option out");
}

TEST_CASE("two dialects in one file are refused") {
  const auto legacy = LegacyCsv::kTranslate;
  CHECK(refusal("0F0,0F1,0BW0,0I1,0W1\n", legacy) ==
        "x.csv:1:4: '0I1' (rank 0): mixes dialects: I is younger than BW\n"
        "help: write I and B, or B and BW");
  CHECK(complaint("0F0,1F0,(0F1;1BW0)OVERLAP_F_B\n", legacy) ==
        "x.csv:1:3: '(0F1;1BW0)OVERLAP_F_B' (rank 0): mixes dialects: overlaps are younger than "
        "BW");
}

TEST_CASE("compute_comms has no blank cells") {
  CHECK(refusal(with(kLowered, "0F1,", "0F1,,")) ==
        "x.csv:1:5: '' (rank 0): is blank, but the file holds communication (0UNSHARD in row 1), "
        "and PyTorch's compute_comms form has no blank cells\n"
        "help: leave blank cells out, also at the ends of rows");
  CHECK(complaint(with(kLowered, "0RESHARD", "0RESHARD,")) ==
        "x.csv:1:16: '' (rank 0): is blank, but the file holds communication (0UNSHARD in row 1), "
        "and PyTorch's compute_comms form has no blank cells");
}

TEST_CASE("what PyTorch's file cannot hold is not written") {
  Schedule schedule = schedule_of(read("0F0,1F0,1B0,0B0\n"), "mine");
  schedule.copies = 2;
  const auto message = [](const auto& value) {
    try {
      return write_pipeline_csv(value);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(message(schedule) ==
        "mine: keeps several copies of the weights, and PyTorch's CSV has one rank for a stage\n"
        "help: choose another schedule, or leave --csv out");
  Program program = program_of(read(kLowered), "mine");
  program.rule = RunTimeRule::kVaruna;
  CHECK(message(program) ==
        "mine: changes the order of a rank's actions while the step runs, and PyTorch's CSV is one "
        "order\nhelp: choose another schedule, or leave --csv out");
}

TEST_CASE("what the trainer does by itself is left out") {
  PipelineInput input;
  input.schedule = schedule_of(read(kWithoutBlanks), "mine");
  input.micro_batches.resize(3);
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = options.unshard = options.recompute = true;
  // kLowered without FSDP's actions: the gather after the optimizer is ZeRO-1's.
  std::string expected = with(with(kLowered, "0UNSHARD,", ""), ",0RESHARD", "");
  expected = with(with(expected, "1UNSHARD,", ""), ",1RESHARD", "");
  CHECK(write_pipeline_csv(lower({input}, options)) == expected);
}
