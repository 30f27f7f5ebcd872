// A send copies to a pinned block, waits for the copy, and hands the block to the transport below;
// a receive copies out of its block when the transfer has ended. A block goes back to the pool only
// when neither a copy nor a transfer can touch it any more; after a failure it never does. The pool
// is shared with the transfers, because they may outlive the transport.
#include "training/staged_transport.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace penstock {
namespace {

struct Block {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
};

// Host memory that is used again, since pinning costs more than copying. Sizes are powers of two,
// so that messages that differ a little share blocks.
class BlockPool {
 public:
  explicit BlockPool(std::unique_ptr<StagingMemory> memory) : memory_(std::move(memory)) {}
  ~BlockPool() {
    for (const Block& block : all_) memory_->release(block.memory);
  }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  [[nodiscard]] StagingMemory& memory() { return *memory_; }

  Block take(std::size_t bytes) {
    take_back_copied();
    const std::size_t size = std::bit_ceil(std::max<std::size_t>(bytes, 1));
    std::vector<Block>& free = free_[size];
    if (free.empty()) {
      all_.push_back({memory_->allocate(size), size});
      return all_.back();
    }
    const Block block = free.back();
    free.pop_back();
    return block;
  }

  void put_back(const Block& block) { free_[block.bytes].push_back(block); }
  void put_back_after(const Block& block, std::unique_ptr<StagingMemory::Copy> copy) {
    copying_.push_back({block, std::move(copy)});
  }

 private:
  struct Copying {
    Block block;
    std::unique_ptr<StagingMemory::Copy> copy;
  };

  void take_back_copied() {
    std::erase_if(copying_, [this](const Copying& copying) {
      if (!copying.copy->done()) return false;
      put_back(copying.block);
      return true;
    });
  }

  std::unique_ptr<StagingMemory> memory_;
  std::vector<Block> all_;
  std::map<std::size_t, std::vector<Block>> free_;
  std::vector<Copying> copying_;
};

class StagedTransfer : public Transfer {
 public:
  // `to_device`: where the result is copied; absent for a send.
  StagedTransfer(std::shared_ptr<BlockPool> pool, const Block& block,
                 std::unique_ptr<Transfer> below, const std::optional<Buffer>& to_device)
      : pool_(std::move(pool)), block_(block), below_(std::move(below)), to_device_(to_device) {}
  // After a failure the transport below may still use the block, so it is not put back.

  bool done() override {
    if (!finished_ && below_->done()) finish();
    return finished_;
  }
  void wait() override {
    if (finished_) return;
    below_->wait();
    finish();
  }
  [[nodiscard]] std::optional<SteadyTime> ended() const override { return below_->ended(); }

 private:
  void finish() {
    finished_ = true;
    if (to_device_) {
      pool_->put_back_after(block_, pool_->memory().to_device(block_.memory, *to_device_));
    } else {
      pool_->put_back(block_);
    }
  }

  std::shared_ptr<BlockPool> pool_;
  Block block_;
  std::unique_ptr<Transfer> below_;
  std::optional<Buffer> to_device_;
  bool finished_ = false;
};

class StagedTransport : public Transport {
 public:
  StagedTransport(std::unique_ptr<Transport> below, std::unique_ptr<StagingMemory> memory)
      : pool_(std::make_shared<BlockPool>(std::move(memory))), below_(std::move(below)) {}

  int rank() const override { return below_->rank(); }
  int size() const override { return below_->size(); }

  std::unique_ptr<Transfer> send(int to, MessageTag tag, const Buffer& buffer) override {
    if (!buffer.on_device) return below_->send(to, tag, buffer);
    const Block block = copied_to_host(buffer);
    return staged(block, below_->send(to, tag, in_host(buffer, block)), std::nullopt);
  }
  std::unique_ptr<Transfer> receive(int from, MessageTag tag, const Buffer& buffer) override {
    if (!buffer.on_device) return below_->receive(from, tag, buffer);
    const Block block = pool_->take(buffer.bytes());
    return staged(block, below_->receive(from, tag, in_host(buffer, block)), buffer);
  }
  void begin_batch() override { below_->begin_batch(); }
  void end_batch() override { below_->end_batch(); }

  CommunicatorId form_group(const std::string& name, const std::vector<int>& members) override {
    return below_->form_group(name, members);
  }
  std::unique_ptr<Transfer> all_reduce(CommunicatorId group, const Buffer& buffer) override {
    return collective(&Transport::all_reduce, group, buffer);
  }
  std::unique_ptr<Transfer> reduce_scatter(CommunicatorId group, const Buffer& buffer) override {
    return collective(&Transport::reduce_scatter, group, buffer);
  }
  std::unique_ptr<Transfer> all_gather(CommunicatorId group, const Buffer& buffer) override {
    return collective(&Transport::all_gather, group, buffer);
  }
  void barrier() override { below_->barrier(); }
  void abort(const std::string& reason) override { below_->abort(reason); }

 private:
  using Collective = std::unique_ptr<Transfer> (Transport::*)(CommunicatorId, const Buffer&);

  std::unique_ptr<Transfer> collective(Collective call, CommunicatorId group,
                                       const Buffer& buffer) {
    if (!buffer.on_device) return (below_.get()->*call)(group, buffer);
    const Block block = copied_to_host(buffer);
    return staged(block, (below_.get()->*call)(group, in_host(buffer, block)), buffer);
  }

  Block copied_to_host(const Buffer& buffer) {
    const Block block = pool_->take(buffer.bytes());
    pool_->memory().to_host(buffer, block.memory)->wait();
    return block;
  }

  static Buffer in_host(const Buffer& buffer, const Block& block) {
    return {block.memory, buffer.elements, buffer.type};
  }

  std::unique_ptr<Transfer> staged(const Block& block, std::unique_ptr<Transfer> below,
                                   const std::optional<Buffer>& to_device) {
    return std::make_unique<StagedTransfer>(pool_, block, std::move(below), to_device);
  }

  std::shared_ptr<BlockPool> pool_;  // ends after the transport that reads and writes its blocks
  std::unique_ptr<Transport> below_;
};

}  // namespace

std::unique_ptr<Transport> make_staged_transport(std::unique_ptr<Transport> below,
                                                 std::unique_ptr<StagingMemory> memory) {
  return std::make_unique<StagedTransport>(std::move(below), std::move(memory));
}

}  // namespace penstock
