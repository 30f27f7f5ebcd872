// Plans in a Redis. Every key is a stream of one entry, since a stream can be waited for (XREAD
// BLOCK) by any number of readers without being taken away, and reading it writes nothing: ranks go
// on reading where the server's memory is full, and from a replica. A list, which BLPOP or BLMOVE
// wait for, would be written by every reader.
//
// A lost connection is made anew, at first after 50 ms, then after twice as long each time, up to a
// second.
#pragma once

#include <memory>

#include "runtime_bridge/plan_store.h"
#include "runtime_bridge/plan_store_address.h"

namespace penstock {

struct RedisTimes {
  Duration connect = std::chrono::seconds(5);
  Duration answer = std::chrono::seconds(2);
};

std::unique_ptr<PlanStore> open_redis(const PlanStoreAddress& address,
                                      const RedisTimes& times = {});

}  // namespace penstock
