// What tests of src/io share: running a task on a real loop, a folder that vanishes, a peer that misbehaves as told,
// and certificates made on the spot.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/real_loop.h"
#include "io/sync.h"

namespace careen::io {

template <class T>
Task<void> store_result(Task<T> task, std::optional<T>* out) {
  out->emplace(co_await std::move(task));
}

// Runs the task to its end and returns its value.
template <class T>
T run_task(RealLoop& loop, Task<T> task) {
  std::optional<T> out;
  Scope scope(loop);
  scope.spawn(store_result(std::move(task), &out));
  loop.run_until([&] { return out.has_value(); });
  return std::move(*out);
}

// For what happens outside of the loop: looks every few milliseconds.
inline void run_until_outside(RealLoop& loop, const std::function<bool()>& done) {
  Alarm look(loop, [] {});
  loop.run_until([&] {
    if (!look.pending()) look.set(loop.now() + milliseconds{2});
    return done();
  });
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "careen-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::trunc) << content;
}

// A TCP server on a thread of its own that does with each connection what the test says, one after the other. The
// descriptor is closed afterwards.
class RawPeer {
 public:
  explicit RawPeer(std::function<void(int fd, int index)> behave) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, behave = std::move(behave)] {
      for (;;) {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) return;
        current_ = fd;
        behave(fd, connections_++);
        current_ = -1;
        ::close(fd);
      }
    });
  }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;
  ~RawPeer() {
    ::shutdown(listener_, SHUT_RDWR);
    if (const int fd = current_; fd >= 0) ::shutdown(fd, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  int connections() const { return connections_; }
  std::string url(const std::string& path = "/") const { return "http://127.0.0.1:" + std::to_string(port_) + path; }
  std::string https_url() const { return "https://127.0.0.1:" + std::to_string(port_) + "/"; }

  // Reads a request's headers and, when it has one, its body; "" when the client closed.
  static std::string read_request(int fd) {
    std::string text;
    char buffer[4096];
    for (;;) {
      const size_t end = text.find("\r\n\r\n");
      if (end != std::string::npos) {
        const size_t at = text.find("Content-Length: ");
        const size_t body = at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
        if (text.size() >= end + 4 + body) return text;
      }
      const ssize_t length = ::recv(fd, buffer, sizeof buffer, 0);
      if (length <= 0) return "";
      text.append(buffer, static_cast<size_t>(length));
    }
  }
  static void write_all(int fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t length = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (length <= 0) return;
      text.remove_prefix(static_cast<size_t>(length));
    }
  }
  // Until the client closes.
  static void wait_for_end(int fd) {
    char buffer[4096];
    while (::recv(fd, buffer, sizeof buffer, 0) > 0) {
    }
  }

 private:
  int listener_;
  int port_ = 0;
  std::atomic<int> current_{-1};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

struct Certificate {
  std::string cert_pem;
  std::string key_pem;
};

// Makes certificates: an authority that signs itself, or what it signs. `names` is in OpenSSL's form:
// "DNS:localhost,IP:127.0.0.1".
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority")
      : key_(EVP_EC_gen("P-256"), EVP_PKEY_free), cert_(make(name, "", key_.get(), nullptr, true), X509_free) {}

  std::string ca_pem() const { return pem_of(cert_.get()); }
  Certificate issue(const std::string& common_name, const std::string& names) const {
    const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const Cert cert(make(common_name, names, key.get(), cert_.get(), false), X509_free);
    return {pem_of(cert.get()), pem_of(key.get())};
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
  using Cert = std::unique_ptr<X509, decltype(&X509_free)>;

  X509* make(const std::string& common_name, const std::string& names, EVP_PKEY* key, X509* issuer, bool is_ca) const {
    X509* cert = X509_new();
    X509_set_version(cert, 2);
    static std::atomic<long> serial{1};
    ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME* name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(common_name.c_str()),
                               -1, -1, 0);
    X509_set_issuer_name(cert, issuer == nullptr ? name : X509_get_subject_name(issuer));
    add(cert, issuer, NID_basic_constraints, is_ca ? "critical,CA:TRUE" : "CA:FALSE");
    add(cert, issuer, NID_subject_key_identifier, "hash");
    if (!names.empty()) add(cert, issuer, NID_subject_alt_name, names);
    X509_sign(cert, key_.get(), EVP_sha256());
    return cert;
  }
  static void add(X509* cert, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer == nullptr ? cert : issuer, cert, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    if (extension == nullptr) std::abort();
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
  }
  static std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long length = BIO_get_mem_data(bio, &data);
    std::string out(data, static_cast<size_t>(length));
    BIO_free(bio);
    return out;
  }
  static std::string pem_of(X509* cert) {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, cert);
    return text_of(bio);
  }
  static std::string pem_of(EVP_PKEY* key) {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
    return text_of(bio);
  }

  Key key_;
  Cert cert_;
};

}  // namespace careen::io
