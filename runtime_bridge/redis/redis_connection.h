// One connection to a Redis: commands there, replies back, in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime_bridge/redis/byte_stream.h"

namespace penstock {

struct RedisReply {
  enum class Kind { kNothing, kInteger, kText, kFailure, kList };
  Kind kind = Kind::kNothing;
  std::int64_t integer = 0;
  std::string text;
  std::vector<RedisReply> list;
};

using RedisCommand = std::vector<std::string>;

class RedisConnection {
 public:
  // Connects, says who it is, and chooses the database. StoreTrouble, or Error for what no waiting
  // mends.
  RedisConnection(const PlanStoreAddress& address, SteadyTime deadline);
  ~RedisConnection();

  // All commands at once, and a reply to each. What the server refuses is StoreTrouble where it may
  // pass, and else Error, after all replies were read. StoreTrouble when the connection is lost,
  // too: is_lost() tells.
  std::vector<RedisReply> run(const std::vector<RedisCommand>& commands, SteadyTime deadline);
  [[nodiscard]] bool is_lost() const { return is_lost_; }

 private:
  struct Reader;
  [[nodiscard]] RedisReply reply(SteadyTime deadline);

  std::string name_;
  bool has_password_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<Reader> reader_;
  bool is_lost_ = false;
};

}  // namespace penstock
