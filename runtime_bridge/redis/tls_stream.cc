// OpenSSL between two buffers of memory: what it wants sent and what it wants to read goes through
// the stream below, so that deadlines are kept there and no socket is OpenSSL's.
#include <array>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/values/error.h"
#include "runtime_bridge/redis/byte_stream.h"

namespace penstock {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

std::string last_error() {
  const unsigned long code = ERR_get_error();
  if (code == 0) return "no reason given";
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : text.data();
}

[[noreturn]] void refuse(ErrorKind kind, const std::string& what, const std::string& help) {
  throw Error(kind, what + "\nhelp: " + help);
}

bool is_ip_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::unique_ptr<SSL_CTX, Free> context_of(const PlanStoreAddress& address) {
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
  if (!context) throw Error(ErrorKind::kInternal, "OpenSSL: " + last_error());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Of a key with a password nobody is asked for it: there may be no terminal, and a deadline.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (address.authorities.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_locations(context.get(), address.authorities.c_str(), nullptr) !=
             1) {
    refuse(ErrorKind::kBadInput,
           address.authorities + ": is no file of certificates: " + last_error(),
           "name the PEM file of whoever signed the server's certificate with --store-ca");
  }
  if (!address.certificate.empty() &&
      SSL_CTX_use_certificate_chain_file(context.get(), address.certificate.c_str()) != 1) {
    refuse(ErrorKind::kBadInput, address.certificate + ": is no certificate: " + last_error(),
           "a PEM file with the certificate that the server knows this side by");
  }
  if (!address.key.empty() &&
      (SSL_CTX_use_PrivateKey_file(context.get(), address.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
       SSL_CTX_check_private_key(context.get()) != 1)) {
    refuse(ErrorKind::kBadInput,
           address.key + ": is not the key of " + address.certificate + ": " + last_error(),
           "a PEM file with the key that belongs to --store-certificate");
  }
  return context;
}

constexpr const char* kWhatToCheck =
    "does the server speak TLS on this port (else redis://)? Does it want a certificate of this "
    "side "
    "(--store-certificate, --store-key)?";

class TlsStream : public ByteStream {
 public:
  TlsStream(std::unique_ptr<ByteStream> below, const PlanStoreAddress& address, SteadyTime deadline)
      : below_(std::move(below)), name_(words_of(address)), context_(context_of(address)) {
    ssl_.reset(SSL_new(context_.get()));
    if (!ssl_) throw Error(ErrorKind::kInternal, "OpenSSL: " + last_error());
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), in_, out_);  // its own from here on
    if (is_ip_address(address.host)) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), address.host.c_str());
    } else {
      SSL_set_tlsext_host_name(ssl_.get(), address.host.c_str());
      SSL_set1_host(ssl_.get(), address.host.c_str());
    }
    run([this] { return SSL_connect(ssl_.get()); }, deadline);
  }

  void send(std::string_view bytes, SteadyTime deadline) override {
    if (bytes.empty()) return;
    run([&] { return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())); },
        deadline);
  }

  std::string receive(SteadyTime deadline) override {
    std::string bytes(std::size_t{1} << 16, '\0');
    const int got =
        run([&] { return SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())); },
            deadline);
    bytes.resize(static_cast<std::size_t>(got));
    was_answered_ = true;
    return bytes;
  }

 private:
  // With TLS 1.3 a server that refuses this side's certificate says so after the handshake, and
  // what it says is lost where it then closes a connection on which a command has arrived.
  template <class Operation>
  int run(const Operation& operation, SteadyTime deadline) {
    try {
      return run_below(operation, deadline);
    } catch (const StoreTrouble& trouble) {
      if (was_answered_) throw;
      throw StoreTrouble(std::string(trouble.what()) + " before the first answer; " + kWhatToCheck);
    }
  }

  template <class Operation>
  int run_below(const Operation& operation, SteadyTime deadline) {
    for (;;) {
      ERR_clear_error();
      const int result = operation();
      const int error = SSL_get_error(ssl_.get(), result);
      const std::string why = error == SSL_ERROR_SSL ? last_error() : "";
      push(deadline);
      if (result > 0) return result;
      if (error == SSL_ERROR_ZERO_RETURN) throw StoreTrouble("the connection was closed");
      if (error != SSL_ERROR_WANT_READ) fail(why);
      const std::string bytes = below_->receive(deadline);
      BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
    }
  }

  void push(SteadyTime deadline) {
    std::string bytes(BIO_ctrl_pending(out_), '\0');
    if (bytes.empty()) return;
    BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
    below_->send(bytes, deadline);
  }

  [[noreturn]] void fail(const std::string& why) const {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified != X509_V_OK) {
      refuse(
          ErrorKind::kMissingResource,
          name_ + ": its certificate is not accepted: " + X509_verify_cert_error_string(verified),
          "name the PEM file of whoever signed it with --store-ca, and the server as its "
          "certificate names it");
    }
    refuse(ErrorKind::kMissingResource, name_ + ": TLS: " + (why.empty() ? "failed" : why),
           kWhatToCheck);
  }

  std::unique_ptr<ByteStream> below_;
  std::string name_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  BIO *in_ = nullptr, *out_ = nullptr;
  bool was_answered_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> connect_tls(std::unique_ptr<ByteStream> below,
                                        const PlanStoreAddress& address, SteadyTime deadline) {
  return std::make_unique<TlsStream>(std::move(below), address, deadline);
}

}  // namespace penstock
