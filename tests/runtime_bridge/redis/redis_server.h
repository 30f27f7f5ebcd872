// A redis-server of the test's own: on loopback, on a free port, in a folder of its own, without
// anything that lasts. It is gone with this value.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "runtime_bridge/plan_store_address.h"

namespace penstock::tests {

class RedisServer {
 public:
  // `options`: as on redis-server's command line. `tls`: only with TLS, under a certificate of
  // 127.0.0.1 that it signs itself; clients must show one as well.
  explicit RedisServer(std::vector<std::string> options = {}, bool tls = false);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer();

  // SIGKILL; start() begins anew, empty, on the same port.
  void kill();
  void start();
  void send(int signal) const;

  [[nodiscard]] PlanStoreAddress address() const;
  [[nodiscard]] std::string file(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] int port() const { return port_; }

 private:
  std::vector<std::string> options_;
  bool tls_;
  std::string folder_;
  int port_ = 0;
  pid_t process_ = -1;
};

}  // namespace penstock::tests
