#include "report/pipeline_csv.h"

#include <string>

#include <doctest/doctest.h>

#include "core/error.h"
#include "simulator/lower.h"
#include "simulator/simulate.h"

using namespace penstock;

namespace {

// 1F1B, P = 2, M = 3, as PyTorch pads it: rank 1 starts a slot later.
constexpr const char* kOneForwardOneBackward =
    "0F0,0F1,,0B0,0F2,0B1,,0B2\n"
    ",1F0,1B0,1F1,1B1,1F2,1B2\n";
constexpr const char* kWithoutBlanks =
    "0F0,0F1,0B0,0F2,0B1,0B2\n"
    "1F0,1B0,1F1,1B1,1F2,1B2\n";
// The same as PyTorch lowers it, for FSDP.
constexpr const char* kLowered =
    "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,0SEND_F2,0RECV_B1,0B1,0RECV_B2,0B2,"
    "0REDUCE_GRAD,0RESHARD\n"
    "1UNSHARD,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1RECV_F2,1B1,1SEND_B1,1F2,1B2,1SEND_B2,"
    "1REDUCE_GRAD,1RESHARD\n";
// DualPipeV, P = 2, M = 4, by the eight steps of docs/schedules.md.
constexpr const char* kDualPipeV =
    "0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,(3F2;0B0)OVERLAP_F_B,3B2,"
    "(3F3;0B1)OVERLAP_F_B,3B3,0I2,0W2,0I3,0W3\n"
    "1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,(1F3;2B1)OVERLAP_F_B,(2F3;1B1)OVERLAP_F_B,2B2,"
    "1B2,2I3,1I3,2W3,1W3\n";

PipelineCsv read(std::string_view text, LegacyCsv legacy = LegacyCsv::kRefuse) {
  return read_pipeline_csv(text, "x.csv", legacy);
}

// The message, or "accepted".
std::string refusal(std::string_view text, LegacyCsv legacy = LegacyCsv::kRefuse) {
  try {
    const PipelineCsv csv = read(text, legacy);
    CHECK(csv.ranks() > 0);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadInput);
    return error.what();
  }
  return "accepted";
}
// Without its last line, the remedy.
std::string complaint(std::string_view text, LegacyCsv legacy = LegacyCsv::kRefuse) {
  const std::string message = refusal(text, legacy);
  CHECK(message.find("\nhelp: ") != std::string::npos);
  return message.substr(0, message.find('\n'));
}

std::string with(std::string text, const std::string& what, const std::string& by) {
  REQUIRE(text.find(what) != std::string::npos);
  return text.replace(text.find(what), what.size(), by);
}

// F 1 ms, B 2 ms, I and W 1 ms; transfers 0.1 ms.
StagePrices prices(int stages) {
  ComputePrice compute;
  compute.forward.duration = Duration(1'000'000);
  compute.input_gradient.duration = compute.weight_gradient.duration = Duration(1'000'000);
  compute.fused_backward.duration = Duration(2'000'000);
  StagePrices prices;
  prices.stages = stages;
  prices.compute.assign(static_cast<std::size_t>(stages), compute);
  const Price transfer{Duration(100'000), {}};
  prices.transfer.assign(static_cast<std::size_t>(stages), {transfer, transfer});
  prices.transfer.back() = {};
  prices.step.resize(static_cast<std::size_t>(stages));
  return prices;
}

Program lowered(const PipelineCsv& csv) {
  PipelineInput input;
  input.schedule = schedule_of(csv, "mine");
  input.micro_batches.resize(static_cast<std::size_t>(csv.micro_batches));
  return lower({input}, {});
}

Duration makespan(const Program& program) {
  return simulate_summary(program, prices(static_cast<int>(program.stages.size())), {}).makespan;
}

}  // namespace

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
        "x.csv:1:1: a byte-order mark stands before the first cell, and PyTorch refuses it\n"
        "help: save the file as UTF-8 without one");
}

