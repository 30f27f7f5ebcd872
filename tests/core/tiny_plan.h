// A plan small enough for paper: two stages on two ranks, two micro-batches of one sample, 1F1B.
//
//   us      0    1    2    3    4    5    6    7    8    9   10
//   rank 0  |F0  |F1  |              |B0       |    |B1      |NORM, OPT
//   rank 1  |       |F0  |B0       |F1  |B1       |
//
// F = 1 us, B = 2 us, a transfer 0.5 us, NORM 10 ns, OPT 100 ns. F0 of rank 1 runs from 1.5 to 2.5
// us, its B0 to 4.5, F1 to 5.5, B1 to 7.5. The gradients arrive at 5 and 8 us, so that B0 and B1 of
// rank 0 end at 7 and 10 us; then NORM to 10,010 ns and OPT to 10,110 ns on both ranks. Both ranks
// are busy for 2 * 1 + 2 * 2 us + 100 ns = 6,100 ns and idle for 4,010 ns.
//
// Memory: rank 0 holds two stashes (2 * 100), rank 1 one. A boundary has 5 bytes; rank 0 sends an
// activation from one buffer and receives a gradient into one, rank 1 the other way round.
//   rank 0: 10 + 11 + 12 + 200 + 7 + 10 + 50 = 300;  rank 1: 20 + 21 + 22 + 100 + 8 + 10 + 50 =
//   231.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/plan_file.h"

namespace penstock {

inline constexpr std::string_view kTinyPlan = R"({
  "format": "penstock.plan/1",
  "model": "tiny",
  "tool_version": "0.1.0",
  "inputs": {
    "profile": {"path": "tiny.json", "hash": "fnv1a64:0123456789abcdef"},
    "cluster": {"path": "two.json", "hash": "fnv1a64:fedcba9876543210"}
  },
  "plan": {
    "schedule": "1f1b", "group": 0, "pipeline": 2, "chunks": 1, "stage_map": "loop",
    "data": 1, "tensor": 1, "micro_batch_size": 1, "global_batch": 2, "sequence_length": 0, "recompute": "none",
    "zero1": false, "placement": "pipeline_inner", "device": "toy", "cuts": [0, 1, 2]
  },
  "sections": ["first", "second"],
  "stages": [
    {"index": 0, "rank": 0, "first_section": "first", "last_section": "first", "sections": 1},
    {"index": 1, "rank": 1, "first_section": "second", "last_section": "second", "sections": 1}
  ],
  "cluster": {
    "name": "two", "device": "toy", "memory_per_device_bytes": 1000, "reserve_bytes": 50,
    "usd_per_hour": 0, "devices_per_node": 2, "levels": ["wire"], "boundary_level": [0]
  },
  "ties": [],
  "executor": {
    "name": "ideal", "transfer": "async", "queues": "none", "receive_must_be_posted": false,
    "issue": "eager", "optimizer": "global_barrier",
    "per_action_ns": 0, "per_transfer_ns": 0, "per_step_ns": 0
  },
  "prices": {
    "stages": [
      {
        "parameters_bytes": 10, "gradients_bytes": 11, "optimizer_state_bytes": 12,
        "reduce_gradient_ns": 0, "optimizer_ns": 100, "unshard_ns": 0,
        "shapes": [
          {"forward_ns": 1000, "forward_spread_ns": 3, "input_gradient_ns": 1100,
           "weight_gradient_ns": 900, "fused_backward_us": 2, "recompute_ns": 0,
           "overlap_gain_ns": 0, "send_activation_ns": 500, "receive_gradient_ns": 500, "stash_bytes": 100,
           "weight_stash_bytes": 30, "working_peak_bytes": 7, "boundary_bytes": 5}
        ]
      },
      {
        "parameters_bytes": 20, "gradients_bytes": 21, "optimizer_state_bytes": 22,
        "reduce_gradient_ns": 0, "optimizer_ns": 100, "unshard_ns": 0,
        "shapes": [
          {"forward_ns": 1000, "input_gradient_ns": 1100, "weight_gradient_ns": 900,
           "fused_backward_ns": 2000, "recompute_ns": 0, "overlap_gain_ns": 0,
           "send_activation_ns": 0, "receive_gradient_ns": 0, "stash_bytes": 100, "weight_stash_bytes": 30,
           "working_peak_bytes": 8, "boundary_bytes": 6}
        ]
      }
    ],
    "ties": [],
    "norm_ns": 10
  },
  "program": {
    "schedule": "1f1b",
    "rule": "none",
    "groups": [{"kind": "job", "name": "job", "stages": [0, 1]}],
    "pipelines": [
      {
        "replicas": 1, "copies": 1,
        "stages": [
          {"rank": 0, "next": 1, "weight_set": 0, "task": 0},
          {"rank": 1, "previous": 0, "weight_set": 1, "task": 0}
        ],
        "micro_batches": [
          {"count": 2, "samples": 1, "sequence_length": 0, "shape": 0, "slice": 0, "loss_weight": 1}
        ],
        "ranks": [
          [["0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0", "0RECV_B1", "0B1", "0NORM", "0OPT"]],
          [
            {"repeat": 2, "advance": 1, "actions": ["1RECV_F0", "1F0", "1B0", "1SEND_B0"]},
            ["1NORM", "1OPT"]
          ]
        ]
      }
    ]
  },
  "prediction": {
    "step_time_ns": 10110, "step_time_low_ns": 10000, "step_time_high_ns": 11000,
    "makespan_ns": 10110, "longest_span_ns": 10110, "ideal_ns": 6100, "cost_usd_per_step": 0.25,
    "ranks": [
      {
        "memory": {"parameters_bytes": 10, "gradients_bytes": 11, "optimizer_state_bytes": 12,
                   "stash_bytes": 200, "working_peak_bytes": 7, "communication_bytes": 10,
                   "reserve_bytes": 50},
        "capacity_bytes": 1000,
        "time": {"busy_ns": 6100, "warm_up_ns": 0, "drain_ns": 0, "imbalance_ns": 0,
                 "order_ns": 2500, "transfer_ns": 1500, "barrier_ns": 10}
      },
      {
        "memory": {"parameters_bytes": 20, "gradients_bytes": 21, "optimizer_state_bytes": 22,
                   "stash_bytes": 100, "working_peak_bytes": 8, "communication_bytes": 10,
                   "reserve_bytes": 50},
        "capacity_bytes": 1000,
        "time": {"busy_ns": 6100, "warm_up_ns": 1000, "drain_ns": 0, "imbalance_ns": 0,
                 "order_ns": 0, "transfer_ns": 500, "barrier_ns": 2510}
      }
    ],
    "assumptions": [{"text": "the split of backward", "share": 0.5}]
  },
  "not_searched": ["tensor degree 2"]
})";

