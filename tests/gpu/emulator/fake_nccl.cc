// NCCL's functions that our code calls, on the emulated GPUs.
//
// A group of calls becomes one kernel per communicator, on the stream that was given. It starts in
// its turn and then holds its CTAs until each of its sends and receives runs on the other side too;
// a collective until all members run it. The first call of a communicator connects it: nothing is
// put on a stream before every member has made its own.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nccl.h>

#include "tests/gpu/emulator/emulated_gpus.h"

using penstock::testing::EmulatedGpus;
using penstock::testing::EmulatedWork;

namespace {

EmulatedGpus& gpus() { return EmulatedGpus::instance(); }

enum class Collective { kNone, kAllReduce, kReduceScatter, kAllGather };

struct Kernel;
struct Call {
  std::shared_ptr<Kernel> kernel;
  bool sends = false;
  Collective collective = Collective::kNone;
  int peer = 0;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t elements = 0;
  ncclDataType_t type = ncclInt8;
};
struct Kernel {
  ncclComm_t communicator = nullptr;
  int stream = 0;
  std::vector<Call> calls;
  std::size_t open = 0;
};

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}

}  // namespace

struct Members {
  std::vector<ncclComm_t> members;  // by rank of the communicator; null before it has come
  bool connected = false;
  std::map<std::pair<int, int>, std::deque<Call>> sends, receives;  // that run, by (from, to)
  std::vector<std::deque<Call>> collectives;                        // that run, by member
};

struct ncclComm {
  std::shared_ptr<Members> group;
  int rank = 0, job_rank = 0, ctas = 0;
  std::string name;
  bool joined = false;
  std::deque<std::shared_ptr<Kernel>> waiting;  // to be connected
};

