// What a flat forward does in place, replaced by what it means: only then can a part of the graph
// run on its own, since what a value holds no longer depends on what ran before it. Private to
// training/torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "training/torch/flat_forward.h"

namespace penstock {

// A list to which the turns of a loop append becomes a value that each turn hands to the next one,
// and the loop to what follows it. Lists that are changed in other ways, or known by other names,
// stay as they are.
void carry_lists_through_loops(torch::jit::Graph& graph);

// "x.mul_(y)" becomes "x = x * y", and "x[:, 1:] = y" another x with y in these places, outside of
// loops and branches, where no other tensor shows the difference.
void replace_in_place(FlatForward& flat);

}  // namespace penstock
