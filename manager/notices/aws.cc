// Amazon's user guide: PUT /latest/api/token gives a token for the following requests, 401 says
// that it has run out, 404 that nothing is announced. One fresh token per ask at most, so that a
// service that refuses every token is not asked in a loop.
#include "manager/notices/aws.h"

#include <utility>

#include "core/values/json.h"
#include "manager/notices/read_body.h"

namespace penstock {
namespace {

constexpr const char* kToken = "/latest/api/token";
constexpr const char* kAction = "/latest/meta-data/spot/instance-action";
constexpr const char* kRebalance = "/latest/meta-data/events/recommendations/rebalance";
constexpr const char* kTokenSeconds = "21600";  // the most that is granted
constexpr std::size_t kLongestToken = 1024;

class AwsNotices final : public CloudNotices {
 public:
  explicit AwsNotices(HttpExchange exchange) : exchange_(std::move(exchange)) {}

  NoticesRead ask(const AskTime& clock) override {
    NoticesRead found = read(kAction, [&clock](const std::string& body) {
      return read_aws_instance_action(body, clock());
    });
    if (!found.notices.empty() || !found.trouble.empty()) return found;
    return read(kRebalance, read_aws_rebalance);
  }
  [[nodiscard]] Duration pause() const override { return std::chrono::seconds(5); }
  bool approve(const CloudNotice& /*notice*/) override { return true; }

 private:
  template <class Read>
  NoticesRead read(const std::string& path, const Read& read_body) {
    HttpReply reply = get(path);
    if (reply.status == 401) {
      token_.clear();
      reply = get(path);
    }
    if (reply.status == 404) return {};
    if (reply.status != 200) return {{}, trouble_of(reply, "AWS", path)};
    return read_body(reply.body);
  }

  HttpReply get(const std::string& path) {
    if (token_.empty()) {
      HttpReply reply =
          exchange_({"PUT", kToken, {{"X-aws-ec2-metadata-token-ttl-seconds", kTokenSeconds}}});
      if (reply.status != 200) return reply;
      if (!is_header_text(reply.body, kLongestToken)) {
        return {0, {}, {}, "the answer to PUT " + std::string(kToken) + " is no token"};
      }
      token_ = reply.body;
    }
    return exchange_({"GET", path, {{"X-aws-ec2-metadata-token", token_}}});
  }

  HttpExchange exchange_;
  std::string token_;
};

}  // namespace

NoticesRead read_aws_instance_action(const std::string& body, UtcTime now) {
  return read_json_body(body, "AWS spot/instance-action", [&](const Json& json) -> NoticesRead {
    const std::string action = text_at(json, "action");
    const bool begins_now = action == "hibernate";
    if (!begins_now && action != "terminate" && action != "stop") {
      return {{}, "AWS spot/instance-action: unknown action '" + shortened(action) + "'"};
    }
    const std::string written = text_at(json, "time");
    const auto time = parse_utc_time(written);
    if (!time && !begins_now) {
      return {{}, "AWS spot/instance-action: 'time' is no UTC time: '" + shortened(written) + "'"};
    }
    const UtcTime at = begins_now ? now : *time;
    // A hibernation has no stable time to be known by.
    return {{{CloudNoticeKind::kLoss,
              at,
              "aws/" + action + "/" + shortened(written),
              "AWS announces: " + action + " at " + to_text(at),
              {}}},
            {}};
  });
}

NoticesRead read_aws_rebalance(const std::string& body) {
  return read_json_body(body, "AWS rebalance", [](const Json& json) -> NoticesRead {
    const std::string written = text_at(json, "noticeTime");
    const auto time = parse_utc_time(written);
    if (!time)
      return {{}, "AWS rebalance: 'noticeTime' is no UTC time: '" + shortened(written) + "'"};
    return {{{CloudNoticeKind::kRisk,
              *time,
              "aws/rebalance/" + written,
              "AWS recommends a rebalance since " + to_text(*time),
              {}}},
            {}};
  });
}

std::unique_ptr<CloudNotices> aws_notices(HttpExchange exchange) {
  return std::make_unique<AwsNotices>(std::move(exchange));
}

}  // namespace penstock
