// Plans from a store in a program that was built without Redis.
#include "cli/parts/open_plan_store.h"
#include "core/values/error.h"

namespace penstock {

std::unique_ptr<PlanStore> open_plan_store(const PlanStoreAddress& address) {
  throw Error(ErrorKind::kMissingResource,
              words_of(address) +
                  ": this penstock was built without Redis\nhelp: let every process plan by itself "
                  "(leave out --plans-from), or reconfigure with -DPENSTOCK_REDIS=ON, which needs "
                  "hiredis and OpenSSL");
}

}  // namespace penstock
