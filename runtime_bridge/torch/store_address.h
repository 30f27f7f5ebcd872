// Where the ranks of a job meet.
#pragma once

#include "runtime_bridge/launch_environment.h"
#include "training/gloo/tcp_store.h"

namespace penstock {

inline StoreAddress address_of(const LaunchEnvironment& place) {
  return {place.host, place.port, place.key_prefix};
}

}  // namespace penstock
