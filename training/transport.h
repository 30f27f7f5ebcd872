// How ranks exchange tensors. Implementations: loopback (ranks are threads of one process), Gloo
// (training/torch), NCCL (training/nccl).
//
// One thread per rank calls its Transport. Nothing here waits for ever: when a peer is lost, does
// not answer within the transport's time-out, or abort() was called anywhere, TransportFailure is
// thrown, naming the peer where it is known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/values/error.h"
#include "training/buffer.h"
#include "training/steady_time.h"

namespace penstock {

class TransportFailure : public Error {
 public:
  TransportFailure(std::optional<int> peer, const std::string& message)
      : Error(ErrorKind::kMissingResource, message), peer_(peer) {}
  [[nodiscard]] std::optional<int> peer() const { return peer_; }  // the rank that failed us

 private:
  std::optional<int> peer_;
};

// A transfer or a collective under way. Its buffers must live until it has ended; destroying one
// that has not ended is allowed only after a failure or abort().
class Transfer {
 public:
  virtual ~Transfer() = default;
  [[nodiscard]] virtual bool done() = 0;  // without waiting; throws as wait() does
  virtual void wait() = 0;
  // When it ended, on the steady clock, if the transport knows better than "when we looked".
  [[nodiscard]] virtual std::optional<SteadyTime> ended() const { return std::nullopt; }
};

// A message belongs to the receive of the same tag from its sender; tags of messages that may be
// under way at once between two ranks differ.
using MessageTag = std::uint64_t;

// Names a group that form_group() returned.
struct CommunicatorId {
  int value = 0;
  bool operator==(const CommunicatorId&) const = default;
};

class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  [[nodiscard]] virtual std::unique_ptr<Transfer> send(int to, MessageTag tag,
                                                       const Buffer& buffer) = 0;
  [[nodiscard]] virtual std::unique_ptr<Transfer> receive(int from, MessageTag tag,
                                                          const Buffer& buffer) = 0;
  // From one rank at a time; nothing: any number, since a receive that waits costs only its buffer.
  [[nodiscard]] virtual std::optional<int> most_open_receives() const { return std::nullopt; }
  // Point-to-point calls in between are issued together (an NCCL group); no effect elsewhere.
  virtual void begin_batch() {}
  virtual void end_batch() {}

  // Called by every member, with the same name and members (ascending ranks); a rank that belongs
  // to several groups forms them in the same order as everybody else.
  virtual CommunicatorId form_group(const std::string& name, const std::vector<int>& members) = 0;
  // The members of a group call the same collectives in the same order.
  // Sum over the members, in place; the same bits on every member.
  [[nodiscard]] virtual std::unique_ptr<Transfer> all_reduce(CommunicatorId group,
                                                             const Buffer& buffer) = 0;
  // `buffer` is divided evenly, part i belongs to the i-th member. Afterwards the own part holds
  // the sum over the members; the others hold anything.
  [[nodiscard]] virtual std::unique_ptr<Transfer> reduce_scatter(CommunicatorId group,
                                                                 const Buffer& buffer) = 0;
  // Afterwards every part is what its member had in it.
  [[nodiscard]] virtual std::unique_ptr<Transfer> all_gather(CommunicatorId group,
                                                             const Buffer& buffer) = 0;
  virtual void barrier() = 0;  // of all ranks
  // On the clock that Transfer::ended() goes by.
  [[nodiscard]] virtual SteadyTime now() const { return steady_now(); }

  // Ends every transfer of this rank with a failure that says `reason`, and as far as the transport
  // can, those of its peers. May be called from any thread.
  virtual void abort(const std::string& reason) = 0;
};

}  // namespace penstock
