// A plan small enough for paper: two stages on two ranks, two micro-batches of one sample, 1F1B.
//
//   us      0    1    2    3    4    5    6    7    8    9   10
//   rank 0  |F0  |F1  |              |B0       |    |B1      |NORM, OPT
//   rank 1  |       |F0  |B0       |F1  |B1       |
//
// F = 1 us, B = 2 us, a transfer 0.5 us, NORM 10 ns, OPT 100 ns. F0 of rank 1 runs from 1.5 to 2.5 us,
// its B0 to 4.5, F1 to 5.5, B1 to 7.5. The gradients arrive at 5 and 8 us, so that B0 and B1 of
// rank 0 end at 7 and 10 us; then NORM to 10,010 ns and OPT to 10,110 ns on both ranks. Both ranks
// are busy for 2 * 1 + 2 * 2 us + 100 ns = 6,100 ns and idle for 4,010 ns.
//
// Memory: rank 0 holds two stashes (2 * 100), rank 1 one. A boundary has 5 bytes; rank 0 sends an
// activation from one buffer and receives a gradient into one, rank 1 the other way round.
//   rank 0: 10 + 11 + 12 + 200 + 7 + 10 + 50 = 300;  rank 1: 20 + 21 + 22 + 100 + 8 + 10 + 50 = 231.
#pragma once

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/plan_file.h"

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
    "schedule": "1f1b", "group": 0, "pipeline": 2, "chunks": 1, "data": 1, "tensor": 1,
    "micro_batch_size": 1, "global_batch": 2, "sequence_length": 0, "recompute": "none",
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
           "send_activation_ns": 500, "receive_gradient_ns": 500, "stash_bytes": 100,
           "weight_stash_bytes": 30, "working_peak_bytes": 7, "boundary_bytes": 5}
        ]
      },
      {
        "parameters_bytes": 20, "gradients_bytes": 21, "optimizer_state_bytes": 22,
        "reduce_gradient_ns": 0, "optimizer_ns": 100, "unshard_ns": 0,
        "shapes": [
          {"forward_ns": 1000, "input_gradient_ns": 1100, "weight_gradient_ns": 900,
           "fused_backward_ns": 2000, "recompute_ns": 0, "send_activation_ns": 0,
           "receive_gradient_ns": 0, "stash_bytes": 100, "weight_stash_bytes": 30,
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
        "replicas": 1,
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
    "makespan_ns": 10110, "longest_span_ns": 10110, "ideal_ns": 6100, "usd_per_step": 0.25,
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

// The tiny plan with the first occurrence of one text replaced by another.
inline std::string tiny_plan_with(std::string_view text, std::string_view replacement) {
  std::string plan(kTinyPlan);
  const std::size_t at = plan.find(text);
  REQUIRE_MESSAGE(at != std::string::npos, text);
  return plan.replace(at, text.size(), replacement);
}

inline PlanFile tiny_plan(std::string_view text = kTinyPlan) {
  return read_plan(parse_json(text, "tiny"), "tiny");
}

}  // namespace penstock
