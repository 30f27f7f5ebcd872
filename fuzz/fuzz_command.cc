// What strangers send to the manager's port. The bytes are tried three times: as they arrive at the
// socket, where without the key nothing may become a command; as the body of a message that
// somebody with the key has signed; and as a message, which written and read again must be the
// same.
#include "fuzz/fuzz.h"
#include "manager/port/answer_request.h"
#include "manager/port/request_reader.h"

namespace penstock {
namespace {

using fuzz::require;

constexpr const char* kChallenge = "c0ffee";

const PortKey& key() {
  static const PortKey kKey(std::string(32, 'k'));
  return kKey;
}
const PortView& view() {
  static const PortView kView{"job", std::vector<std::string>{"a", "b"}, "{}", ""};
  return kView;
}

RequestAnswer answer(const HttpRequest& request) {
  HttpConversation conversation{1, kChallenge};
  RequestAnswer answer =
      answer_request(request, view(), key(), conversation, [] { return std::string("another"); });
  require(answer.response.has_value() != answer.command.has_value(), "an answer or a command");
  require(request.path != "/command" || request.method != "POST" ||
              conversation.challenge != kChallenge,
          "a challenge that is still good after it was answered");
  return answer;
}

void try_as_bytes(std::string_view bytes) {
  const RequestLimits limits{512, 1024};
  RequestReader reader(limits);
  // In pieces of uneven length, and then the requests behind the first.
  std::size_t length = 1;
  while (!bytes.empty() && !reader.refusal()) {
    const std::string_view piece = bytes.substr(0, length);
    bytes.remove_prefix(piece.size());
    length = length * 3 + 1;
    for (auto request = reader.read(piece); request; request = reader.read("")) {
      require(request->body.size() <= limits.body_bytes, "a body beyond the limit");
      require(!answer(*request).command, "a command without the key");
    }
  }
}

void try_as_signed(const std::string& body) {
  HttpRequest request{"POST", "/command"};
  request.body = body;
  request.headers = {{kSignatureHeader, key().sign(body)}};
  const RequestAnswer answered = answer(request);
  if (!answered.command) return;
  const CommandGiven& command = answered.command->command;
  require(answered.command->challenge == kChallenge, "an answer to another challenge");
  require(command.machine.empty() || command.machine == "a" || command.machine == "b",
          "a machine that is not in the list");
  require(is_machine_name(command.id) && is_machine_name(command.who), "words with surprises");
}

void try_as_message(const std::string& text) {
  const auto message = fuzz::unless_refused([&] { return read_command_message(text); });
  if (!message) return;
  fuzz::remember(text);
  const CommandMessage again = read_command_message(write_command_message(*message));
  // Times are written to the millisecond.
  CommandMessage cut = *message;
  if (cut.command.at) {
    cut.command.at = std::chrono::floor<std::chrono::milliseconds>(*cut.command.at);
  }
  require(again == cut, "written and read again it is another message");
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_as_bytes(text);
  try_as_signed(text);
  try_as_message(text);
  return 0;
}
