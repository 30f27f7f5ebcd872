#include "manager/port/open_port.h"

#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "manager/port/http_client.h"
#include "manager/run_folder.h"
#include "report/plan_table.h"

namespace penstock {
namespace {

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "::1"; }

const Plan* plan_of(const PlanBook& book, int page) {
  for (const BookPage& one : book.pages) {
    if (one.gpus == page && one.plan) return &*one.plan;
  }
  return nullptr;
}

PortSubject subject_of(const JobFile& job, const PlanBook& book) {
  PortSubject subject{job.name, job.steps, !job.machine_file.empty(), {}, {}};
  subject.plan_words = [book](int page) {
    const Plan* plan = plan_of(book, page);
    return plan == nullptr ? std::string() : layout_line(*plan);
  };
  subject.tokens_per_step = [book](int page) -> std::int64_t {
    const Plan* plan = plan_of(book, page);
    return plan == nullptr ? 0 : std::int64_t{plan->global_batch} * plan->sequence_length;
  };
  return subject;
}

}  // namespace

std::string token_path(const JobFile& job) {
  return job.token_file.empty() ? job.run_folder + "/token" : job.token_file;
}

std::unique_ptr<PortEvents> open_port(const JobFile& job, const PlanBook& book,
                                      std::function<UtcTime()> clock) {
  if (job.address.empty()) return nullptr;
  const HttpAddress address = parse_http_address("/address", job.address, 0);
  if (!is_loopback(address.host) && job.token_file.empty()) {
    throw_bad_input(
        "/address: '" + job.address +
        "' can be reached from other machines\nhelp: name the file of the key that they need as "
        "\"token_file\" too, or use 127.0.0.1:0");
  }
  HttpServerOptions options;
  options.address = address.host;
  options.port = address.port;
  auto port = std::make_unique<PortEvents>(options, make_port_key(token_path(job)),
                                           subject_of(job, book), std::move(clock));
  const bool has_colon = address.host.find(':') != std::string::npos;
  write_file(address_path(job.run_folder), (has_colon ? "[" + address.host + "]" : address.host) +
                                               ":" + std::to_string(port->port()) + "\n");
  return port;
}

}  // namespace penstock