namespace {

std::map<std::string, std::shared_ptr<Members>> groups;  // by identity
std::uint64_t identities = 0;
thread_local int group_depth = 0;
thread_local std::vector<std::pair<ncclComm_t, std::pair<int, Call>>> grouped;

void end_call(const Call& call) {
  if (--call.kernel->open == 0) gpus().end_running(call.kernel->stream);
}

void meet(Members& group, std::pair<int, int> way) {
  auto &sends = group.sends[way], &receives = group.receives[way];
  while (!sends.empty() && !receives.empty()) {
    const Call send = sends.front(), receive = receives.front();
    sends.pop_front();
    receives.pop_front();
    std::memcpy(receive.to, send.from,
                std::min(send.elements, receive.elements) * bytes_of(send.type));
    end_call(send);
    end_call(receive);
  }
}

template <class T>
void add_up(const std::vector<Call>& calls, std::vector<std::byte>& sum) {
  auto* const to = reinterpret_cast<T*>(sum.data());
  for (const Call& call : calls) {
    const T* const from = static_cast<const T*>(call.from);
    for (std::size_t i = 0; i < call.elements; ++i) to[i] = static_cast<T>(to[i] + from[i]);
  }
}

void carry_out(const std::vector<Call>& calls) {
  const Call& first = calls.front();
  const std::size_t bytes = first.elements * bytes_of(first.type);
  if (first.collective == Collective::kAllGather) {
    std::vector<std::byte> all;
    for (const Call& call : calls) {
      const auto* const part = static_cast<const std::byte*>(call.from);
      all.insert(all.end(), part, part + bytes);
    }
    for (const Call& call : calls) std::memcpy(call.to, all.data(), all.size());
    return;
  }
  std::vector<std::byte> sum(bytes);
  if (first.type == ncclFloat64) {
    add_up<double>(calls, sum);
  } else if (first.type == ncclFloat32) {
    add_up<float>(calls, sum);
  } else if (first.type == ncclInt64) {
    add_up<std::uint64_t>(calls, sum);
  } else {
    add_up<std::uint8_t>(calls, sum);
  }
  std::size_t part = 0;
  const bool scatters = first.collective == Collective::kReduceScatter;
  for (const Call& call : calls) {
    const std::size_t size = scatters ? bytes / calls.size() : bytes;
    std::memcpy(call.to, sum.data() + (scatters ? part++ * size : 0), size);
  }
}

void meet_all(Members& group) {
  while (std::ranges::none_of(group.collectives, [](const auto& of) { return of.empty(); })) {
    std::vector<Call> calls;
    for (auto& of : group.collectives) {
      calls.push_back(of.front());
      of.pop_front();
    }
    carry_out(calls);
    for (const Call& call : calls) end_call(call);
  }
}

std::string words_of(const ncclComm& communicator, const Call& call) {
  const std::string bytes = std::to_string(call.elements * bytes_of(call.type)) + " bytes";
  if (call.collective != Collective::kNone) return "a collective of " + communicator.name;
  const int peer = communicator.group->members[static_cast<std::size_t>(call.peer)]->job_rank;
  return (call.sends ? "a send of " + bytes + " to rank "
                     : "a receive of " + bytes + " from rank ") +
         std::to_string(peer);
}

// All that follows is called with the emulator's lock held.
void start(const std::shared_ptr<Kernel>& kernel) {
  ncclComm& communicator = *kernel->communicator;
  Members& group = *communicator.group;
  // Nothing may end the kernel before all of its calls are known to run.
  const std::vector<Call> calls = std::exchange(kernel->calls, {});
  for (Call call : calls) {
    call.kernel = kernel;
    if (call.collective != Collective::kNone) {
      group.collectives[static_cast<std::size_t>(communicator.rank)].push_back(call);
    } else if (call.sends) {
      group.sends[{communicator.rank, call.peer}].push_back(call);
    } else {
      group.receives[{call.peer, communicator.rank}].push_back(call);
    }
  }
  for (const Call& call : calls) {
    if (call.collective != Collective::kNone) {
      meet_all(group);
    } else {
      meet(group, call.sends ? std::pair(communicator.rank, call.peer)
                             : std::pair(call.peer, communicator.rank));
    }
  }
}

void put_on_stream(const std::shared_ptr<Kernel>& kernel) {
  EmulatedWork work;
  work.words = words_of(*kernel->communicator, kernel->calls.front());
  work.ctas = kernel->communicator->ctas;
  work.started = [kernel] { start(kernel); };
  gpus().add_locked(kernel->stream, std::move(work));
}

void issue(const std::shared_ptr<Kernel>& kernel) {
  Members& group = *kernel->communicator->group;
  if (group.connected) return put_on_stream(kernel);
  kernel->communicator->waiting.push_back(kernel);
  const auto has_called = [](const ncclComm_t member) {
    return member != nullptr && !member->waiting.empty();
  };
  if (!std::ranges::all_of(group.members, has_called)) return;
  group.connected = true;
  for (const ncclComm_t member : group.members) {
    for (const auto& waiting : std::exchange(member->waiting, {})) put_on_stream(waiting);
  }
}

Call collective_call(Collective which, const void* from, void* to, std::size_t elements,
                     ncclDataType_t type) {
  Call call;
  call.collective = which;
  call.from = from;
  call.to = to;
  call.elements = elements;
  call.type = type;
  return call;
}

ncclResult_t call(ncclComm_t communicator, cudaStream_t stream, Call call) {
  const auto number = static_cast<int>(reinterpret_cast<std::intptr_t>(stream));
  grouped.push_back({communicator, {number, std::move(call)}});
  return group_depth > 0 ? ncclSuccess : ncclGroupEnd();
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t /*code*/) {
  return "the emulated ranks wait for each other";
}
const char* ncclGetLastError(ncclComm_t /*communicator*/) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  gpus().locked([&] {
    const std::uint64_t number = ++identities;
    std::memcpy(id->internal, &number, sizeof number);
  });
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidUsage;
  auto* const made = new ncclComm;  // lives on: calls that were left behind may still name it
  made->rank = rank;
  made->job_rank = gpus().rank();
  const bool has_most = config->maxCTAs != NCCL_CONFIG_UNDEF_INT;
  made->ctas = has_most ? config->maxCTAs : gpus().machine().ctas_of_nccl;
  made->name = config->commName == nullptr ? "a communicator" : config->commName;
  gpus().locked([&] {
    auto& group = groups[std::string(id.internal, sizeof id.internal)];
    if (!group) {
      group = std::make_shared<Members>();
      group->members.resize(static_cast<std::size_t>(size));
      group->collectives.resize(static_cast<std::size_t>(size));
    }
    made->group = group;
    group->members[static_cast<std::size_t>(rank)] = made;
  });
  *communicator = made;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  bool ready = true;
  gpus().exclusively([&] {
    if (!communicator->joined) {
      // Memory is allocated for it, for which the device must be idle.
      const auto& members = communicator->group->members;
      communicator->joined = std::ranges::none_of(members, [](auto* m) { return m == nullptr; }) &&
                             gpus().is_idle_locked(communicator->job_rank);
    }
    ready = communicator->joined && communicator->waiting.empty();
  });
  *state = ncclSuccess;
  if (gpus().is_dead()) {
    *state = ncclInternalError;
  } else if (!ready) {
    const bool alive = gpus().ask_again("the other members of " + communicator->name);
    *state = alive ? ncclInProgress : ncclInternalError;
  }
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  gpus().locked([&] {
    communicator->waiting.clear();
    Members& group = *communicator->group;
    const auto is_own = [&](const Call& call) { return call.kernel->communicator == communicator; };
    for (auto* calls : {&group.sends, &group.receives}) {
      for (auto& [way, queue] : *calls) std::erase_if(queue, is_own);
    }
    for (auto& queue : group.collectives) std::erase_if(queue, is_own);
  });
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t /*communicator*/) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t /*communicator*/) { return ncclSuccess; }

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (group_depth > 0 && --group_depth > 0) return ncclSuccess;
  std::vector<std::shared_ptr<Kernel>> kernels;
  for (auto& [communicator, entry] : std::exchange(grouped, {})) {
    const auto same = [of = communicator](const auto& k) { return k->communicator == of; };
    auto found = std::ranges::find_if(kernels, same);
    if (found == kernels.end()) {
      kernels.push_back(std::make_shared<Kernel>());
      kernels.back()->communicator = communicator;
      kernels.back()->stream = entry.first;
      found = std::prev(kernels.end());
    }
    (*found)->calls.push_back(entry.second);
    ++(*found)->open;
  }
  gpus().locked([&] {
    for (const auto& kernel : kernels) issue(kernel);
  });
  return ncclSuccess;
}

ncclResult_t ncclSend(const void* from, std::size_t elements, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  Call send;
  send.sends = true;
  send.peer = peer;
  send.from = from;
  send.elements = elements;
  send.type = type;
  return call(communicator, stream, std::move(send));
}
ncclResult_t ncclRecv(void* to, std::size_t elements, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  Call receive;
  receive.peer = peer;
  receive.to = to;
  receive.elements = elements;
  receive.type = type;
  return call(communicator, stream, std::move(receive));
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t elements, ncclDataType_t type,
                           ncclRedOp_t /*operation*/, ncclComm_t communicator,
                           cudaStream_t stream) {
  return call(communicator, stream,
              collective_call(Collective::kAllReduce, from, to, elements, type));
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t part, ncclDataType_t type,
                               ncclRedOp_t /*operation*/, ncclComm_t communicator,
                               cudaStream_t stream) {
  const std::size_t elements = part * communicator->group->members.size();
  return call(communicator, stream,
              collective_call(Collective::kReduceScatter, from, to, elements, type));
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t part, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, collective_call(Collective::kAllGather, from, to, part, type));
}

}  // extern "C"