// A plan, the tiny one, with the first occurrence of each text replaced by the other.
using Edits = std::vector<std::pair<std::string_view, std::string_view>>;
inline std::string edited(std::string plan, const Edits& edits) {
  for (const auto& edit : edits) {  // not [text, replacement]: clang 14 cannot capture those
    const std::size_t at = plan.find(edit.first);
    REQUIRE_MESSAGE(at != std::string::npos, edit.first);
    plan.replace(at, edit.first.size(), edit.second);
  }
  return plan;
}
inline std::string edited(const Edits& edits) { return edited(std::string(kTinyPlan), edits); }

inline PlanFile plan_of(std::string_view text) { return read_plan(parse_json(text, "t"), "t"); }
inline PlanFile tiny_plan(const Edits& edits = {}) { return plan_of(edited(edits)); }

// Rank 1 on another type, with 900 B; its prediction still says 1000 B.
inline Edits two_device_types() {
  return {
      {R"("device": "toy", "cuts")", R"("device": "toy", "rank_devices": ["toy", "old"], "cuts")"},
      {R"("devices_per_node": 2, "levels")",
       R"("devices_per_node": 2, "other_devices": [{"name": "old", "memory_per_device_bytes": 900,
        "reserve_bytes": 50, "usd_per_hour": 1.5, "devices_per_node": 4}], "levels")"}};
}

// The lists of the tiny plan, to be replaced by others.
inline constexpr std::string_view kRank0 =
    R"(["0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0", "0RECV_B1", "0B1", "0NORM", "0OPT"])";
inline constexpr std::string_view kRank1 =
    R"({"repeat": 2, "advance": 1, "actions": ["1RECV_F0", "1F0", "1B0", "1SEND_B0"]})";

