// A plan written by hand whose eight micro-batches all differ in shape; worked out on paper.
#pragma once

#include <string>

namespace penstock::testing {

// Eight micro-batches of eight shapes, 1F1B on two ranks. A micro-batch of size s takes F = s us
// and B = 2 s us on either rank and s / 10 us per transfer. Sizes, in order: 3 1 8 2 5 7 4 6.
//
//   us, rank 0  F0 0-3  F1 3-4  B0 12.6-18.6  F2 18.6-26.6  B1 26.6-28.6  F3 28.6-30.6
//               B2 52.2-68.2  F4 68.2-73.2  B3 73.2-77.2  F5 77.2-84.2  B4 89.2-99.2
//               F6 99.2-103.2  B5 110.4-124.4  F7 124.4-130.4  B6 130.4-138.4  B7 149.6-161.6
//       rank 1  F0 3.3-6.3  B0 6.3-12.3  F1 12.3-13.3  B1 13.3-15.3  F2 27.4-35.4  B2 35.4-51.4
//               F3 51.4-53.4  B3 53.4-57.4  F4 73.7-78.7  B4 78.7-88.7  F5 88.7-95.7
//               B5 95.7-109.7  F6 109.7-113.7  B6 113.7-121.7  F7 131-137  B7 137-149
//
// Then NORM 10 ns and OPT 100 ns: 161,710 ns. Both ranks are busy for 3 x 36 us and the optimizer.
//
// Bytes: a stash takes 10 s on rank 0 and 20 s on rank 1, work 7 s and 8 s, a boundary 5 s. Rank 0
// holds two neighbours at once, at most 5 and 7: 120 (two of the largest would be 160); rank 1 one,
// at most 160. A boundary has 40 bytes at most: each rank receives into one and four more that are
// posted ahead, and sends from two: 280.
inline constexpr int kEightSizes[] = {3, 1, 8, 2, 5, 7, 4, 6};

inline std::string times(int number, int of) { return std::to_string(number * of); }

inline std::string prices_of_stage(int stash, int working, bool sends) {
  std::string shapes;
  for (const int s : kEightSizes) {
    const std::string hop = sends ? times(100, s) : "0";
    shapes +=
        (shapes.empty() ? "" : ", ") +
        (R"({"forward_ns": )" + times(1000, s) + R"(, "input_gradient_ns": )" + times(1100, s) +
         R"(, "weight_gradient_ns": )" + times(900, s) + R"(, "fused_backward_ns": )" +
         times(2000, s) + R"(, "recompute_ns": 0, "overlap_gain_ns": 0, "send_activation_ns": )" +
         hop + R"(, "receive_gradient_ns": )" + hop + R"(, "stash_bytes": )" + times(stash, s) +
         R"(, "weight_stash_bytes": 0, "working_peak_bytes": )" + times(working, s) +
         R"(, "boundary_bytes": )" + times(5, s) + "}");
  }
  return R"({"parameters_bytes": 10, "gradients_bytes": 11, "optimizer_state_bytes": 12,
             "reduce_gradient_ns": 0, "optimizer_ns": 100, "unshard_ns": 0, "shapes": [)" +
         shapes + "]}";
}

inline std::string rank_of_prediction(int stash, int working) {
  return R"({"memory": {"parameters_bytes": 10, "gradients_bytes": 11, "optimizer_state_bytes": 12,
             "stash_bytes": )" +
         std::to_string(stash) + R"(, "working_peak_bytes": )" + std::to_string(working) +
         R"(, "communication_bytes": 280, "reserve_bytes": 50}, "capacity_bytes": 1000,
             "time": {"busy_ns": 108100, "warm_up_ns": 53610, "drain_ns": 0, "imbalance_ns": 0,
                      "order_ns": 0, "transfer_ns": 0, "barrier_ns": 0}})";
}

inline std::string eight_shapes() {
  std::string shapes, runs, micro_batches;
  for (int m = 0; m < 8; ++m) {
    const std::string comma = m == 0 ? "" : ", ", samples = std::to_string(kEightSizes[m]);
    shapes += comma + R"({"samples": )" + samples + R"(, "tokens": )" + times(16, m + 1) + "}";
    runs += comma + R"({"count": 1, "shape": )" + std::to_string(m) + "}";
    micro_batches += comma + R"({"count": 1, "samples": )" + samples + R"(, "sequence_length": )" +
                     times(16, m + 1) + R"(, "shape": )" + std::to_string(m) + R"(, "slice": 0})";
  }
  return R"({"format": "penstock.plan/2", "model": "by hand", "tool_version": "0.1.0",
    "inputs": {"profile": {"path": "p.json", "hash": "fnv1a64:0123456789abcdef"},
               "cluster": {"path": "c.json", "hash": "fnv1a64:fedcba9876543210"}},
    "plan": {"schedule": "1f1b", "group": 0, "pipeline": 2, "chunks": 1, "stage_map": "loop",
      "data": 1, "tensor": 1,
      "batch": {"shapes": [)" +
         shapes + R"(], "replicas": [{"replicas": 1, "micro_batches": [)" + runs + R"(]}]},
      "recompute": "none", "zero1": false, "placement": "pipeline_inner", "device": "toy",
      "cuts": [0, 1, 2]},
    "sections": ["first", "second"],
    "stages": [
      {"index": 0, "rank": 0, "first_section": "first", "last_section": "first", "sections": 1},
      {"index": 1, "rank": 1, "first_section": "second", "last_section": "second", "sections": 1}],
    "cluster": {"name": "two", "device": "toy", "memory_per_device_bytes": 1000,
      "reserve_bytes": 50, "usd_per_hour": 0, "devices_per_node": 2, "levels": ["wire"],
      "boundary_level": [0]},
    "ties": [],
    "executor": {"name": "ideal", "transfer": "async", "queues": "none",
      "receive_must_be_posted": false, "issue": "eager", "optimizer": "global_barrier",
      "per_action_ns": 0, "per_transfer_ns": 0, "per_step_ns": 0},
    "prices": {"stages": [)" +
         prices_of_stage(10, 7, true) + ", " + prices_of_stage(20, 8, false) +
         R"(], "ties": [], "norm_ns": 10},
    "program": {"schedule": "1f1b", "rule": "none",
      "groups": [{"kind": "job", "name": "job", "stages": [0, 1]}],
      "pipelines": [{"replicas": 1, "copies": 1,
        "stages": [{"rank": 0, "next": 1, "weight_set": 0, "task": 0},
                   {"rank": 1, "previous": 0, "weight_set": 1, "task": 0}],
        "micro_batches": [)" +
         micro_batches + R"(],
        "ranks": [
          [["0F0", "0SEND_F0"],
           {"repeat": 7, "advance": 1, "actions": ["0F1", "0SEND_F1", "0RECV_B0", "0B0"]},
           ["0RECV_B7", "0B7", "0NORM", "0OPT"]],
          [{"repeat": 8, "advance": 1, "actions": ["1RECV_F0", "1F0", "1B0", "1SEND_B0"]},
           ["1NORM", "1OPT"]]]}]},
    "prediction": {"step_time_ns": 161710, "step_time_low_ns": 161710, "step_time_high_ns": 161710,
      "makespan_ns": 161710, "longest_span_ns": 161710, "ideal_ns": 108100, "usd_per_step": 0,
      "ranks": [)" +
         rank_of_prediction(120, 56) + ", " + rank_of_prediction(160, 64) +
         R"(], "assumptions": []},
    "not_searched": []})";
}

}  // namespace penstock::testing
