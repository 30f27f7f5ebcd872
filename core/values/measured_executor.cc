#include "core/values/measured_executor.h"

#include <algorithm>

namespace penstock {
namespace {

// Times do not fall with the size, so no line does.
Duration on_line(const MessageCost& small, const MessageCost& large, Duration MessageCost::*cost,
                 Bytes bytes) {
  const auto width = static_cast<double>(large.bytes.count - small.bytes.count);
  const auto along = static_cast<double>(bytes.count - small.bytes.count) / width;
  const auto rise = static_cast<double>((large.*cost - small.*cost).count());
  return small.*cost + round_up_nearly(rise * along);
}

}  // namespace

MessageCost MeasuredExecutor::message_of(Bytes bytes) const {
  if (messages.empty() || bytes.count <= 0) return {bytes, {}, {}};
  const auto above = std::find_if(messages.begin(), messages.end(),
                                  [&](const MessageCost& one) { return one.bytes >= bytes; });
  if (above == messages.begin() || messages.size() == 1) {
    return {bytes, messages.front().send, messages.front().receive};
  }
  const MessageCost& large = above == messages.end() ? messages.back() : *above;
  const MessageCost& small = *(&large - 1);
  return {bytes, on_line(small, large, &MessageCost::send, bytes),
          on_line(small, large, &MessageCost::receive, bytes)};
}

}  // namespace penstock
