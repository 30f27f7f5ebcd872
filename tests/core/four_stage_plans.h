// Two plans of four stages on two ranks, small enough for paper. In both F = 1 us, B = 2 us, a
// transfer 0.5 us, NORM 10 ns, OPT 100 ns per stage.
#pragma once

#include <string>
#include <string_view>

#include "tests/core/tiny_plan.h"

namespace penstock {

// What differs between them.
struct FourStages {
  std::string_view plan, sections, stages, boundary_level;
  std::string_view ties, tied_reduce;
  std::string_view last_transfer_ns;  // of stage 1, to stage 2
  std::string_view groups, copies, chain, micro_batches, rank_0, rank_1;
  std::string_view makespan_ns, ideal_ns, memory_0, memory_1, time_0, time_1;
};

inline std::string stage_prices(int parameters, std::string_view transfer_ns, int working_peak) {
  const auto bytes = [&](int more) { return std::to_string(parameters + more); };
  const std::string transfer(transfer_ns);
  return R"({"parameters_bytes": )" + bytes(0) + R"(, "gradients_bytes": )" + bytes(1) +
         R"(, "optimizer_state_bytes": )" + bytes(2) +
         R"(, "reduce_gradient_ns": 40, "optimizer_ns": 100, "unshard_ns": 30, "shapes": [
        {"forward_ns": 1000, "input_gradient_ns": 1100, "weight_gradient_ns": 900,
         "fused_backward_ns": 2000, "recompute_ns": 0, "overlap_gain_ns": 400,
         "send_activation_ns": )" +
         transfer + R"(, "receive_gradient_ns": )" + transfer +
         R"(, "stash_bytes": 100,
         "weight_stash_bytes": 30, "working_peak_bytes": )" +
         std::to_string(working_peak) + R"(, "boundary_bytes": 5}]})";
}

inline std::string plan_text(const FourStages& p) {
  const auto text = [](std::string_view part) { return std::string(part); };
  return R"({
  "format": "penstock.plan/1", "model": "four", "tool_version": "0.1.0",
  "inputs": {"profile": {"path": "four.json", "hash": "fnv1a64:0123456789abcdef"},
             "cluster": {"path": "two.json", "hash": "fnv1a64:fedcba9876543210"}},
  "plan": {
    "group": 0, "pipeline": 2, "chunks": 2, "data": 1, "tensor": 1, "micro_batch_size": 1,
    "sequence_length": 0, "recompute": "none", "placement": "pipeline_inner", "device": "toy",
    )" + text(p.plan) +
         R"(},
  "sections": )" +
         text(p.sections) + R"(,
  "stages": )" +
         text(p.stages) +
         R"(,
  "cluster": {
    "name": "two", "device": "toy", "memory_per_device_bytes": 1000, "reserve_bytes": 50,
    "usd_per_hour": 0, "devices_per_node": 2, "levels": ["wire"],
    "boundary_level": )" +
         text(p.boundary_level) + R"(},
  "ties": )" +
         text(p.ties) +
         R"(,
  "executor": {
    "name": "ideal", "transfer": "async", "queues": "none", "receive_must_be_posted": false,
    "issue": "eager", "optimizer": "global_barrier",
    "per_action_ns": 0, "per_transfer_ns": 0, "per_step_ns": 0},
  "prices": {
    "stages": [
      )" +
         stage_prices(10, "500", 7) + ",\n      " + stage_prices(20, p.last_transfer_ns, 8) +
         ",\n      " + stage_prices(10, "500", 7) + ",\n      " + stage_prices(20, "0", 8) + R"(],
    "ties": )" +
         text(p.tied_reduce) +
         R"(, "norm_ns": 10},
  "program": {
    "schedule": "by hand", "rule": "none",
    "groups": )" +
         text(p.groups) + R"(,
    "pipelines": [{
      "replicas": 1, "copies": )" +
         text(p.copies) + R"(,
      "stages": )" +
         text(p.chain) +
         R"(,
      "micro_batches": [{"count": )" +
         text(p.micro_batches) + R"(, "samples": 1, "sequence_length": 0, "shape": 0, "slice": 0,
                         "loss_weight": 1}],
      "ranks": [[)" +
         text(p.rank_0) + "],\n                [" + text(p.rank_1) + R"(]]}]},
  "prediction": {
    "step_time_ns": )" +
         text(p.makespan_ns) + R"(, "step_time_low_ns": 10000, "step_time_high_ns": 20000,
    "makespan_ns": )" +
         text(p.makespan_ns) + R"(, "longest_span_ns": )" + text(p.makespan_ns) +
         R"(, "ideal_ns": )" + text(p.ideal_ns) + R"(, "cost_usd_per_step": 0,
    "ranks": [
      {"memory": )" +
         text(p.memory_0) + R"(, "capacity_bytes": 1000, "time": )" + text(p.time_0) + R"(},
      {"memory": )" +
         text(p.memory_1) + R"(, "capacity_bytes": 1000, "time": )" + text(p.time_1) + R"(}],
    "assumptions": []},
  "not_searched": []
})";
}

