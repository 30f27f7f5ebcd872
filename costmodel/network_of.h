// The wires of a cluster, and the routes that the transfers of a plan take over them. Every device
// has a wire to and from its innermost domain and one further out; what the devices of a domain
// share on their way into a level is one more (docs/cost_model.md, "Contention").
#pragma once

#include "core/values/cluster.h"
#include "core/values/network.h"
#include "core/values/plan.h"
#include "core/values/program.h"
#include "core/values/units.h"

namespace penstock {

// `replicas` holds every replica of the plan as a pipeline of its own, in order; the cluster has
// enough devices of the plan's types.
Network network_of(const ClusterSpec& cluster, const Plan& plan, const Program& replicas);

// What a transfer over this route takes when nobody else sends: the devices of its own rank share
// what they share.
Duration time_alone(const ClusterSpec& cluster, const Route& route, Bytes bytes);

}  // namespace penstock
