// Two threads meet here: the server's, which judges requests, and the manager's, which takes
// commands. Between them are a view of the job and a short list of commands; a list that is full,
// or a sender faster than the rate, is answered 429.
#include "manager/port/serve_commands.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/values/json.h"

namespace penstock {
namespace {

constexpr std::size_t kMostPending = 64;
constexpr double kCommandsPerSecond = 20.0;
constexpr double kBurst = 100.0;
constexpr std::size_t kChallengeBytes = 16;

// Commands that may come now: kBurst at once, kCommandsPerSecond in the long run.
class Allowance {
 public:
  bool take() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    left_ = std::min(kBurst, left_ + seconds * kCommandsPerSecond);
    last_ = now;
    if (left_ < 1.0) return false;
    left_ -= 1.0;
    return true;
  }

 private:
  double left_ = kBurst;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

HttpResponse response_of(const std::string& id, const CommandOutcome& outcome) {
  Json json = Json::object();
  json.set("ok", outcome.done).set("id", id);
  json.set(outcome.done ? "answer" : "error", outcome.words);
  return {outcome.done ? 200 : 409, "application/json", to_text(json) + "\n"};
}

}  // namespace

struct CommandPort::Parts {
  Parts(PortKey secret, PortView shown) : key(std::move(secret)), view(std::move(shown)) {}

  PortKey key;
  Allowance allowance{};
  std::mutex mutex{};  // guards what follows
  std::condition_variable came{};
  PortView view;
  std::vector<PendingCommand> pending{};
  std::unique_ptr<HttpServer> server{};  // last: its thread ends first

  std::optional<HttpResponse> judge(const HttpRequest& request, HttpConversation& conversation) {
    const std::scoped_lock lock(mutex);
    RequestAnswer answer = answer_request(request, view, key, conversation,
                                          [] { return random_hex(kChallengeBytes); });
    if (!answer.command) return std::move(answer.response);
    if (pending.size() >= kMostPending || !allowance.take()) {
      return refused_response(429, "too many commands; send it again later");
    }
    pending.push_back({conversation.id, std::move(*answer.command)});
    came.notify_one();
    return std::nullopt;
  }
};

CommandPort::CommandPort(const HttpServerOptions& options, PortKey key, PortView view)
    : parts_(std::make_unique<Parts>(std::move(key), std::move(view))) {
  parts_->server = std::make_unique<HttpServer>(
      options, [parts = parts_.get()](const HttpRequest& request, HttpConversation& conversation) {
        return parts->judge(request, conversation);
      });
}
CommandPort::~CommandPort() = default;

int CommandPort::port() const { return parts_->server->port(); }

void CommandPort::show(PortView view) {
  const std::scoped_lock lock(parts_->mutex);
  parts_->view = std::move(view);
}

std::vector<PendingCommand> CommandPort::take(Duration patience) {
  std::unique_lock lock(parts_->mutex);
  parts_->came.wait_for(lock, patience, [this] { return !parts_->pending.empty(); });
  return std::exchange(parts_->pending, {});
}

void CommandPort::answer(const PendingCommand& command, const CommandOutcome& outcome) {
  parts_->server->reply(command.conversation, response_of(command.message.command.id, outcome));
}

}  // namespace penstock
