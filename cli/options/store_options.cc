#include "cli/options/store_options.h"

#include "cli/words/parse.h"
#include "core/values/json_reader.h"
#include "runtime_bridge/plan_job.h"

namespace penstock {
namespace {

constexpr const char* kJob = "--job";
constexpr const char* kPasswordFile = "--store-password-file";
constexpr const char* kAuthorities = "--store-ca";
constexpr const char* kCertificate = "--store-certificate";
constexpr const char* kKey = "--store-key";
constexpr const char* kPassword = "PENSTOCK_STORE_PASSWORD";

}  // namespace

void StoreOptions::declare(Options& options, const std::string& help) {
  options.option(name_, "redis://HOST:PORT/DB", help, address_);
  options.option(kJob, "NAME", "the job's name in the store, the same for ranks and planner", job_);
  options.option(kPasswordFile, "FILE",
                 "the file that holds the store's password; or it is in the environment as "
                 "PENSTOCK_STORE_PASSWORD",
                 password_file_);
  options.option(kAuthorities, "FILE",
                 "with rediss://: certificates of whoever may have signed the store's; default: "
                 "whom the machine trusts",
                 authorities_);
  options.option(kCertificate, "FILE", "the certificate that this side shows to the store",
                 certificate_);
  options.option(kKey, "FILE", "the private key of that certificate", key_);
}

std::vector<std::string> StoreOptions::names_of_others() {
  return {kJob, kPasswordFile, kAuthorities, kCertificate, kKey};
}

PlanStoreAddress StoreOptions::address(const Environment& environment) const {
  PlanStoreAddress address =
      read_store_address(name_, required(address_, name_, name_ + " redis://10.0.0.1:6379/0"));
  if (password_file_) {
    address.password = read_file(*password_file_);
    while (!address.password.empty() &&
           (address.password.back() == '\n' || address.password.back() == '\r')) {
      address.password.pop_back();
    }
    if (address.password.empty()) bad_option(kPasswordFile, "holds no password", "write one there");
  } else if (const auto found = environment.find(kPassword); found != environment.end()) {
    address.password = found->second;
  }
  if (!address.user.empty() && address.password.empty()) {
    bad_option(name_, "the user '" + address.user + "' has no password",
               "give it in a file (--store-password-file), or in the environment as "
               "PENSTOCK_STORE_PASSWORD");
  }
  address.authorities = authorities_.value_or("");
  address.certificate = certificate_.value_or("");
  address.key = key_.value_or("");
  if (!address.tls && (authorities_ || certificate_ || key_)) {
    bad_option(authorities_   ? kAuthorities
               : certificate_ ? kCertificate
                              : kKey,
               "is for a store with TLS", "write rediss://, or leave it out");
  }
  if (certificate_.has_value() != key_.has_value()) {
    bad_option(certificate_ ? kKey : kCertificate, "missing",
               "a certificate and its key are given together");
  }
  return address;
}

const std::string& StoreOptions::job() const {
  const std::string& name = required(job_, kJob, "--job gpt-7");
  require_job_name(kJob, name);
  return name;
}

}  // namespace penstock
