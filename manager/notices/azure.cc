// Microsoft's "Scheduled Events for Linux VMs". Preempt, Terminate, Reboot and Redeploy take what
// is in memory; a Freeze lets the machine stand still for a few seconds. Broken hardware is
// announced as a Reboot that has started. An event covers all its Resources, and approving it
// starts it for all of them.
#include "manager/notices/azure.h"

#include <optional>
#include <utility>

#include "manager/notices/http_date.h"
#include "manager/notices/read_body.h"

namespace penstock {
namespace {

constexpr const char* kEvents = "/metadata/scheduledevents?api-version=2020-07-01";
constexpr std::size_t kMostEvents = 1000;
constexpr std::string_view kIdPrefix = "azure/";

class AzureNotices final : public CloudNotices {
 public:
  explicit AzureNotices(HttpExchange exchange) : exchange_(std::move(exchange)) {}

  NoticesRead ask(const AskTime& clock) override {
    HttpCall call{"GET", kEvents, {{"Metadata", "true"}}};
    call.limit = was_answered_ ? std::chrono::seconds(10) : std::chrono::seconds(30);
    call.most_bytes = 1UL << 20;
    const HttpReply reply = exchange_(call);
    if (reply.status != 200) return {{}, trouble_of(reply, "Azure", kEvents)};
    was_answered_ = true;
    AzureEvents events = read_azure_events(reply.body, clock());
    if (!events.incarnation.empty() && events.incarnation == last_.incarnation) return last_.read;
    last_ = std::move(events);
    return last_.read;
  }
  [[nodiscard]] Duration pause() const override { return std::chrono::seconds(1); }

  bool approve(const CloudNotice& notice) override {
    const std::string event = notice.id.substr(kIdPrefix.size());
    return exchange_({"POST",
                      kEvents,
                      {{"Metadata", "true"}, {"Content-Type", "application/json"}},
                      write_azure_approval(event)})
               .status == 200;
  }

 private:
  HttpExchange exchange_;
  // The first answer may take two minutes, since it switches the service on: then it comes to a
  // later question.
  bool was_answered_ = false;
  AzureEvents last_;
};

std::optional<CloudNoticeKind> kind_of(const std::string& type) {
  if (type == "Freeze") return CloudNoticeKind::kRisk;
  if (type == "Preempt" || type == "Terminate" || type == "Reboot" || type == "Redeploy") {
    return CloudNoticeKind::kLoss;
  }
  return std::nullopt;
}

std::vector<std::string> resources_of(const Json& event) {
  std::vector<std::string> names;
  const Json* resources = event.find("Resources");
  if (resources == nullptr || resources->kind() != Json::Kind::kArray) return names;
  for (const Json& name : resources->elements()) {
    if (name.kind() == Json::Kind::kString) names.push_back(name.text());
  }
  return names;
}

// When it happens: "Started" and an empty NotBefore mean now.
std::optional<UtcTime> time_of(const Json& event, UtcTime now) {
  const std::string written = text_at(event, "NotBefore");
  if (written.empty() || text_at(event, "EventStatus") == "Started") return now;
  return parse_http_date(written);
}

void read_event(const Json& event, UtcTime now, NoticesRead& read) {
  if (event.kind() != Json::Kind::kObject) {
    read.trouble = "Azure: an event is not a JSON object";
    return;
  }
  const std::string type = text_at(event, "EventType");
  const std::string id = text_at(event, "EventId");
  const auto kind = kind_of(type);
  const auto at = time_of(event, now);
  if (!kind || !is_header_text(id, 64) || !at) {
    read.trouble = "Azure: an event that cannot be read: EventId '" + shortened(id) +
                   "', EventType '" + shortened(type) + "', NotBefore '" +
                   shortened(text_at(event, "NotBefore")) + "'";
    return;
  }
  const std::vector<std::string> resources = resources_of(event);
  if (resources.empty()) {
    read.trouble = "Azure: event " + id + " has no Resources";
    return;
  }
  read.notices.push_back({*kind, *at, std::string(kIdPrefix) + id,
                          "Azure announces: " + type + " at " + to_text(*at), resources});
}

}  // namespace

AzureEvents read_azure_events(const std::string& body, UtcTime now) {
  AzureEvents result;
  result.read =
      read_json_body(body, "Azure scheduled events", [&](const Json& json) -> NoticesRead {
        const Json* events = json.find("Events");
        if (events == nullptr || events->kind() != Json::Kind::kArray) {
          return {{}, "Azure: the document has no list of Events"};
        }
        if (events->elements().size() > kMostEvents) return {{}, "Azure: more than 1,000 events"};
        NoticesRead read;
        for (const Json& event : events->elements()) read_event(event, now, read);
        const Json* incarnation = json.find("DocumentIncarnation");
        // Without trouble only: what could not be read is looked at again.
        if (incarnation != nullptr && incarnation->kind() == Json::Kind::kNumber &&
            read.trouble.empty()) {
          result.incarnation = incarnation->text();
        }
        return read;
      });
  return result;
}

std::string write_azure_approval(const std::string& event) {
  Json request = Json::object();
  request.set("EventId", event);
  Json json = Json::object();
  json.set("StartRequests", Json::array().push(std::move(request)));
  return to_text(json);
}

std::unique_ptr<CloudNotices> azure_notices(HttpExchange exchange) {
  return std::make_unique<AzureNotices>(std::move(exchange));
}

}  // namespace penstock