// Two copies of the weights and OVERLAP pairs: stages 0, 1 on ranks 0, 1 take micro-batches 0, 1;
// stages 2, 3 on ranks 1, 0 take 2, 3. Rank 1 is rank 0 with the copies exchanged. The pair takes
// 1 + 2 - 0.4 us.
//
//   us      0    1  1.5  2.5            5.1 5.6  6.6   8.6   10.6 11.1   13.1
//   rank 0  |0F0 |   |3F2|(0F1;3B2)      |   |3F3 |0B0  |3B3  |    |0B1   |
//   rank 1  |2F2 |   |1F0|(2F3;1B0)      |   |1F1 |2B2  |1B1  |    |2B3   |
//
// The tied weights of all four stages are reduced in 20 ns: to 13,120; stages 0 and 2 reduce in 40
// ns, to 13,160, then 1 and 3, to 13,200; NORM to 13,210; OPT to 13,310 and 13,410; UNSHARD of
// stages 0 and 2, whose OPT comes second on rank 1, in 30 ns to 13,440, of 1 and 3 to 13,470. A
// rank is busy for 3 F + 3 B + 2,600 + 200 = 11,800 ns.
//
// Memory of a rank: two stages, three stashes, the working peaks of both members of the pair (7 +
// 8), a buffer of 5 bytes for each of four kinds of transfer:
//   30 + 32 + 34 + 300 + 15 + 20 + 50 = 481.
inline constexpr FourStages kTwoCopies{
    .plan = R"("schedule": "by hand", "stage_map": "bidirectional", "global_batch": 4,
    "zero1": true, "cuts": [0, 1, 2])",
    .sections = R"(["first", "second"])",
    .stages = R"([
    {"index": 0, "rank": 0, "first_section": "first", "last_section": "first", "sections": 1},
    {"index": 1, "rank": 1, "first_section": "second", "last_section": "second", "sections": 1},
    {"index": 2, "rank": 1, "first_section": "first", "last_section": "first", "sections": 1},
    {"index": 3, "rank": 0, "first_section": "second", "last_section": "second", "sections": 1}])",
    .boundary_level = "[0, -1, 0]",
    .ties = R"([{"name": "embedding", "stages": [0, 1, 2, 3]}])",
    .tied_reduce = R"([{"tied_reduce_ns": 20}])",
    .last_transfer_ns = "0",
    .groups = R"([{"kind": "data_parallel", "name": "dp.stage0", "stages": [0, 2]},
               {"kind": "data_parallel", "name": "dp.stage1", "stages": [1, 3]},
               {"kind": "tied_weights", "name": "tied.embedding", "stages": [0, 1, 2, 3]},
               {"kind": "job", "name": "job", "stages": [0, 1]}])",
    .copies = "2",
    .chain = R"([{"rank": 0, "next": 1, "weight_set": 0, "task": 0},
                 {"rank": 1, "previous": 0, "weight_set": 1, "task": 0},
                 {"rank": 1, "next": 3, "weight_set": 0, "task": 0},
                 {"rank": 0, "previous": 2, "weight_set": 1, "task": 0}])",
    .micro_batches = "4",
    .rank_0 = R"(["0F0", "0SEND_F0", "3RECV_F2", "3F2", "(0F1;3B2)OVERLAP_F_B", "0SEND_F1",
                  "3SEND_B2", "3RECV_F3", "3F3", "0RECV_B0", "0B0", "3B3", "3SEND_B3", "0RECV_B1",
                  "0B1", "0TIED_REDUCE", "3TIED_REDUCE", "0REDUCE_GRAD", "3REDUCE_GRAD", "0NORM",
                  "0OPT", "3OPT", "0UNSHARD", "3UNSHARD"])",
    .rank_1 = R"(["2F2", "2SEND_F2", "1RECV_F0", "1F0", "(2F3;1B0)OVERLAP_F_B", "2SEND_F3",
                  "1SEND_B0", "1RECV_F1", "1F1", "2RECV_B2", "2B2", "1B1", "1SEND_B1", "2RECV_B3",
                  "2B3", "1TIED_REDUCE", "2TIED_REDUCE", "2REDUCE_GRAD", "1REDUCE_GRAD", "1NORM",
                  "1OPT", "2OPT", "2UNSHARD", "1UNSHARD"])",
    .makespan_ns = "13470",
    .ideal_ns = "11800",
    .memory_0 = R"({"parameters_bytes": 30, "gradients_bytes": 32, "optimizer_state_bytes": 34,
                 "stash_bytes": 300, "working_peak_bytes": 15, "communication_bytes": 20,
                 "reserve_bytes": 50})",
    .memory_1 = R"({"parameters_bytes": 30, "gradients_bytes": 32, "optimizer_state_bytes": 34,
                 "stash_bytes": 300, "working_peak_bytes": 15, "communication_bytes": 20,
                 "reserve_bytes": 50})",
    .time_0 = R"({"busy_ns": 11800, "warm_up_ns": 500, "drain_ns": 0, "imbalance_ns": 0,
               "order_ns": 0, "transfer_ns": 1000, "barrier_ns": 170})",
    .time_1 = R"({"busy_ns": 11800, "warm_up_ns": 500, "drain_ns": 0, "imbalance_ns": 0,
               "order_ns": 0, "transfer_ns": 1000, "barrier_ns": 170})",
};

