// Ranks as threads that hand buffers to each other under one lock: enough of a Transport to test
// what is measured, and slow in a known way nowhere.
#pragma once

#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "training/transport.h"

namespace penstock::tests {

class LocalJob {
 public:
  explicit LocalJob(int size) : size_(size) {}

  // Calls `rank(transport)` on a thread per rank.
  template <class Rank>
  void run(const Rank& rank) {
    std::vector<std::thread> threads;
    for (int i = 0; i < size_; ++i) {
      threads.emplace_back([this, &rank, i] {
        LocalTransport transport(*this, i);
        rank(transport);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Calls of collectives, counted over all ranks, by "kind participants".
  std::map<std::string, int> collectives;

 private:
  class Done : public Transfer {
   public:
    [[nodiscard]] bool done() override { return true; }
    void wait() override {}
  };

  class Receive : public Transfer {
   public:
    Receive(LocalJob& job, std::tuple<int, int, MessageTag> key, const Buffer& buffer)
        : job_(job), key_(std::move(key)), buffer_(buffer) {}
    [[nodiscard]] bool done() override {
      const std::scoped_lock lock(job_.mutex_);
      return job_.messages_.count(key_) > 0;
    }
    void wait() override {
      std::unique_lock lock(job_.mutex_);
      job_.changed_.wait(lock, [&] { return job_.messages_.count(key_) > 0; });
      const std::vector<std::byte>& message = job_.messages_[key_];
      std::memcpy(buffer_.data, message.data(), message.size());
      job_.messages_.erase(key_);
    }

   private:
    LocalJob& job_;
    std::tuple<int, int, MessageTag> key_;
    Buffer buffer_;
  };

  class LocalTransport : public Transport {
   public:
    LocalTransport(LocalJob& job, int rank) : job_(job), rank_(rank) {}
    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return job_.size_; }
    std::unique_ptr<Transfer> send(int to, MessageTag tag, const Buffer& buffer) override {
      const std::scoped_lock lock(job_.mutex_);
      job_.messages_[{rank_, to, tag}] = {buffer.data, buffer.data + buffer.bytes()};
      job_.changed_.notify_all();
      return std::make_unique<Done>();
    }
    std::unique_ptr<Transfer> receive(int from, MessageTag tag, const Buffer& buffer) override {
      return std::make_unique<Receive>(job_, std::tuple(from, rank_, tag), buffer);
    }
    CommunicatorId form_group(const std::string&, const std::vector<int>& members) override {
      return {static_cast<int>(members.size())};
    }
    std::unique_ptr<Transfer> all_reduce(CommunicatorId group, const Buffer&) override {
      return count("all_reduce", group);
    }
    std::unique_ptr<Transfer> reduce_scatter(CommunicatorId group, const Buffer&) override {
      return count("reduce_scatter", group);
    }
    std::unique_ptr<Transfer> all_gather(CommunicatorId group, const Buffer&) override {
      return count("all_gather", group);
    }
    void barrier() override {
      std::unique_lock lock(job_.mutex_);
      const int round = job_.arrived_++ / job_.size_;
      job_.changed_.notify_all();
      job_.changed_.wait(lock, [&] { return job_.arrived_ >= (round + 1) * job_.size_; });
    }
    void abort(const std::string&) override {}

   private:
    std::unique_ptr<Transfer> count(const std::string& kind, CommunicatorId group) {
      const std::scoped_lock lock(job_.mutex_);
      ++job_.collectives[kind + ' ' + std::to_string(group.value)];
      return std::make_unique<Done>();
    }
    LocalJob& job_;
    int rank_;
  };

  int size_, arrived_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::tuple<int, int, MessageTag>, std::vector<std::byte>> messages_;
};

}  // namespace penstock::tests