// Two replicas that share three samples: one runs the tiny plan, the other only its first
// micro-batch. The weights of both stages are tied, and the optimizer state is sharded.
//
// Replica 0 has its gradients at 10,000 ns on rank 0 and 7,500 ns on rank 1, replica 1 at 7,000 and
// 4,500 ns. Each replica reduces the tied weights in 20 ns: at 10,020 and 7,020 ns. Then both
// reduce each stage in 40 ns, to 10,060; NORM to 10,070, OPT to 10,170, UNSHARD in 30 ns to 10,200.
inline Edits two_replicas() {
  return {
      {R"("data": 1)", R"("data": 2)"},
      {R"("global_batch": 2)", R"("global_batch": 3)"},
      {R"("zero1": false)", R"("zero1": true)"},
      {R"("ties": [],
  "executor")",
       R"("ties": [{"name": "embedding", "stages": [0, 1]}],
  "executor")"},
      {R"("ties": [],
    "norm_ns")",
       R"("ties": [{"tied_reduce_ns": 20}],
    "norm_ns")"},
      {R"("reduce_gradient_ns": 0, "optimizer_ns": 100, "unshard_ns": 0)",
       R"("reduce_gradient_ns": 40, "optimizer_ns": 100, "unshard_ns": 30)"},
      {R"("reduce_gradient_ns": 0, "optimizer_ns": 100, "unshard_ns": 0)",
       R"("reduce_gradient_ns": 40, "optimizer_ns": 100, "unshard_ns": 30)"},
      {R"({"kind": "job", "name": "job", "stages": [0, 1]})",
       R"({"kind": "data_parallel", "name": "dp.stage0", "stages": [0, 2]},
          {"kind": "data_parallel", "name": "dp.stage1", "stages": [1, 3]},
          {"kind": "tied_weights", "name": "tied.embedding", "stages": [0, 1]},
          {"kind": "tied_weights", "name": "tied.embedding", "stages": [2, 3]},
          {"kind": "job", "name": "job", "stages": [0, 1, 2, 3]})"},
      {R"("0NORM", "0OPT")", R"("0TIED_REDUCE", "0REDUCE_GRAD", "0NORM", "0OPT", "0UNSHARD")"},
      {R"("1NORM", "1OPT")", R"("1TIED_REDUCE", "1REDUCE_GRAD", "1NORM", "1OPT", "1UNSHARD")"},
      {R"(
        ]
      }
    ]
  },
  "prediction")",
       R"(
        ]
      },
      {
        "replicas": 1, "copies": 1,
        "stages": [
          {"rank": 2, "next": 3, "weight_set": 0, "task": 0},
          {"rank": 3, "previous": 2, "weight_set": 1, "task": 0}
        ],
        "micro_batches": [
          {"count": 1, "samples": 1, "sequence_length": 0, "shape": 0, "slice": 0, "loss_weight": 1}
        ],
        "ranks": [
          [["2F0", "2SEND_F0", "2RECV_B0", "2B0",
            "2TIED_REDUCE", "2REDUCE_GRAD", "2NORM", "2OPT", "2UNSHARD"]],
          [["3RECV_F0", "3F0", "3B0", "3SEND_B0",
            "3TIED_REDUCE", "3REDUCE_GRAD", "3NORM", "3OPT", "3UNSHARD"]]
        ]
      }
    ]
  },
  "prediction")"},
      {R"("step_time_ns": 10110)", R"("step_time_ns": 10200)"},
      {R"("makespan_ns": 10110, "longest_span_ns": 10110)",
       R"("makespan_ns": 10200, "longest_span_ns": 10200)"},
      {R"("barrier_ns": 10})", R"("barrier_ns": 100})"},
      {R"("barrier_ns": 2510})", R"("barrier_ns": 2600})"},
  };
}

// One rank's actions, by name.
inline std::vector<std::string> list_of(const Program& program, int rank) {
  std::vector<std::string> names;
  for (const Action& action : program.actions) {
    if (program.rank_of(action).value == rank) names.push_back(name_of(program, action));
  }
  return names;
}

inline std::string text_of(const PlanFile& file) { return to_text(write_plan(file)); }

}  // namespace penstock
