// Transport over HTTP with a cluster's credentials. Each has a connection pool of its own; several share one
// Authenticator.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/http.h"
#include "io/log.h"
#include "io/loop.h"
#include "kube/authenticator.h"
#include "kube/connect.h"
#include "kube/transport.h"

namespace careen::io {
class RealLoop;
}

namespace careen::kube {

class HttpTransport final : public Transport {
 public:
  using MakeClient = std::function<std::unique_ptr<io::HttpClient>(io::HttpClientOptions)>;

  // Of the options, TLS and proxy come from the cluster.
  HttpTransport(io::Loop& loop, std::shared_ptr<Authenticator> authenticator, MakeClient make_client,
                io::HttpClientOptions options = {});

  io::Task<io::Result<Response>> send(Request request) override;
  io::Task<io::Result<StreamResponse>> open(Request request) override;
  std::string_view host() const override { return host_; }

  // Sent with every request from now on, besides the credentials.
  void set_headers(io::Headers headers) { headers_ = std::move(headers); }

 private:
  // Requests in flight keep the client they began with.
  std::shared_ptr<io::HttpClient> client_for(const Credentials& credentials);
  // An answer, and the client that must outlive it.
  template <class Answer>
  struct Answered {
    std::shared_ptr<io::HttpClient> client;
    Answer answer;
  };
  template <class Answer>
  using Send = io::Task<io::Result<Answer>> (io::HttpClient::*)(io::HttpRequest);
  // With credentials, and once more with newer ones if these are not accepted.
  template <class Answer>
  io::Task<io::Result<Answered<Answer>>> exchange(const Request& request, io::Steady deadline, Send<Answer> send);
  io::HttpRequest prepare(const Request& request, const Credentials& credentials, io::Duration left) const;

  io::Loop& loop_;
  std::shared_ptr<Authenticator> authenticator_;
  MakeClient make_client_;
  io::HttpClientOptions options_;
  std::string host_;
  io::Headers headers_;
  std::shared_ptr<const io::TlsOptions> tls_;
  std::shared_ptr<io::HttpClient> client_;
};

// As a real process uses them.
std::shared_ptr<Authenticator> make_authenticator(io::RealLoop& loop, io::Files& files, Access access,
                                                  io::Log log = {});
std::unique_ptr<HttpTransport> make_http_transport(io::RealLoop& loop, std::shared_ptr<Authenticator> authenticator,
                                                   io::HttpClientOptions options = {});
// The transports of one access share an Authenticator.
Connect over_http(io::RealLoop& loop, io::Files& files, io::Log log = {}, io::HttpClientOptions options = {});

}  // namespace careen::kube
