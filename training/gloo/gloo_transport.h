// Ranks that are processes, over TCP: c10d's Gloo. For host memory only. A send ends when its
// receive has been posted and filled.
//
// Gloo counts tags in an int: those of 2^31 and more are refused.
#pragma once

#include <memory>
#include <string>

#include "core/values/units.h"
#include "training/gloo/tcp_store.h"
#include "training/transport.h"

namespace penstock {

struct GlooOptions {
  int rank = 0, ranks = 1;
  StoreAddress store;
  bool serves_store = false;      // this rank does; else the launcher or the agent of torchrun
  std::string network_interface;  // "eth0"; empty: that of the way to the store's host, and on that
                                  // host that of the way to a rank on another one
  Duration rendezvous_limit = std::chrono::minutes(5);  // until all ranks have arrived
  // Of a rank that was refused because of its token, until one with the right token takes its
  // place.
  Duration refusal_limit = std::chrono::seconds(3);
  Duration limit = std::chrono::minutes(5);  // a transfer whose peer does nothing for so long fails
};

// Returns when all ranks have arrived; TransportFailure names those that did not.
std::unique_ptr<Transport> make_gloo_transport(const GlooOptions& options);

}  // namespace penstock
