#include "runtime_bridge/redis/redis_store.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "core/values/error.h"
#include "runtime_bridge/redis/redis_connection.h"

namespace penstock {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(50);
constexpr Duration kLongestPause = std::chrono::seconds(1);

std::string milliseconds(Duration time) {
  return std::to_string(std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
}

class RedisStore : public PlanStore {
 public:
  RedisStore(const PlanStoreAddress& address, const RedisTimes& times)
      : address_(address), times_(times) {}

  StoreAnswer<StoredValue> wait_for(const std::string& key, const std::string& after,
                                    Duration wait) override {
    StoreAnswer<StoredValue> answer;
    RedisCommand command{"XREAD", "COUNT", "1"};
    // BLOCK 0 would be for ever.
    if (wait >= std::chrono::milliseconds(1)) {
      command.insert(command.end(), {"BLOCK", milliseconds(wait)});
    }
    command.insert(command.end(), {"STREAMS", key, after.empty() ? "0" : after});
    answer.trouble = run({command}, wait, [&](const std::vector<RedisReply>& replies) {
      answer.value = newest_of(replies.front());
    });
    return answer;
  }

  std::string put(const std::string& key, const std::string& bytes, Duration lasts) override {
    return run({{"MULTI"},
                {"XADD", key, "MAXLEN", "1", "*", "v", bytes},
                {"PEXPIRE", key, milliseconds(lasts)},
                {"EXEC"}},
               Duration{}, [](const auto& /*replies*/) {});
  }

  StoreAnswer<bool> keep(const std::string& key, Duration lasts) override {
    StoreAnswer<bool> answer;
    answer.trouble = run({{"PEXPIRE", key, milliseconds(lasts)}}, Duration{},
                         [&](const auto& replies) { answer.value = replies.front().integer == 1; });
    return answer;
  }

  StoreAnswer<Duration> time_left(const std::string& key) override {
    StoreAnswer<Duration> answer;
    answer.trouble = run({{"PTTL", key}}, Duration{}, [&](const auto& replies) {
      if (replies.front().integer >= 0) {
        answer.value = std::chrono::milliseconds(replies.front().integer);
      }
    });
    return answer;
  }

  std::string remove(const std::vector<std::string>& keys) override {
    RedisCommand command{"DEL"};
    command.insert(command.end(), keys.begin(), keys.end());
    return run({command}, Duration{}, [](const auto& /*replies*/) {});
  }

  std::string name() const override { return words_of(address_); }

 private:
  // [[key, [[id, ["v", bytes]]]]]
  [[nodiscard]] std::optional<StoredValue> newest_of(const RedisReply& reply) const {
    if (reply.kind == RedisReply::Kind::kNothing || reply.list.empty()) return {};
    const auto& of_key = reply.list.front().list;
    if (of_key.size() == 2 && of_key[1].list.size() == 1) {
      const auto& entry = of_key[1].list.front().list;
      if (entry.size() == 2 && entry[1].list.size() == 2) {
        return StoredValue{entry[0].text, entry[1].list[1].text};
      }
    }
    throw Error(ErrorKind::kMissingResource,
                name() +
                    ": a key of this job holds what penstock does not write\nhelp: give this "
                    "job a name of its own (--job)");
  }

  // Returns the trouble. `wait`: how much longer than others an answer may take.
  template <class Use>
  std::string run(const std::vector<RedisCommand>& commands, Duration wait, const Use& use) {
    try {
      if (!connection_ && !connect(wait)) return trouble_;
      use(connection_->run(commands, steady_now() + wait + times_.answer));
      pause_ = kFirstPause;
      return "";
    } catch (const StoreTrouble& trouble) {
      trouble_ = trouble.what();
      if (!connection_ || connection_->is_lost()) {
        connection_.reset();
        next_try_ = steady_now() + pause_;
        pause_ = std::min(2 * pause_, kLongestPause);
      } else {  // refused; the server will think no better of it at once
        std::this_thread::sleep_for(std::min(wait, kFirstPause));
      }
      return trouble_;
    }
  }

  // False before it is time to try again.
  bool connect(Duration wait) {
    const SteadyTime now = steady_now();
    if (now < next_try_) {
      const Duration pause = std::min(wait, Duration(next_try_ - now));
      std::this_thread::sleep_for(pause);
      if (steady_now() < next_try_) return false;
    }
    connection_ = std::make_unique<RedisConnection>(address_, steady_now() + times_.connect);
    return true;
  }

  const PlanStoreAddress address_;
  const RedisTimes times_;
  std::unique_ptr<RedisConnection> connection_;
  std::string trouble_ = "not connected yet";
  Duration pause_ = kFirstPause;
  SteadyTime next_try_{};
};

}  // namespace

std::unique_ptr<PlanStore> open_redis(const PlanStoreAddress& address, const RedisTimes& times) {
  return std::make_unique<RedisStore>(address, times);
}

}  // namespace penstock
