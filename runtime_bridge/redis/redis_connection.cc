// Commands go out together and their replies are read in order, by hiredis' parser. What a server
// cannot do for now (Passing) is trouble that the store tries again; what it refuses for good is
// an Error with its remedy. After a deadline the connection is lost: a late reply would be taken
// for that of the next command.
#include "runtime_bridge/redis/redis_connection.h"

#include <array>
#include <string_view>
#include <utility>

#include <hiredis/hiredis.h>

#include "core/values/error.h"

namespace penstock {
namespace {

RedisReply value_of(const redisReply& from) {
  RedisReply reply;
  switch (from.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      reply.kind = RedisReply::Kind::kText;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_ERROR:
      reply.kind = RedisReply::Kind::kFailure;
      reply.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_INTEGER:
      reply.kind = RedisReply::Kind::kInteger;
      reply.integer = from.integer;
      break;
    case REDIS_REPLY_ARRAY:
      reply.kind = RedisReply::Kind::kList;
      for (std::size_t i = 0; i < from.elements; ++i) {
        reply.list.push_back(value_of(*from.element[i]));
      }
      break;
    default:
      break;
  }
  return reply;
}

std::string encoded(const RedisCommand& command) {
  std::string bytes = "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string& word : command) {
    bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return bytes;
}

// What a server says while it cannot do what it can do at other times.
struct Passing {
  std::string_view code, words;
};
constexpr std::array kPassing{
    Passing{"OOM", "its memory is full (raise its maxmemory)"},
    Passing{"READONLY", "it is a replica that only reads (name the master)"},
    Passing{"LOADING", "it is loading its data"},
    Passing{"BUSY", "it is busy with a script"},
    Passing{"MISCONF", "it does not write because it cannot save to its disk"},
    Passing{"MASTERDOWN", "it is a replica that has lost its master"},
    Passing{"NOREPLICAS", "it has not enough replicas to write"},
    Passing{"CLUSTERDOWN", "its cluster is down"},
    Passing{"TRYAGAIN", "its cluster moves keys"},
};

const RedisReply* first_failure(const RedisReply& reply) {
  if (reply.kind == RedisReply::Kind::kFailure) return &reply;
  for (const RedisReply& each : reply.list) {
    if (const RedisReply* failure = first_failure(each)) return failure;
  }
  return nullptr;
}

}  // namespace

struct RedisConnection::Reader {
  struct Free {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };
  std::unique_ptr<redisReader, Free> own{redisReaderCreate()};
};

RedisConnection::RedisConnection(const PlanStoreAddress& address, SteadyTime deadline)
    : name_(words_of(address)),
      has_password_(!address.password.empty()),
      stream_(connect_tcp(address.host, address.port, deadline)),
      reader_(std::make_unique<Reader>()) {
  if (address.tls) stream_ = connect_tls(std::move(stream_), address, deadline);
  std::vector<RedisCommand> commands;
  if (has_password_ && address.user.empty()) commands.push_back({"AUTH", address.password});
  if (has_password_ && !address.user.empty()) {
    commands.push_back({"AUTH", address.user, address.password});
  }
  commands.push_back({"SELECT", std::to_string(address.database)});
  run(commands, deadline);
}

RedisConnection::~RedisConnection() = default;

namespace {

[[noreturn]] void refuse(const std::string& name, bool has_password, const std::string& words) {
  const auto is = [&words](std::string_view code) { return words.starts_with(code); };
  for (const Passing& each : kPassing) {
    if (is(each.code)) throw StoreTrouble(std::string(each.words) + ": " + words);
  }
  std::string help = "is it a Redis of version 5 or newer, with this database?";
  if (is("NOAUTH") || is("WRONGPASS") || is("ERR invalid password") || is("ERR AUTH") ||
      is("ERR Client sent AUTH")) {
    help = has_password
               ? "the password (--store-password-file, or PENSTOCK_STORE_PASSWORD), or the "
                 "user before the @, is another one there"
               : "give its password in a file (--store-password-file), or in the "
                 "environment as PENSTOCK_STORE_PASSWORD";
  } else if (is("NOPERM")) {
    help =
        "this user needs the keys penstock:* and the commands xadd, xread, pexpire, pttl, del, "
        "multi, exec and select";
  } else if (is("MOVED") || is("ASK")) {
    help = "name a Redis of its own: the nodes of a cluster hold a part of the keys each";
  } else if (is("WRONGTYPE")) {
    help = "something else has written this key; give this job a name of its own (--job)";
  }
  throw Error(ErrorKind::kMissingResource, name + ": " + words + "\nhelp: " + help);
}

}  // namespace

std::vector<RedisReply> RedisConnection::run(const std::vector<RedisCommand>& commands,
                                             SteadyTime deadline) {
  std::string bytes;
  for (const RedisCommand& command : commands) bytes += encoded(command);
  std::vector<RedisReply> replies;
  try {
    stream_->send(bytes, deadline);
    while (replies.size() < commands.size()) replies.push_back(reply(deadline));
  } catch (...) {  // a late reply would be taken for that of the next command
    is_lost_ = true;
    throw;
  }
  for (const RedisReply& each : replies) {
    if (const RedisReply* failure = first_failure(each)) {
      refuse(name_, has_password_, failure->text);
    }
  }
  return replies;
}

RedisReply RedisConnection::reply(SteadyTime deadline) {
  for (;;) {
    void* read = nullptr;
    if (redisReaderGetReply(reader_->own.get(), &read) != REDIS_OK) {
      throw Error(ErrorKind::kMissingResource,
                  name_ + ": answers otherwise than a Redis does: " + reader_->own->errstr +
                      "\nhelp: is it another server? Where it expects TLS, write rediss://");
    }
    if (read != nullptr) {
      const std::unique_ptr<redisReply, decltype(&freeReplyObject)> got(
          static_cast<redisReply*>(read), freeReplyObject);
      return value_of(*got);
    }
    const std::string bytes = stream_->receive(deadline);
    redisReaderFeed(reader_->own.get(), bytes.data(), bytes.size());
  }
}

}  // namespace penstock
