// `preempted` is asked with wait_for_change, so that a notice of 30 s loses none of them to
// polling; `maintenance-event` has 60 s, and is read as it is after each of these answers. The
// first question carries no ETag and is answered at once. 503 means: again.
#include "manager/notices/gcp.h"

#include <optional>
#include <utility>

#include "manager/notices/read_body.h"

namespace penstock {
namespace {

constexpr const char* kPreempted = "/computeMetadata/v1/instance/preempted";
constexpr const char* kMaintenance = "/computeMetadata/v1/instance/maintenance-event";
constexpr Duration kMaintenanceNotice = std::chrono::seconds(60);
constexpr std::size_t kLongestEtag = 128;

std::string trimmed(const std::string& body) {
  const std::size_t end = body.find_last_not_of(" \t\r\n");
  return end == std::string::npos ? "" : body.substr(0, end + 1);
}

class GcpNotices final : public CloudNotices {
 public:
  GcpNotices(HttpExchange exchange, GcpOptions options)
      : exchange_(std::move(exchange)), options_(options) {}

  NoticesRead ask(const AskTime& clock) override {
    NoticesRead found = read_maintenance(clock);
    NoticesRead preempted = read_preempted(clock);
    for (CloudNotice& notice : preempted.notices) found.notices.push_back(std::move(notice));
    if (found.trouble.empty()) found.trouble = std::move(preempted.trouble);
    return found;
  }
  // The service itself holds the answer back; after trouble, or a notice, it does not.
  [[nodiscard]] Duration pause() const override { return std::chrono::seconds(1); }
  bool approve(const CloudNotice& /*notice*/) override { return true; }

 private:
  HttpReply get(const std::string& path, Duration limit) {
    HttpCall call{"GET", path, {{"Metadata-Flavor", "Google"}}};
    call.limit = limit;
    return exchange_(call);
  }

  NoticesRead read_preempted(const AskTime& clock) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.wait_for_change);
    std::string path = kPreempted;
    if (!etag_.empty()) {
      path += "?wait_for_change=true&timeout_sec=" + std::to_string(seconds.count()) +
              "&last_etag=" + etag_;
    }
    const HttpReply reply = get(path, options_.wait_for_change + std::chrono::seconds(10));
    if (reply.status == 503) return {};
    if (reply.status != 200) {
      etag_.clear();
      return {{}, trouble_of(reply, "GCP", kPreempted)};
    }
    const std::string etag(header_of(reply.headers, "ETag"));
    etag_ = is_etag(etag) ? etag : "";
    NoticesRead found = read_gcp_preempted(reply.body, clock(), options_.notice);
    if (!found.notices.empty()) etag_.clear();  // a second look need not wait
    return found;
  }

  NoticesRead read_maintenance(const AskTime& clock) {
    const HttpReply reply = get(kMaintenance, std::chrono::seconds(5));
    if (reply.status == 503 || reply.status == 404) return {};
    if (reply.status != 200) return {{}, trouble_of(reply, "GCP", kMaintenance)};
    // The announcement may be as old as the last look that found none.
    const UtcTime now = clock();
    NoticesRead found = read_gcp_maintenance(reply.body, no_maintenance_.value_or(now));
    if (found.notices.empty() && found.trouble.empty()) no_maintenance_ = now;
    return found;
  }

  // Goes into an address: letters and digits only.
  static bool is_etag(const std::string& text) {
    return is_header_text(text, kLongestEtag) &&
           text.find_first_not_of(
               "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") ==
               std::string::npos;
  }

  HttpExchange exchange_;
  GcpOptions options_;
  std::string etag_;
  std::optional<UtcTime> no_maintenance_;
};

}  // namespace

NoticesRead read_gcp_preempted(const std::string& body, UtcTime now, Duration notice) {
  const std::string value = trimmed(body);
  if (value == "FALSE") return {};
  if (value != "TRUE") {
    return {{}, "GCP preempted: expected TRUE or FALSE, got '" + shortened(value) + "'"};
  }
  const UtcTime at = now + notice;
  return {{{CloudNoticeKind::kLoss,
            at,
            "gcp/preempted",
            "GCP preempts the machine; it counts as gone at " + to_text(at),
            {}}},
          {}};
}

NoticesRead read_gcp_maintenance(const std::string& body, UtcTime since) {
  const std::string value = trimmed(body);
  if (value == "NONE") return {};
  if (value == "TERMINATE_ON_HOST_MAINTENANCE") {
    const UtcTime at = since + kMaintenanceNotice;
    return {{{CloudNoticeKind::kLoss,
              at,
              "gcp/" + value,
              "GCP stops the machine for maintenance; it counts as gone at " + to_text(at),
              {}}},
            {}};
  }
  if (value == "MIGRATE_ON_HOST_MAINTENANCE") {
    return {{{CloudNoticeKind::kRisk,
              since,
              "gcp/" + value,
              "GCP moves the machine to another host",
              {}}},
            {}};
  }
  return {{}, "GCP maintenance-event: unknown '" + shortened(value) + "'"};
}

std::unique_ptr<CloudNotices> gcp_notices(HttpExchange exchange, GcpOptions options) {
  return std::make_unique<GcpNotices>(std::move(exchange), options);
}

}  // namespace penstock
