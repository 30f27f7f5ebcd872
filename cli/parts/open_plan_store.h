// A store of plans. One of plan_store_redis.cc and, in a program without Redis, plan_store_none.cc
// is linked.
#pragma once

#include <memory>

#include "runtime_bridge/plan_store.h"
#include "runtime_bridge/plan_store_address.h"

namespace penstock {

// Connects when it is first asked.
std::unique_ptr<PlanStore> open_plan_store(const PlanStoreAddress& address);

}  // namespace penstock
