// What the files of this folder share: opening c10d's store, and its exceptions in our words.
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include <ATen/core/ivalue.h>  // which the next one needs, and includes too late for clang
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "training/gloo/tcp_store.h"

namespace penstock {

// Rounded up, since 0 ms would mean no limit.
std::chrono::milliseconds in_milliseconds(Duration limit);

// The first line of what LibTorch says, without its back trace.
std::string words_of(const std::exception& error);

enum class StoreRole { kServer, kClient };
// A rank of a job that waits for all of them.
struct Awaited {
  int rank = 0, ranks = 1;
};

// Without the address' prefix. TransportFailure when it cannot be opened. Where the store is that
// of another job, an awaited rank leaves word of it before it is refused.
c10::intrusive_ptr<c10d::TCPStore> open_store(const StoreAddress& address, StoreRole role,
                                              Duration limit,
                                              const std::optional<Awaited>& rank = std::nullopt);
// Whether such a rank of this attempt was refused because of its token.
bool was_refused(c10d::TCPStore& store, const StoreAddress& address, const Awaited& rank);

// "127.0.0.1:29500"
std::string to_string(const StoreAddress& address);

}  // namespace penstock
