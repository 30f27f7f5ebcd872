// NCCL's calls are not thread-safe on one communicator, and an abort must be able to interrupt any
// wait: so every call is made under one lock, and every wait is a loop that polls under the lock
// and sleeps outside it. Communicators are non-blocking; the id of a group is made by its first
// member and handed on through the job's store. After a failure no call reaches NCCL, and all
// communicators are aborted, so that peers see an error instead of a time-out.
#include "training/nccl/nccl_state.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "core/values/error.h"
#include "training/nccl/check_nccl.h"
#include "training/nccl/nccl_id.h"
#include "training/nccl/nccl_id_text.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

// Answers mostly come within microseconds, and a rank that waits longer has nothing else to do.
void pause(SteadyTime began) {
  if (steady_now() - began < std::chrono::milliseconds(1)) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void close(NcclCommunicator& communicator) noexcept {
  try {
    communicator.finalize();
    const SteadyTime began = steady_now();
    while (!communicator.ready()) {
      if (steady_now() - began > std::chrono::seconds(5)) return communicator.abort();
      pause(began);
    }
    communicator.destroy();
  } catch (const std::exception&) {
    communicator.abort();
  }
}

}  // namespace

std::shared_ptr<NcclCommunicator> NcclState::join(const std::string& name,
                                                  const std::vector<int>& members,
                                                  std::optional<int> peer) {
  const auto place = std::ranges::find(members, options_.rank);
  if (place == members.end()) {
    throw Error(ErrorKind::kInternal, "rank " + std::to_string(options_.rank) +
                                          " is not a member of the communicator " + name);
  }
  const std::string key = options_.name + "/nccl/" + name;
  std::string text;
  if (place == members.begin()) {
    text = new_nccl_id();
    store_->set(key, text);
  } else {
    text = wait_for_nccl_id(*store_, key, members.front(), options_.time_out, [this] {
      const std::lock_guard lock(mutex_);
      refuse_if_failed();
    });
  }
  std::shared_ptr<NcclCommunicator> communicator;
  const std::optional<int> most_ctas =
      peer ? std::optional(options_.most_ctas_of_way) : std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    refuse_if_failed();
    communicator = std::make_shared<NcclCommunicator>(
        nccl_id_of(text), static_cast<int>(place - members.begin()),
        static_cast<int>(members.size()), name, most_ctas);
    communicators_.push_back(communicator);
  }
  wait_until_ready(*communicator, peer);
  return communicator;
}

void NcclState::issue(const std::vector<std::shared_ptr<NcclOperation>>& operations) {
  {
    const std::lock_guard lock(mutex_);
    refuse_if_failed();
    for (const auto& operation : operations) operation->before_call();
    check_nccl(ncclGroupStart(), "begin a group");
    for (const auto& operation : operations) operation->call();
    check_nccl(ncclGroupEnd(), "issue a group");
  }
  for (const auto& operation : operations) {
    wait_until_ready(operation->communicator(), operation->peer());
  }
  const std::lock_guard lock(mutex_);
  refuse_if_failed();
  for (const auto& operation : operations) operation->after_call();
}

bool NcclState::has_ended(NcclOperation& operation) {
  const std::lock_guard lock(mutex_);
  refuse_if_failed();
  return look(operation);
}

void NcclState::wait_for(NcclOperation& operation) {
  wait_until([&] { return look(operation); }, operation.words(), operation.peer());
}

bool NcclState::look(NcclOperation& operation) {
  if (!operation.is_issued()) {
    throw Error(ErrorKind::kInternal, operation.words() + " was not issued: its batch is open");
  }
  // What has gone wrong shows here; the event might then never pass.
  (void)operation.communicator().ready();
  if (!operation.has_ended()) return false;
  operation.finish();
  return true;
}

void NcclState::wait_until_ready(NcclCommunicator& communicator, std::optional<int> peer) {
  wait_until([&] { return communicator.ready(); }, "the communicator " + communicator.name(), peer);
}

// Polls, so that time-out, errors of NCCL and abort() all end it.
void NcclState::wait_until(const std::function<bool()>& condition, const std::string& what,
                           std::optional<int> peer) {
  const SteadyTime began = steady_now();
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      refuse_if_failed();
      if (condition()) return;
    }
    if (steady_now() - began > options_.time_out) {
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.time_out);
      throw TransportFailure(
          peer, what + " has not ended within " + std::to_string(ms.count()) + " ms" +
                    (peer ? "; it waits for rank " + std::to_string(*peer) : std::string()));
    }
    pause(began);
  }
}

void NcclState::refuse_if_failed() const {
  if (failure_) throw TransportFailure(failure_->peer(), failure_->what());
}

void NcclState::fail(std::optional<int> peer, const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_.emplace(peer, reason);
  // Peers that wait for us get an error from NCCL.
  for (const auto& communicator : communicators_) communicator->abort();
}

void NcclState::guarded(const std::function<void()>& body) {
  try {
    body();
  } catch (const TransportFailure& failure) {
    fail(failure.peer(), failure.what());
    throw;
  }
}

void NcclState::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  for (const auto& communicator : communicators_) penstock::close(*communicator);
}

}  // namespace penstock
