// The CUDA runtime's functions that our code calls, on the emulated GPUs. Linked into a program
// they take the place of the library's: a call that is missing here shows as a second definition of
// the others at link time, since the linker then takes the library in as well.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include <cuda_runtime_api.h>

#include "tests/gpu/emulator/emulated_gpus.h"

using penstock::testing::EmulatedGpus;
using penstock::testing::EmulatedMark;
using penstock::testing::EmulatedWork;

struct CUevent_st {
  std::shared_ptr<EmulatedMark> mark;  // none before the first record
};

namespace {

thread_local int current_device = 0;
std::mutex pinned_mutex;
std::map<const void*, std::size_t> pinned;

EmulatedGpus& gpus() { return EmulatedGpus::instance(); }
int number_of(cudaStream_t stream) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(stream));
}
cudaError_t ended(bool alive) { return alive ? cudaSuccess : cudaErrorLaunchTimeout; }

// What touches the device opens a context on it.
void touch() {
  if (gpus().rank() >= 0) gpus().own_calls().contexts.insert(current_device);
}

bool is_pinned(const void* memory) {
  const std::lock_guard lock(pinned_mutex);
  const auto after = pinned.upper_bound(memory);
  if (after == pinned.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return static_cast<const char*>(memory) < static_cast<const char*>(begin) + bytes;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpus().gpus();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
// Since CUDA 12 it opens the device's context.
cudaError_t cudaSetDevice(int device) {
  current_device = device;
  touch();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  *properties = {};
  std::strcpy(properties->name, "an emulated GPU");
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorLaunchTimeout ? "the emulated ranks wait for each other" : "emulated";
}
const char* cudaGetErrorName(cudaError_t /*code*/) { return "emulated"; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  if (flags != cudaStreamNonBlocking) return cudaErrorNotSupported;
  touch();
  *stream = reinterpret_cast<cudaStream_t>(static_cast<std::intptr_t>(gpus().open_stream()));
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  gpus().close_stream(number_of(stream));
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return ended(gpus().wait_for_stream(number_of(stream), "a stream to be empty"));
}
cudaError_t cudaDeviceSynchronize() {
  touch();
  return ended(gpus().wait_for_device("the whole device"));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int /*flags*/) {
  touch();
  ++gpus().own_calls().events;
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const auto mark = event->mark = std::make_shared<EmulatedMark>();
  mark->words = gpus().last_work(number_of(stream));
  EmulatedWork work;
  work.words = "an event";
  work.body = [mark] { mark->passed = true; };
  gpus().add(number_of(stream), std::move(work));
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  bool passed = true;
  gpus().exclusively([&] { passed = !event->mark || event->mark->passed; });
  if (passed) return cudaSuccess;
  return gpus().ask_again(event->mark->words) ? cudaErrorNotReady : cudaErrorLaunchTimeout;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (!event->mark) return cudaSuccess;
  return ended(gpus().wait_for_mark(*event->mark, event->mark->words));
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t /*begin*/, cudaEvent_t /*end*/) {
  *milliseconds = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int /*flags*/) {
  if (!event->mark) return cudaSuccess;
  EmulatedWork work;
  work.words = "waiting for an event";
  work.waits_for = event->mark;
  work.body = [] {};
  gpus().add(number_of(stream), std::move(work));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  touch();
  ++gpus().own_calls().allocations;
  *memory = std::malloc(std::max<std::size_t>(bytes, 1));
  return ended(gpus().wait_for_device("an idle GPU, to allocate memory"));
}
cudaError_t cudaFree(void* memory) {
  const bool alive = gpus().wait_for_device("an idle GPU, to free memory");
  std::free(memory);
  return ended(alive);
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  const cudaError_t code = cudaMalloc(memory, bytes);
  const std::lock_guard lock(pinned_mutex);
  pinned[*memory] = bytes;
  return code;
}
cudaError_t cudaFreeHost(void* memory) {
  {
    const std::lock_guard lock(pinned_mutex);
    pinned.erase(memory);
  }
  return cudaFree(memory);
}
// From and to memory that is not pinned it waits for what the stream holds.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  EmulatedWork work;
  work.words = "a copy";
  work.body = [to, from, bytes] { std::memcpy(to, from, bytes); };
  gpus().add(number_of(stream), std::move(work));
  const bool is_asynchronous =
      kind == cudaMemcpyDeviceToDevice || is_pinned(kind == cudaMemcpyHostToDevice ? from : to);
  return is_asynchronous ? cudaSuccess : cudaStreamSynchronize(stream);
}

}  // extern "C"
