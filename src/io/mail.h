// Mail as a client, over SMTP. One connection carries one mail: EHLO, STARTTLS when the server offers it, AUTH PLAIN
// when asked to, one RCPT for each recipient, DATA, QUIT.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/http.h"
#include "io/result.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::io {

struct MailLogin {
  std::string identity;  // whom to act for; empty: the user
  std::string user;
  std::string password;
};

struct Mail {
  std::string server;  // host:port
  std::string from;    // bare addresses, here and in `to`
  std::vector<std::string> to;
  std::string subject;
  std::string text;
  // The password leaves only over TLS, or to a server on this machine. A server that does not offer AUTH PLAIN is an
  // error.
  std::optional<MailLogin> login;
  Duration connect_timeout = seconds{10};
  Duration timeout = seconds{30};  // of the whole, until the server has taken the mail
};

class MailClient {
 public:
  virtual ~MailClient() = default;
  // Success: the server has taken the mail for every recipient. The error names the server, what it was asked and what
  // it said, never the password. Its kind: `invalid` before anything is sent; `protocol` when the server refuses this
  // mail; `timeout` and `closed`, if they come after the text, leave open whether the server has taken it.
  virtual Task<Result<void>> send(Mail mail) = 0;
};

struct MailClientOptions {
  // Authorities for STARTTLS; empty: the system's, or those that SSL_CERT_FILE and SSL_CERT_DIR name.
  TlsOptions tls;
};

std::unique_ptr<MailClient> make_mail_client(RealLoop& loop, MailClientOptions options);

// What goes between DATA and its answer: the headers From, To and Subject, an empty line and the text, every line
// ended by CRLF, leading dots doubled, and the final dot.
std::string smtp_content(const Mail& mail);

}  // namespace careen::io