// A V: stages 0 and 3 on rank 0, 1 and 2 on rank 1, where nothing is sent. One micro-batch.
//
//   us      0    1  1.5  2.5  3.5  4    5    7  7.5   9.5   11.5  12   14
//   rank 0  |0F0 |                 |3F0 |3B0 |                     |0B0 |
//   rank 1          |1F0 |2F0 |               |2B0   |1B0  |
//
// NORM to 14,010 ns, OPT to 14,110 and 14,210. Rank 0 is busy for 6,200 ns from the start on, rank
// 1 for as long from 1,500 on.
//
// Memory: two stages each; both hold two stashes. Rank 0 sends from and receives into four buffers
// of 5 bytes, rank 1 too: 30 + 32 + 34 + 200 + 8 + 20 + 50 = 374.
inline constexpr FourStages kV{
    .plan = R"("schedule": "by hand", "stage_map": "v", "global_batch": 1, "zero1": false,
    "cuts": [0, 1, 2, 3, 4])",
    .sections = R"(["a", "b", "c", "d"])",
    .stages = R"([
    {"index": 0, "rank": 0, "first_section": "a", "last_section": "a", "sections": 1},
    {"index": 1, "rank": 1, "first_section": "b", "last_section": "b", "sections": 1},
    {"index": 2, "rank": 1, "first_section": "c", "last_section": "c", "sections": 1},
    {"index": 3, "rank": 0, "first_section": "d", "last_section": "d", "sections": 1}])",
    .boundary_level = "[0, -1, 0]",
    .ties = "[]",
    .tied_reduce = "[]",
    .last_transfer_ns = "0",
    .groups = R"([{"kind": "job", "name": "job", "stages": [0, 1]}])",
    .copies = "1",
    .chain = R"([{"rank": 0, "next": 1, "weight_set": 0, "task": 0},
                 {"rank": 1, "previous": 0, "next": 2, "weight_set": 1, "task": 0},
                 {"rank": 1, "previous": 1, "next": 3, "weight_set": 2, "task": 0},
                 {"rank": 0, "previous": 2, "weight_set": 3, "task": 0}])",
    .micro_batches = "1",
    .rank_0 = R"(["0F0", "0SEND_F0", "3RECV_F0", "3F0", "3B0", "3SEND_B0", "0RECV_B0", "0B0",
                  "0NORM", "0OPT", "3OPT"])",
    .rank_1 = R"(["1RECV_F0", "1F0", "2F0", "2SEND_F0", "2RECV_B0", "2B0", "1B0", "1SEND_B0",
                  "1NORM", "1OPT", "2OPT"])",
    .makespan_ns = "14210",
    .ideal_ns = "6200",
    .memory_0 = R"({"parameters_bytes": 30, "gradients_bytes": 32, "optimizer_state_bytes": 34,
                 "stash_bytes": 200, "working_peak_bytes": 8, "communication_bytes": 20,
                 "reserve_bytes": 50})",
    .memory_1 = R"({"parameters_bytes": 30, "gradients_bytes": 32, "optimizer_state_bytes": 34,
                 "stash_bytes": 200, "working_peak_bytes": 8, "communication_bytes": 20,
                 "reserve_bytes": 50})",
    .time_0 = R"({"busy_ns": 6200, "warm_up_ns": 3000, "drain_ns": 5000, "imbalance_ns": 0,
               "order_ns": 0, "transfer_ns": 0, "barrier_ns": 10})",
    .time_1 = R"({"busy_ns": 6200, "warm_up_ns": 1500, "drain_ns": 4000, "imbalance_ns": 0,
               "order_ns": 0, "transfer_ns": 0, "barrier_ns": 2510})",
};

inline PlanFile four_stages(const FourStages& plan, const Edits& edits = {}) {
  return plan_of(edited(plan_text(plan), edits));
}

}  // namespace penstock
