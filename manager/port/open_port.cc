#include "manager/port/open_port.h"

#include <utility>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "manager/plan_page.h"
#include "manager/port/http_client.h"
#include "manager/run_folder.h"
#include "report/plan_table.h"

namespace penstock {
namespace {

constexpr const char* kOption = "address of the job file";

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "::1"; }

const Plan* plan_of(const PlanBook& book, int page) {
  for (std::size_t p = 0; p < book.pages.size(); ++p) {
    if (page_number(book, p) == page && book.pages[p].plan) return &*book.pages[p].plan;
  }
  return nullptr;
}

HttpAddress address_of(const JobFile& job) {
  HttpAddress address = parse_http_address(kOption, job.address, 0);
  if (is_loopback(address.host) || !job.token_file.empty()) return address;
  throw_bad_input(
      std::string(kOption) + ": '" + job.address +
      "' can be reached from other machines\nhelp: name the file of the key that they need as "
      "\"token_file\" too, or use 127.0.0.1:0");
}

PortSubject subject_of(const JobFile& job, const PlanBook& book) {
  PortSubject subject{job.name, job.steps, !job.machine_file.empty(), {}, {}};
  subject.plan_words = [book, folder = job.run_folder](int page) {
    const Plan* plan = plan_of(book, page);
    if (plan != nullptr) {
      return layout_line(*plan) + (book.counts_types() ? ", on " + device_words(*plan) : "");
    }
    return page >= kFirstFoundPage ? "not of the book: " + plan_path(folder, page) : std::string();
  };
  // Of all plans of a job the same.
  std::int64_t tokens = 0;
  for (const BookPage& page : book.pages) {
    if (page.plan) tokens = std::int64_t{page.plan->global_batch} * page.plan->sequence_length;
  }
  subject.tokens_per_step = [tokens](int) { return tokens; };
  return subject;
}

}  // namespace

std::string token_path(const JobFile& job) {
  return job.token_file.empty() ? job.run_folder + "/token" : job.token_file;
}

void check_address(const JobFile& job) {
  if (!job.address.empty()) static_cast<void>(address_of(job));
}

std::unique_ptr<PortEvents> open_port(const JobFile& job, const PlanBook& book,
                                      std::function<UtcTime()> clock) {
  if (job.address.empty()) return nullptr;
  const HttpAddress address = address_of(job);
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