TEST_CASE("a cell is an action as a whole, not only at its beginning") {
  CHECK(refusal("0F0,0B0x\n") ==
        "x.csv:1:2: '0B0x' (rank 0): is no action; PyTorch would read 0B0 and ignore 'x'\n"
        "help: an action is STAGE, TYPE and MICRO-BATCH, for example 0F3; TYPE is one of F, I, W, "
        "B, SEND_F, RECV_F, SEND_B, RECV_B, and without a micro-batch UNSHARD, RESHARD, "
        "REDUCE_GRAD");
  CHECK(complaint("0F0 0B0\n") ==
        "x.csv:1:1: '0F0 0B0' (rank 0): is no action; PyTorch would read 0F0 and ignore ' 0B0'");
  CHECK(complaint("0F0\r,0B0\n") ==
        "x.csv:1:1: '0F0?' (rank 0): is no action; PyTorch would read 0F0 and ignore '?'");
  CHECK(complaint("0F-1,0B0\n") ==
        "x.csv:1:1: '0F-1' (rank 0): is no action; PyTorch would read 0F and ignore '-1'");
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
        "x.csv:1:1: '(0F0;1B0;2B0)OVERLAP_F_B' (rank 0): is no action; PyTorch would read 1B0 and "
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

TEST_CASE("a stage lives on one rank") {
  CHECK(refusal("0F0,0B0,1F0,1B0\n1F1,1B1,0F1,0B1\n") ==
        "x.csv:2:1: '1F1' (rank 1): stage 1 is on rank 0 already ('1F0'); PyTorch takes the "
        "placement from the rows and has one rank for a stage\n"
        "help: move the action to its stage's row; two copies of a stage, as DualPipe has, cannot "
        "be loaded");
}

TEST_CASE("stages are numbered without gaps, and every rank has as many") {
  CHECK(refusal("0F0,0B0\n2F0,2B0\n") ==
        "x.csv:2:1: '2F0' (rank 1): there is a stage 2, but no stage 1\n"
        "help: number the stages from 0, without gaps");
  CHECK(refusal("0F0,2F0,2B0,0B0\n1F0,1B0\n") ==
        "x.csv:2: rank 1 has 1 of the stages, rank 0 has 2\n"
        "help: give every rank the same number of stages");
}

TEST_CASE("every stage has one F of every micro-batch") {
  CHECK(refusal(with(kWithoutBlanks, "1F2,", "")) ==
        "x.csv:2: 1F2 is missing (rank 1); the file has micro-batches up to 2 ('0F2' in row 1), "
        "and every stage has one F of each\n"
        "help: add it, or correct the highest micro-batch");
  // A slip in one number does not make tables for four billion micro-batches.
  CHECK(complaint(with(kWithoutBlanks, "1F2,", "1F4000000000,")) ==
        "x.csv:1: 0F3 is missing (rank 0); the file has micro-batches up to 4000000000 "
        "('1F4000000000' in row 2), and every stage has one F of each");
  CHECK(refusal(with(kWithoutBlanks, "1F2,", "1F2,1F2,")) ==
        "x.csv:2:6: '1F2' (rank 1): 1F2 is in column 5 already\nhelp: keep one of them");
}

TEST_CASE("every stage and micro-batch has one B, or one I and one W") {
  const std::string help =
      "\nhelp: give every stage and micro-batch either one B, or one I and one W";
  CHECK(refusal(with(kWithoutBlanks, ",1B1", "")) ==
        "x.csv:2:3: '1F1' (rank 1): has no backward" + help);
  CHECK(refusal(with(kWithoutBlanks, "1B1", "1B1,1I1")) ==
        "x.csv:2:5: '1I1' (rank 1): 1B1 is there too, and is the whole backward" + help);
  CHECK(refusal(with(kWithoutBlanks, "1B1", "1I1")) ==
        "x.csv:2:4: '1I1' (rank 1): is an I without its W" + help);
  CHECK(refusal(with(with(kWithoutBlanks, "1B1", "1W1"), "0B0", "0I0,0W0")) ==
        "x.csv:2:4: '1W1' (rank 1): is a W without its I" + help);
  // PyTorch counts per stage, and 2 B + (1 I + 1 W) / 2 are three backwards.
  CHECK(complaint(with(kWithoutBlanks, "1B1", "1I0,1W0")) ==
        "x.csv:2:4: '1I0' (rank 1): 1B0 is there too, and is the whole backward");
}

TEST_CASE("in a row F comes before B or I, and I before W") {
  CHECK(refusal(with(kWithoutBlanks, "1F1,1B1", "1B1,1F1")) ==
        "x.csv:2:3: '1B1' (rank 1): comes before 1F1, which stands in column 4 and which it needs\n"
        "help: exchange them");
  CHECK(complaint(with(kWithoutBlanks, "1F1,1B1", "1F1,1W1,1I1")) ==
        "x.csv:2:4: '1W1' (rank 1): comes before 1I1, which stands in column 5 and which it needs");
}

TEST_CASE("rows that wait for each other are refused with the cycle") {
  // Rank 0 wants the gradient of micro-batch 0 before it makes the activation of 1; rank 1 wants
  // both activations first.
  CHECK(refusal("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n") ==
        "x.csv: the lists wait for each other: 0B0 waits for 1B0, which comes after 1F1 on rank "
        "1; 1F1 waits for 0F1, which comes after 0B0 on rank 0\n"
        "help: move one of them in its row");
}

TEST_CASE("a pair starts when both members can") {
  // One after the other they could run: 0F1, 1F1, 3B0, 2B0.
  const char* apart =
      "0F0,2F0,0F1,2B0,2F1,2B1,0B0,0B1\n"
      "1F0,3F0,1F1,3B0,3F1,3B1,1B0,1B1\n";
  CHECK(refusal(apart) == "accepted");
  CHECK(complaint(with(apart, "0F1,2B0", "(0F1;2B0)OVERLAP_F_B")) ==
        "x.csv: the lists wait for each other: 2B0 waits for 3B0, which comes after 1F1 on rank "
        "1; 1F1 waits for 0F1, which overlaps 2B0");
}

TEST_CASE("a transfer has its other end") {
  CHECK(refusal(with(kLowered, "1RECV_F1,", "")) ==
        "x.csv:1:5: '0SEND_F1' (rank 0): its other end, 1RECV_F1, is not in the file\n"
        "help: add it to row 2 (rank 1)");
  CHECK(refusal(with(kLowered, "1SEND_B1,", "")) ==
        "x.csv:1:10: '0RECV_B1' (rank 0): its other end, 1SEND_B1, is not in the file\n"
        "help: add it to row 2 (rank 1)");
  // On the wrong rank it would give that rank the stage.
  CHECK(complaint(with(with(kLowered, "1RECV_F0,", ""), "0F0,", "0F0,1RECV_F0,")) ==
        "x.csv:2:1: '1UNSHARD' (rank 1): stage 1 is on rank 0 already ('1RECV_F0'); PyTorch takes "
        "the placement from the rows and has one rank for a stage");
}

TEST_CASE("nothing is sent beyond the ends of the pipeline, nor within a rank") {
  CHECK(refusal(with(kLowered, "1B0,", "1B0,1SEND_F0,")) ==
        "x.csv:2:6: '1SEND_F0' (rank 1): stage 1 is the last, so there is no other end\n"
        "help: remove it");
  CHECK(complaint(with(kLowered, "0F0,", "0RECV_F0,0F0,")) ==
        "x.csv:1:2: '0RECV_F0' (rank 0): stage 0 is the first, so there is no other end");
  CHECK(refusal("0F0,0SEND_F0,1RECV_F0,1F0,1B0,0B0\n") ==
        "x.csv:1:2: '0SEND_F0' (rank 0): stages 0 and 1 are on one rank, where PyTorch hands over "
        "without a transfer\nhelp: remove it and its other end");
}

TEST_CASE("what comes from another rank is received, before it is used") {
  CHECK(refusal(with(with(kLowered, "1RECV_F1,", ""), "0SEND_F1,", "")) ==
        "x.csv:2:6: '1F1' (rank 1): the activation of stage 0 never arrives: 1RECV_F1 is not in "
        "the file\nhelp: add it before, and 0SEND_F1 to row 1 (rank 0)");
  CHECK(complaint(with(with(kLowered, "1SEND_B1,", ""), "0RECV_B1,", "")) ==
        "x.csv:1:10: '0B1' (rank 0): the gradient of stage 1 never arrives: 0RECV_B1 is not in "
        "the file");
  CHECK(refusal(with(kLowered, "1RECV_F0,1F0", "1F0,1RECV_F0")) ==
        "x.csv:2:3: '1RECV_F0' (rank 1): comes after 1F0, which stands in column 2 and needs what "
        "it receives\nhelp: move it before that");
}

TEST_CASE("what is sent has been made") {
  CHECK(refusal(with(kLowered, "0F0,0SEND_F0", "0SEND_F0,0F0")) ==
        "x.csv:1:2: '0SEND_F0' (rank 0): comes before 0F0, which stands in column 3 and makes what "
        "it sends\nhelp: move it behind that");
}

TEST_CASE("receives stand in the order of the sends") {
  // Both activations have the same shape, so nobody would notice.
  CHECK(refusal(with(with(kLowered, "1RECV_F1,", "1RECV_F2,1RECV_F1,"), "1F1,1RECV_F2", "1F1")) ==
        "x.csv:2:4: '1RECV_F2' (rank 1): would receive what 0SEND_F1 sends (row 1, column 5): "
        "PyTorch matches the transfers from rank 0 to rank 1 by their order\n"
        "help: put the receives in the order of the sends");
}

TEST_CASE("in list order nobody waits for a transfer that comes later") {
  // 1RECV_F1 stands before what rank 0 needs to send it.
  const char* text =
      "0F0,0SEND_F0,0RECV_B0,0B0,0F1,0SEND_F1,0RECV_B1,0B1\n"
      "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";
  CHECK(complaint(text) ==
        "x.csv: the lists wait for each other: 0RECV_B0 waits for 1SEND_B0, which comes after "
        "1RECV_F1 on rank 1; 1RECV_F1 waits for 0SEND_F1, which comes after 0RECV_B0 on rank 0");
}

TEST_CASE("weights are gathered when they are used, and once") {
  CHECK(refusal(with(kLowered, "0F1,", "0UNSHARD,0F1,")) ==
        "x.csv:1:4: '0UNSHARD' (rank 0): the weights of the stage are gathered already\n"
        "help: remove it, or put a RESHARD in between");
  CHECK(refusal(with(kLowered, "0UNSHARD,0F0", "0F0,0UNSHARD")) ==
        "x.csv:1:1: '0F0' (rank 0): the weights of the stage are not gathered here\n"
        "help: put 0UNSHARD before");
  CHECK(complaint(with(kLowered, "0F2,", "0RESHARD,0F2,")) ==
        "x.csv:1:9: '0F2' (rank 0): the weights of the stage are not gathered here");
  CHECK(refusal(with(kLowered, "0F2,", "0RESHARD,0UNSHARD,0F2,")) == "accepted");
  CHECK(refusal(with(kLowered, "0F2,", "0RESHARD,0UNSHARD,0RESHARD,0UNSHARD,0F2,")) ==
        "x.csv:1:10: '0RESHARD' (rank 0): frees weights that nothing has used since they were "
        "gathered\nhelp: put it behind an UNSHARD and the actions that need the weights");
  CHECK(complaint(with(kLowered, "0F2,", "0RESHARD,0RESHARD,0UNSHARD,0F2,")) ==
        "x.csv:1:9: '0RESHARD' (rank 0): the weights of the stage are not gathered");
  CHECK(refusal(with(kLowered, "1RESHARD", "1RESHARD,1UNSHARD")) ==
        "x.csv:2:16: '1UNSHARD' (rank 1): gathers weights that nothing uses\nhelp: remove it");
}

TEST_CASE("weights may be gathered several times in a step, whatever the executor") {
  const PipelineCsv csv = read(with(kLowered, "0F2,", "0RESHARD,0UNSHARD,0F2,"));
  const Program program = program_of(csv, "mine");
  CHECK(makespan(program) == Duration(12'400'000));
  CHECK(simulate_by_worklist(program, prices(2), {}) == simulate(program, prices(2), {}));
}

TEST_CASE("gradients are reduced once per stage, after the last of them, on every stage") {
  CHECK(refusal(with(kLowered, "0REDUCE_GRAD", "0REDUCE_GRAD,0REDUCE_GRAD")) ==
        "x.csv:1:15: '0REDUCE_GRAD' (rank 0): 0REDUCE_GRAD is in column 14 already\n"
        "help: keep the last one");
  CHECK(refusal(with(kLowered, "0B2,0REDUCE_GRAD", "0REDUCE_GRAD,0B2")) ==
        "x.csv:1:13: '0REDUCE_GRAD' (rank 0): comes before the last W or B of its stage; 2 of 3 "
        "micro-batches are done\nhelp: move it behind");
  CHECK(refusal(with(kLowered, "1REDUCE_GRAD,", "")) ==
        "x.csv:1:14: '0REDUCE_GRAD' (rank 0): 1REDUCE_GRAD is missing; gradients of a stage "
        "without one are neither reduced nor scaled\n"
        "help: give every stage one, after its last W or B");
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
