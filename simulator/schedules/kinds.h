// The rows of the table, by the file of this folder that they come from, and the table: the
// schedules that are offered, in the order of all lists.
#pragma once

#include "simulator/schedules/schedules.h"

namespace penstock {

extern const ScheduleKind kGpipe;
extern const ScheduleKind kOneForwardOneBackward;
extern const ScheduleKind kInterleaved, kInterleavedOverlap, kGroupedInterleaved;
extern const ScheduleKind kInterleavedZeroBubble;
extern const ScheduleKind kLoopedBfs;
extern const ScheduleKind kZbH1, kZbH2;  // handcrafted_zero_bubble.cc
extern const ScheduleKind kZbV;
extern const ScheduleKind kVHalf, kVMin;                    // v_half_min.cc
extern const ScheduleKind kZb1p, kZb2p, kZbAuto, kZbVAuto;  // automatic_kinds.cc
extern const ScheduleKind kDualPipeV, kDualPipe;            // dualpipe.cc
extern const ScheduleKind kChimera;
extern const ScheduleKind kSeq1F1B;
extern const ScheduleKind kCyclic, kCyclicV;                       // cyclic.cc
extern const ScheduleKind kVaruna, kVarunaRuntime, kVarunaStrict;  // varuna.cc

inline constexpr const ScheduleKind* kOfferedKinds[] = {&kGpipe,
                                                        &kOneForwardOneBackward,
                                                        &kInterleaved,
                                                        &kInterleavedOverlap,
                                                        &kGroupedInterleaved,
                                                        &kLoopedBfs,
                                                        &kSeq1F1B,
                                                        &kZbH1,
                                                        &kInterleavedZeroBubble,
                                                        &kZbH2,
                                                        &kZbV,
                                                        &kVHalf,
                                                        &kVMin,
                                                        &kDualPipeV,
                                                        &kDualPipe,
                                                        &kChimera,
                                                        &kZb1p,
                                                        &kZb2p,
                                                        &kZbAuto,
                                                        &kZbVAuto,
                                                        &kVaruna,
                                                        &kVarunaRuntime,
                                                        &kVarunaStrict};

}  // namespace penstock
