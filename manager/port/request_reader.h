// Makes HTTP requests of bytes as they arrive, in whatever pieces. It holds no more of a request
// than its limits, so what a stranger sends cannot take memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "manager/port/http_request.h"

namespace penstock {

struct RequestLimits {
  std::size_t head_bytes = 8UL << 10;
  std::size_t body_bytes = 16UL << 10;
};

class RequestReader {
 public:
  explicit RequestReader(RequestLimits limits = {});
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // The next request once all of it has arrived: nothing means more bytes are needed, or that the
  // bytes are refused. Bytes behind a request are kept for the next.
  [[nodiscard]] std::optional<HttpRequest> read(std::string_view bytes);
  // Why the bytes are no request; nothing more will be read.
  [[nodiscard]] const std::optional<HttpResponse>& refusal() const { return refusal_; }

 private:
  struct Parser;
  RequestLimits limits_;
  std::unique_ptr<Parser> parser_;
  std::string bytes_;  // not parsed yet
  std::optional<HttpResponse> refusal_;
};

}  // namespace penstock
