#include "cli/parts/open_plan_store.h"
#include "runtime_bridge/redis/redis_store.h"

namespace penstock {

std::unique_ptr<PlanStore> open_plan_store(const PlanStoreAddress& address) {
  return open_redis(address);
}

}  // namespace penstock
