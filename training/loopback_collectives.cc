// The last member to come does all the work, on one thread and in the order of the members: that is
// why sums have the same bits whatever the timing. Buffers on a GPU are copied to host memory first
// and back afterwards. Members that call different collectives are refused with both calls named,
// where NCCL would hang.
#include "training/loopback_collectives.h"

#include <cstddef>
#include <string>
#include <vector>

#include "training/sum_elements.h"

namespace penstock {
namespace {

std::string words_of(GroupCall kind, const Buffer& buffer) {
  return std::string(name_of(kind)) + " of " + std::to_string(buffer.elements) + " " +
         std::string(name_of(buffer.type));
}

void copy_and_wait(CopyEngine& engine, const Buffer& from, const CopyEngine::Mark* from_ready,
                   const Buffer& to, const CopyEngine::Mark* to_ready) {
  const auto copy = engine.copy(from, from_ready, to, to_ready);
  if (copy != nullptr) copy->wait();
}

// The members' buffers, of those on a GPU a copy in host memory.
class HostSide {
 public:
  HostSide(const LoopbackCollective& collective, CopyEngine& engine)
      : collective_(collective), engine_(engine), copies_(collective.parts.size()) {
    buffers_.reserve(copies_.size());
    for (std::size_t member = 0; member < copies_.size(); ++member) {
      const auto& part = collective.parts[member];
      buffers_.push_back(part.buffer);
      if (!part.buffer.on_device) continue;
      copies_[member].resize(part.buffer.bytes());
      buffers_.back() = {copies_[member].data(), part.buffer.elements, part.buffer.type};
      copy_and_wait(engine, part.buffer, part.mark.get(), buffers_.back(), nullptr);
    }
  }

  [[nodiscard]] const std::vector<Buffer>& buffers() const { return buffers_; }

  void copy_back() {
    for (std::size_t member = 0; member < copies_.size(); ++member) {
      const auto& part = collective_.parts[member];
      if (!part.buffer.on_device) continue;
      copy_and_wait(engine_, buffers_[member], nullptr, part.buffer, part.mark.get());
    }
  }

 private:
  const LoopbackCollective& collective_;
  CopyEngine& engine_;
  std::vector<std::vector<std::byte>> copies_;
  std::vector<Buffer> buffers_;
};

// Sums elements [begin, end) of all buffers into those of `to`.
void sum(const std::vector<Buffer>& buffers, std::size_t begin, std::size_t end,
         const std::vector<std::byte*>& to) {
  std::vector<const std::byte*> from;
  from.reserve(buffers.size());
  for (const Buffer& buffer : buffers) from.push_back(buffer.part(begin, end).data);
  sum_elements(buffers[0].type, end - begin, from, to);
}

void all_reduce(const std::vector<Buffer>& buffers) {
  std::vector<std::byte*> to;
  to.reserve(buffers.size());
  for (const Buffer& buffer : buffers) to.push_back(buffer.data);
  sum(buffers, 0, buffers[0].elements, to);
}

void reduce_scatter(const std::vector<Buffer>& buffers) {
  const std::size_t size = buffers[0].elements / buffers.size();
  for (std::size_t part = 0; part < buffers.size(); ++part) {
    const std::size_t begin = part * size;
    sum(buffers, begin, begin + size, {buffers[part].part(begin, begin + size).data});
  }
}

void all_gather(const std::vector<Buffer>& buffers, CopyEngine& engine) {
  const std::size_t size = buffers[0].elements / buffers.size();
  for (std::size_t part = 0; part < buffers.size(); ++part) {
    const std::size_t begin = part * size, end = begin + size;
    for (std::size_t to = 0; to < buffers.size(); ++to) {
      if (to == part) continue;
      copy_and_wait(engine, buffers[part].part(begin, end), nullptr, buffers[to].part(begin, end),
                    nullptr);
    }
  }
}

}  // namespace

std::string_view name_of(GroupCall kind) {
  switch (kind) {
    case GroupCall::kAllReduce:
      return "all_reduce";
    case GroupCall::kReduceScatter:
      return "reduce_scatter";
    case GroupCall::kAllGather:
      return "all_gather";
    case GroupCall::kBarrier:
      return "barrier";
  }
  return "";
}

void require_same_call(const LoopbackCollective& collective, int rank, GroupCall kind,
                       const Buffer& buffer) {
  const std::string place = "group '" + collective.group + "': rank " + std::to_string(rank) +
                            " calls " + words_of(kind, buffer);
  for (std::size_t member = 0; member < collective.parts.size(); ++member) {
    const auto& part = collective.parts[member];
    if (!part.came) continue;
    if (collective.kind == kind && part.buffer.type == buffer.type &&
        part.buffer.elements == buffer.elements) {
      break;
    }
    throw Error(ErrorKind::kInternal, place + ", rank " +
                                          std::to_string(collective.members[member]) + " " +
                                          words_of(collective.kind, part.buffer));
  }
  const bool divides = kind == GroupCall::kReduceScatter || kind == GroupCall::kAllGather;
  if (divides && buffer.elements % collective.members.size() != 0) {
    throw Error(ErrorKind::kInternal, place + ", which " +
                                          std::to_string(collective.members.size()) +
                                          " members cannot share evenly");
  }
}

void carry_out(const LoopbackCollective& collective, CopyEngine& engine) {
  if (collective.kind == GroupCall::kBarrier) return;
  HostSide host(collective, engine);
  switch (collective.kind) {
    case GroupCall::kAllReduce:
      all_reduce(host.buffers());
      break;
    case GroupCall::kReduceScatter:
      reduce_scatter(host.buffers());
      break;
    case GroupCall::kAllGather:
      all_gather(host.buffers(), engine);
      break;
    case GroupCall::kBarrier:
      break;
  }
  host.copy_back();
}

}  // namespace penstock
