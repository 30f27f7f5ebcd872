// One rank, one processor: as in runs, and so that a measurement does not move about. Two jobs on a
// machine must not choose the same ones, so a job claims those that it pins to.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// Up to `wanted` of the processors that this process may use, from the `first` of them on and round
// again, that no other process has claimed in `folder`. They are this process' until it ends.
// Claims are locks on files, which the system gives back however a process ends; where there can be
// none, processors count as free.
std::vector<int> claim_processors(int wanted, int first, const std::string& folder = "/dev/shm");

// The calling thread, and those that it will start, get number `rank` of them, modulo their number.
// False when there is none, or where the system does not allow it; then nothing changes.
bool pin_to_one_of(const std::vector<int>& processors, int rank);

// Of all processors that this process may use, claimed or not.
bool pin_to_processor(int rank);

}  // namespace penstock
