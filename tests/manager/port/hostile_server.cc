// A port whose manager counts commands and does nothing else: what hostile_port.py attacks.
//   hostile_server KEYFILE    prints its port; /status is how many commands came through
#include <cstdio>
#include <string>

#include "core/values/error.h"
#include "manager/port/serve_commands.h"

int main(int count, char** arguments) {
  using namespace penstock;
  if (count != 2) return 2;
  try {
    int commands = 0;
    const auto view = [&] {
      return PortView{"job", std::nullopt, "{\"commands\": " + std::to_string(commands) + "}\n",
                      ""};
    };
    CommandPort port({}, make_port_key(arguments[1]), view());
    std::printf("%d\n", port.port());
    std::fflush(stdout);
    while (true) {
      for (const PendingCommand& command : port.take(std::chrono::milliseconds(100))) {
        ++commands;
        port.show(view());
        port.answer(command, {true, "counted"});
      }
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
