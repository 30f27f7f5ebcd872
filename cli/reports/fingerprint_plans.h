// What `fingerprint` hashes beside the schedules: whole plans of a small fixed model and cluster.
#pragma once

#include <string>

namespace penstock {

// A plan of unequal replicas that send over one network card per node: the event queue.
std::string times_with_contention();

// Every action of a plan whose ranks are on two device types, and its cuts.
std::string times_of_mixed_plan();

}  // namespace penstock
