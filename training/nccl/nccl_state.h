// What a transport of NCCL shares with its transfers: the communicators, whether all is lost, and
// the one lock under which NCCL is called. Private to training/nccl.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "training/key_value_store.h"
#include "training/nccl/nccl_communicator.h"
#include "training/nccl/nccl_operation.h"
#include "training/nccl/nccl_scratch.h"
#include "training/nccl/nccl_transport.h"

namespace penstock {

class NcclState {
 public:
  NcclState(NcclOptions options, std::unique_ptr<KeyValueStore> store)
      : options_(std::move(options)), store_(std::move(store)) {}

  [[nodiscard]] const NcclOptions& options() const { return options_; }
  [[nodiscard]] const std::shared_ptr<NcclScratch>& scratch() const { return scratch_; }

  // Called by all members (ascending, ranks of the job); returns when all are there. members[0]
  // makes the identity, the others wait for it.
  std::shared_ptr<NcclCommunicator> join(const std::string& name, const std::vector<int>& members,
                                         std::optional<int> peer);

  // Connected operations, issued together. Returns when all of it is on the streams, which it is
  // only once the other sides are there if something has yet to be connected.
  void issue(const std::vector<std::shared_ptr<NcclOperation>>& operations);

  // One look, or until it has ended. Leaves the result on the host where it belongs there.
  [[nodiscard]] bool has_ended(NcclOperation& operation);
  void wait_for(NcclOperation& operation);

  // The first failure stays, and ends all that is under way. From any thread.
  void fail(std::optional<int> peer, const std::string& reason) noexcept;

  // A failure of one transfer is one of the transport: nothing later may wait for it.
  void guarded(const std::function<void()>& body);

  // In an orderly way, which peers need that are still busy; but not for ever.
  void close() noexcept;

 private:
  void wait_until(const std::function<bool()>& condition, const std::string& what,
                  std::optional<int> peer);
  void wait_until_ready(NcclCommunicator& communicator, std::optional<int> peer);
  bool look(NcclOperation& operation);
  void refuse_if_failed() const;

  NcclOptions options_;
  std::unique_ptr<KeyValueStore> store_;  // of the rank's thread
  std::shared_ptr<NcclScratch> scratch_ = std::make_shared<NcclScratch>();
  std::mutex mutex_;  // held by whoever is inside NCCL; guards what follows
  std::vector<std::shared_ptr<NcclCommunicator>> communicators_;
  std::optional<TransportFailure> failure_;
};

}  // namespace penstock
