// A plan with stages in slots, small enough for paper: three stages on one rank with two slots, one
// micro-batch, F = 10, B = 20, OPT = 5, LOAD = 30 and STORE = 40 ns. 0 and 1 begin in a slot.
//
//   compute  F(0) 0..10  F(1) 10..20  F(2) 40..50  B(2) ..70  O(2) ..75  B(1) ..95  O(1) ..100
//   in       L(2) 10..40, when F(0) is done and its slot free
//   out      S(2) 75..115: only then its slot is free: L(0) 115..145, B(0) 145..165, O(0) ..170
//   duplex   S(1) 115..155 beside L(0), S(0) 170..210
//   simplex  S(1) 145..185 behind L(0), S(0) 185..225
//
// The rank is busy for 3 * (10 + 20 + 5) = 105 ns and waits for copies for the other 105: 20..40,
// 100..145 and 170..210. Memory: the largest of 10, 20, 15 parameters twice, and so on; three
// stashes of 100: 40 + 42 + 44 + 300 + 8 + 0 + 50 = 484 bytes.
#pragma once

#include <string_view>

#include "tests/core/tiny_plan.h"

namespace penstock {

inline constexpr std::string_view kSlotsPlan = R"({
  "format": "penstock.plan/1", "model": "spilled", "tool_version": "0.1.0",
  "inputs": {
    "profile": {"path": "spilled.json", "hash": "fnv1a64:0123456789abcdef"},
    "cluster": {"path": "one.json", "hash": "fnv1a64:fedcba9876543210"}
  },
  "plan": {
    "schedule": "interleaved", "group": 0, "pipeline": 1, "chunks": 3, "stage_map": "loop",
    "data": 1, "tensor": 1, "micro_batch_size": 1, "global_batch": 1, "sequence_length": 0,
    "recompute": "none", "zero1": false, "placement": "pipeline_inner", "device": "toy",
    "cuts": [0, 1, 2, 3]
  },
  "sections": ["a", "b", "c"],
  "stages": [
    {"index": 0, "rank": 0, "first_section": "a", "last_section": "a", "sections": 1},
    {"index": 1, "rank": 0, "first_section": "b", "last_section": "b", "sections": 1},
    {"index": 2, "rank": 0, "first_section": "c", "last_section": "c", "sections": 1}
  ],
  "cluster": {
    "name": "one", "device": "toy", "memory_per_device_bytes": 1000, "reserve_bytes": 50,
    "usd_per_hour": 0, "devices_per_node": 1, "levels": ["wire"], "boundary_level": [-1, -1]
  },
  "ties": [],
  "executor": {
    "name": "ideal", "transfer": "async", "queues": "none", "receive_must_be_posted": false,
    "issue": "eager", "optimizer": "post_validation",
    "per_action_ns": 0, "per_transfer_ns": 0, "per_step_ns": 0
  },
  "prices": {
    "stages": [
      {"parameters_bytes": 10, "gradients_bytes": 11, "optimizer_state_bytes": 12,
       "reduce_gradient_ns": 0, "optimizer_ns": 5, "unshard_ns": 0,
       "load_ns": 30, "store_ns": 40, "load_bytes": 300, "store_bytes": 400,
       "shapes": [
         {"forward_ns": 10, "input_gradient_ns": 12, "weight_gradient_ns": 8,
          "fused_backward_ns": 20, "recompute_ns": 0, "overlap_gain_ns": 0,
          "send_activation_ns": 0, "receive_gradient_ns": 0, "stash_bytes": 100,
          "weight_stash_bytes": 0, "working_peak_bytes": 7, "boundary_bytes": 5}]},
      {"parameters_bytes": 20, "gradients_bytes": 21, "optimizer_state_bytes": 22,
       "reduce_gradient_ns": 0, "optimizer_ns": 5, "unshard_ns": 0,
       "load_ns": 30, "store_ns": 40, "load_bytes": 300, "store_bytes": 400,
       "shapes": [
         {"forward_ns": 10, "input_gradient_ns": 12, "weight_gradient_ns": 8,
          "fused_backward_ns": 20, "recompute_ns": 0, "overlap_gain_ns": 0,
          "send_activation_ns": 0, "receive_gradient_ns": 0, "stash_bytes": 100,
          "weight_stash_bytes": 0, "working_peak_bytes": 8, "boundary_bytes": 5}]},
      {"parameters_bytes": 15, "gradients_bytes": 16, "optimizer_state_bytes": 17,
       "reduce_gradient_ns": 0, "optimizer_ns": 5, "unshard_ns": 0,
       "load_ns": 30, "store_ns": 40, "load_bytes": 300, "store_bytes": 400,
       "shapes": [
         {"forward_ns": 10, "input_gradient_ns": 12, "weight_gradient_ns": 8,
          "fused_backward_ns": 20, "recompute_ns": 0, "overlap_gain_ns": 0,
          "send_activation_ns": 0, "receive_gradient_ns": 0, "stash_bytes": 100,
          "weight_stash_bytes": 0, "working_peak_bytes": 6, "boundary_bytes": 5}]}
    ],
    "ties": [],
    "norm_ns": 10
  },
  "program": {
    "schedule": "interleaved", "rule": "none", "groups": [],
    "pipelines": [
      {
        "replicas": 1, "copies": 1, "weight_slots": 2,
        "stages": [
          {"rank": 0, "next": 1, "weight_set": 0, "task": 0},
          {"rank": 0, "previous": 0, "next": 2, "weight_set": 1, "task": 0},
          {"rank": 0, "previous": 1, "weight_set": 2, "task": 0}
        ],
        "micro_batches": [
          {"count": 1, "samples": 1, "sequence_length": 0, "shape": 0, "slice": 0, "loss_weight": 1}
        ],
        "ranks": [
          [["0F0", "0RESHARD", "2LOAD", "1F0", "2F0", "2B0", "2OPT", "2STORE", "2RESHARD", "0LOAD",
            "1B0", "1OPT", "1STORE", "0B0", "0OPT", "0STORE"]]
        ]
      }
    ]
  },
  "prediction": {
    "step_time_ns": 210, "step_time_low_ns": 210, "step_time_high_ns": 210,
    "makespan_ns": 210, "longest_span_ns": 210, "ideal_ns": 105, "usd_per_step": 0,
    "ranks": [
      {
        "memory": {"parameters_bytes": 40, "gradients_bytes": 42, "optimizer_state_bytes": 44,
                   "stash_bytes": 300, "working_peak_bytes": 8, "communication_bytes": 0,
                   "reserve_bytes": 50},
        "capacity_bytes": 1000,
        "time": {"busy_ns": 105, "warm_up_ns": 0, "drain_ns": 0, "imbalance_ns": 0,
                 "order_ns": 0, "transfer_ns": 105, "barrier_ns": 0}
      }
    ],
    "assumptions": []
  },
  "not_searched": []
})";

inline PlanFile slots_plan(const Edits& edits = {}) {
  return plan_of(edited(std::string(kSlotsPlan), edits));
}

}  // namespace penstock
