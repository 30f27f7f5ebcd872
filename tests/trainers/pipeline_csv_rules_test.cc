
#include <doctest/doctest.h>

#include "tests/trainers/pipeline_csv.h"

using namespace penstock;
using namespace penstock::tests;

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
        "x.csv:2:3: '1B1' (rank 1): comes before 1F1, which is in column 4 and which it needs\n"
        "help: exchange them");
  CHECK(complaint(with(kWithoutBlanks, "1F1,1B1", "1F1,1W1,1I1")) ==
        "x.csv:2:4: '1W1' (rank 1): comes before 1I1, which is in column 5 and which it needs");
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
        "x.csv:2:3: '1RECV_F0' (rank 1): comes after 1F0, which is in column 2 and needs what "
        "it receives\nhelp: move it before that");
}

TEST_CASE("what is sent has been made") {
  CHECK(refusal(with(kLowered, "0F0,0SEND_F0", "0SEND_F0,0F0")) ==
        "x.csv:1:2: '0SEND_F0' (rank 0): comes before 0F0, which is in column 3 and makes what "
        "it sends\nhelp: move it after that");
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
        "gathered\nhelp: put it after an UNSHARD and the actions that need the weights");
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
