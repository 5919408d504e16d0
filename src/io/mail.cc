#include "io/mail.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <set>

#include "io/real_loop.h"
#include "io/redact.h"
#include "io/sync.h"
#include "io/tcp_stream.h"

// Why not libcurl, as for HTTP: its SMTP waits inside the call for the answers to the text and to QUIT, and when a
// transfer is cancelled. A slow mail server would stop the whole process for that long.

namespace careen::io {

namespace {

constexpr size_t kLongestReply = 64 << 10;
constexpr size_t kShownReply = 300;
// The mail has been taken by then; the rest is courtesy.
constexpr Duration kQuitLimit = seconds{2};

struct Server {
  std::string host;
  std::string port;
  bool on_this_machine() const { return host == "localhost" || host == "127.0.0.1" || host == "::1"; }
};

std::optional<Server> server_of(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == address.size()) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  const auto is_host = [](char c) { return static_cast<unsigned char>(c) > ' ' && c != '/' && c != '@'; };
  if (host.empty() || !std::all_of(host.begin(), host.end(), is_host)) return std::nullopt;
  return Server{std::string(host), std::string(address.substr(colon + 1))};
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// What would forge a header or a command of its own.
Result<void> check_address(std::string_view which, const std::string& address) {
  if (!address.empty() && !has_control(address) && address.find_first_of("<>") == std::string::npos) return {};
  return fail(
      ErrorKind::invalid,
      fmt::format("the mail's {} is no bare address (expected name@example.org, without <> and line ends)", which));
}

Result<void> check(const Mail& mail) {
  if (auto ok = check_address("sender", mail.from); !ok) return ok;
  if (mail.to.empty()) return fail(ErrorKind::invalid, "the mail has no recipient");
  for (const std::string& recipient : mail.to) {
    if (auto ok = check_address("recipient", recipient); !ok) return ok;
  }
  if (mail.subject.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    return fail(ErrorKind::invalid, "the mail's subject has more than one line");
  }
  return {};
}

std::string base64(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size()));
  out.resize(static_cast<size_t>(length));
  return out;
}

// The answer to AUTH PLAIN.
std::string plain_response(const MailLogin& login) {
  std::string text = login.identity;
  text += '\0';
  text += login.user;
  text += '\0';
  text += login.password;
  return base64(text);
}

// A reply of the server: its code, and its lines without it.
struct Reply {
  int code = 0;
  std::vector<std::string> lines;

  // For people: one line, of bounded length.
  std::string text() const {
    std::string out = std::to_string(code);
    for (const std::string& line : lines) out += " " + line;
    std::replace_if(out.begin(), out.end(), [](char c) { return has_control({&c, 1}); }, ' ');
    if (out.size() > kShownReply) out.replace(kShownReply, std::string::npos, " ...");
    return out;
  }
};

// One line of a reply: "250-first", "250 last".
struct ReplyLine {
  int code = 0;
  bool last = true;
  std::string text;

  static std::optional<ReplyLine> parse(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (line.size() < 3 || !std::all_of(line.begin(), line.begin() + 3, is_digit)) return std::nullopt;
    if (line.size() > 3 && line[3] != ' ' && line[3] != '-') return std::nullopt;
    return ReplyLine{(line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0'), line.size() == 3 || line[3] == ' ',
                     std::string(line.substr(std::min<size_t>(4, line.size())))};
  }
};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
  return out;
}

// What the server offers, from its answer to EHLO: the first words, and the mechanisms of AUTH.
struct Offers {
  std::set<std::string> words;
  std::set<std::string> mechanisms;

  explicit Offers(const Reply& reply = {}) {
    // The first line is a greeting.
    for (size_t i = 1; i < reply.lines.size(); ++i) read(upper(reply.lines[i]));
  }
  bool has(const std::string& word) const { return words.contains(word); }

 private:
  void read(std::string_view line) {
    std::vector<std::string> parts;
    while (!line.empty()) {
      // Old servers write AUTH=PLAIN.
      const size_t end = std::min(line.find_first_of(" ="), line.size());
      if (end > 0) parts.emplace_back(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    if (parts.empty()) return;
    words.insert(parts.front());
    if (parts.front() == "AUTH") mechanisms.insert(parts.begin() + 1, parts.end());
  }
};

// The wire. One operation at a time; what the stream does shares the connection, which so outlives a task that is
// cancelled meanwhile.
class MailConnection : public std::enable_shared_from_this<MailConnection> {
 public:
  explicit MailConnection(RealLoop& loop) : stream_(make_tcp_stream(loop)), happened_(loop) {}

  Task<std::error_code> connect(Server server) {
    stream_->connect(server.host, server.port, finished());
    co_await happened_.wait();
    co_return error_;
  }

  Task<std::error_code> start_tls(TlsContext context, std::string name) {
    stream_->start_tls(std::move(context), name, finished());
    co_await happened_.wait();
    encrypted_ = !error_;
    co_return error_;
  }

  Task<std::error_code> write(std::string text) {
    stream_->write(std::move(text), "", finished());
    co_await happened_.wait();
    co_return error_;
  }

  // Up to and with the line's end. A line that is too long is errc::message_size.
  Task<std::error_code> read_line(std::string& line) {
    for (;;) {
      const size_t end = std::string_view(incoming_).substr(0, kLongestReply).find('\n');
      if (end != std::string::npos) {
        line = incoming_.substr(0, end + 1);
        incoming_.erase(0, end + 1);
        co_return std::error_code{};
      }
      if (incoming_.size() >= kLongestReply) co_return std::make_error_code(std::errc::message_size);
      stream_->read([self = shared_from_this()](std::error_code error, std::string_view bytes) {
        self->incoming_ += bytes;
        self->finish(error);
      });
      co_await happened_.wait();
      if (error_) co_return error_;
    }
  }

  bool encrypted() const { return encrypted_; }
  // More has come than was read.
  bool has_unread() const { return !incoming_.empty(); }
  std::string certificate_trouble() const { return stream_->certificate_trouble(); }
  void close() { stream_->close(); }

 private:
  TcpStream::Done finished() {
    return [self = shared_from_this()](std::error_code error) { self->finish(error); };
  }
  void finish(std::error_code error) {
    error_ = error;
    happened_.notify();
  }

  std::shared_ptr<TcpStream> stream_;
  bool encrypted_ = false;
  std::string incoming_;
  std::error_code error_;
  Signal happened_;
};

// What the client's mails share. They hold it, so that the client may go before them.
struct MailShared {
  RealLoop& loop;
  const MailClientOptions options;
  TlsContext tls;  // made when first needed
};

// The conversation that carries one mail.
class Dialogue {
 public:
  Dialogue(std::shared_ptr<MailShared> shared, const Mail& mail, Server server)
      : shared_(std::move(shared)),
        mail_(mail),
        server_(std::move(server)),
        connection_(std::make_shared<MailConnection>(shared_->loop)) {
    if (mail.login) secrets_ = {mail.login->password, plain_response(*mail.login)};
  }
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;
  ~Dialogue() { connection_->close(); }

  Task<Result<void>> run() {
    using Step = Task<Result<void>> (Dialogue::*)();
    for (const Step step : {&Dialogue::connect, &Dialogue::greet, &Dialogue::encrypt, &Dialogue::log_in,
                            &Dialogue::address, &Dialogue::hand_over}) {
      if (auto ok = co_await (this->*step)(); !ok) co_return ok;
    }
    co_return Result<void>{};
  }
  Task<bool> quit() { co_return (co_await ask("QUIT", "QUIT")).has_value(); }

  Error timed_out() const { return trouble(ErrorKind::timeout, "no answer within " + format_duration(mail_.timeout)); }

 private:
  Task<Result<void>> connect();
  Task<Result<void>> greet();
  Task<Result<void>> say_hello();
  Task<Result<void>> encrypt();
  Task<Result<void>> log_in();
  Task<Result<void>> address();
  Task<Result<void>> hand_over();

  // Sends the command and returns the answer, whatever it is. `doing` is for messages.
  Task<Result<Reply>> ask(std::string command, std::string doing);
  // The same for a command that has to be answered so.
  Task<Result<void>> expect(std::string command, int code, std::string doing);
  Task<Result<Reply>> hear();

  Error trouble(ErrorKind kind, std::string_view why) const {
    return {kind, redact(fmt::format("mail server {}: {}: {}", mail_.server, doing_, why), secrets_)};
  }
  tl::unexpected<Error> failed(ErrorKind kind, std::string_view why) const {
    return tl::make_unexpected(trouble(kind, why));
  }
  tl::unexpected<Error> refused(const Reply& reply) const {
    // 421: the server as a whole is about to go.
    return failed(reply.code == 421 ? ErrorKind::closed : ErrorKind::protocol, "the server refused: " + reply.text());
  }
  tl::unexpected<Error> broken(const std::error_code& error) const {
    if (error == std::errc::message_size) return failed(ErrorKind::protocol, "the answer is too long");
    if (TcpStream::is_end(error)) return failed(ErrorKind::closed, "the server closed the connection");
    return failed(ErrorKind::closed, "the connection was lost: " + error.message());
  }

  std::shared_ptr<MailShared> shared_;
  const Mail& mail_;
  Server server_;
  std::shared_ptr<MailConnection> connection_;
  std::vector<std::string> secrets_;
  std::string doing_;
  Offers offers_;
};

Task<Result<Reply>> Dialogue::hear() {
  Reply reply;
  size_t length = 0;
  for (;;) {
    std::string line;
    if (const std::error_code error = co_await connection_->read_line(line)) co_return broken(error);
    length += line.size();
    auto part = ReplyLine::parse(line);
    if (!part || (reply.code != 0 && reply.code != part->code)) {
      co_return failed(ErrorKind::protocol, "the answer is no SMTP");
    }
    if (length > kLongestReply) co_return failed(ErrorKind::protocol, "the answer is too long");
    reply.code = part->code;
    reply.lines.push_back(std::move(part->text));
    if (part->last) co_return reply;
  }
}

Task<Result<Reply>> Dialogue::ask(std::string command, std::string doing) {
  doing_ = std::move(doing);
  command += "\r\n";
  if (const std::error_code error = co_await connection_->write(std::move(command))) co_return broken(error);
  co_return co_await hear();
}

Task<Result<void>> Dialogue::expect(std::string command, int code, std::string doing) {
  const auto reply = co_await ask(std::move(command), std::move(doing));
  if (!reply) co_return tl::make_unexpected(reply.error());
  if (reply->code != code) co_return refused(*reply);
  co_return Result<void>{};
}

Task<Result<void>> Dialogue::connect() {
  doing_ = "no connection";
  const Duration limit = std::min(mail_.connect_timeout, mail_.timeout);
  const auto error = co_await with_timeout(shared_->loop, limit, connection_->connect(server_));
  if (!error) co_return failed(ErrorKind::connect, "not connected within " + format_duration(limit));
  if (*error) co_return failed(ErrorKind::connect, error->message());
  co_return Result<void>{};
}

Task<Result<void>> Dialogue::greet() {
  doing_ = "greeting";
  const auto greeting = co_await hear();
  if (!greeting) co_return tl::make_unexpected(greeting.error());
  if (greeting->code != 220) co_return refused(*greeting);
  co_return co_await say_hello();
}

Task<Result<void>> Dialogue::say_hello() {
  auto reply = co_await ask("EHLO localhost", "EHLO");
  // Servers that know no extensions.
  if (reply && reply->code / 100 == 5 && !connection_->encrypted()) {
    offers_ = Offers{};
    co_return co_await expect("HELO localhost", 250, "HELO");
  }
  if (!reply) co_return tl::make_unexpected(reply.error());
  if (reply->code != 250) co_return refused(*reply);
  offers_ = Offers(*reply);
  co_return Result<void>{};
}

Task<Result<void>> Dialogue::encrypt() {
  if (!offers_.has("STARTTLS")) co_return Result<void>{};
  if (auto ok = co_await expect("STARTTLS", 220, "STARTTLS"); !ok) co_return ok;
  // Whatever came before encryption began could be anybody's.
  if (connection_->has_unread()) co_return failed(ErrorKind::tls, "the server went on without waiting for TLS");
  const TlsOptions& options = shared_->options.tls;
  if (!shared_->tls) {
    auto context = make_client_context(options);
    if (!context) co_return failed(ErrorKind::tls, context.error().message);
    shared_->tls = std::move(*context);
  }
  const std::error_code error =
      co_await connection_->start_tls(shared_->tls, options.server_name.empty() ? server_.host : options.server_name);
  if (const std::string why = connection_->certificate_trouble(); error && !why.empty()) {
    co_return failed(ErrorKind::tls, "the server's certificate is not accepted: " + why);
  }
  if (error) co_return failed(ErrorKind::tls, error.message());
  // What it offered before may have been changed on the way.
  co_return co_await say_hello();
}

Task<Result<void>> Dialogue::log_in() {
  if (!mail_.login) co_return Result<void>{};
  doing_ = "AUTH";
  if (!offers_.has("AUTH")) co_return failed(ErrorKind::protocol, "the server offers no AUTH, but auth is set");
  if (!offers_.mechanisms.contains("PLAIN")) {
    co_return failed(ErrorKind::protocol, "the server does not offer AUTH PLAIN, the only kind that is supported");
  }
  if (!connection_->encrypted() && !server_.on_this_machine()) {
    co_return failed(ErrorKind::protocol, "the server offers no STARTTLS, and the password is not sent without TLS");
  }
  co_return co_await expect("AUTH PLAIN " + plain_response(*mail_.login), 235,
                            fmt::format("AUTH of user {}", mail_.login->user));
}

Task<Result<void>> Dialogue::address() {
  std::string sender = fmt::format("MAIL FROM:<{}>", mail_.from);
  if (offers_.has("8BITMIME")) sender += " BODY=8BITMIME";
  if (offers_.has("SMTPUTF8")) sender += " SMTPUTF8";
  if (auto ok = co_await expect(std::move(sender), 250, "sender " + mail_.from); !ok) co_return ok;
  for (const std::string& recipient : mail_.to) {
    const auto reply = co_await ask(fmt::format("RCPT TO:<{}>", recipient), "recipient " + recipient);
    if (!reply) co_return tl::make_unexpected(reply.error());
    // 251, 252: it will be passed on, or tried.
    if (reply->code / 10 != 25) co_return refused(*reply);
  }
  co_return Result<void>{};
}

Task<Result<void>> Dialogue::hand_over() {
  if (auto ok = co_await expect("DATA", 354, "DATA"); !ok) co_return ok;
  doing_ = "text of the mail";
  if (const std::error_code error = co_await connection_->write(smtp_content(mail_))) co_return broken(error);
  const auto reply = co_await hear();
  if (!reply) co_return tl::make_unexpected(reply.error());
  if (reply->code != 250) co_return refused(*reply);
  co_return Result<void>{};
}

Task<Result<void>> send_mail(std::shared_ptr<MailShared> shared, Mail mail) {
  if (auto ok = check(mail); !ok) co_return ok;
  auto server = server_of(mail.server);
  if (!server) {
    co_return fail(ErrorKind::invalid, fmt::format("the mail server's address \"{}\" is not host:port", mail.server));
  }
  Dialogue dialogue(shared, mail, std::move(*server));
  auto done = co_await with_timeout(shared->loop, mail.timeout, dialogue.run());
  if (!done) co_return tl::make_unexpected(dialogue.timed_out());
  // Whether it says good-bye makes no difference any more.
  if (*done) co_await with_timeout(shared->loop, kQuitLimit, dialogue.quit());
  co_return std::move(*done);
}

class SmtpClient final : public MailClient {
 public:
  SmtpClient(RealLoop& loop, MailClientOptions options)
      : shared_(std::make_shared<MailShared>(MailShared{loop, std::move(options), nullptr})) {}
  Task<Result<void>> send(Mail mail) override { return send_mail(shared_, std::move(mail)); }

 private:
  std::shared_ptr<MailShared> shared_;
};

}  // namespace

std::string smtp_content(const Mail& mail) {
  std::string message =
      fmt::format("From: {}\nTo: {}\nSubject: {}\n\n{}", mail.from, fmt::join(mail.to, ","), mail.subject, mail.text);
  std::string out;
  bool line_begins = true;
  for (size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    if (c == '\r' && i + 1 < message.size() && message[i + 1] == '\n') continue;
    if (c == '\r' || c == '\n') {
      out += "\r\n";
      line_begins = true;
      continue;
    }
    if (c == '.' && line_begins) out += '.';
    out += c;
    line_begins = false;
  }
  if (!line_begins) out += "\r\n";
  return out + ".\r\n";
}

std::unique_ptr<MailClient> make_mail_client(RealLoop& loop, MailClientOptions options) {
  return std::make_unique<SmtpClient>(loop, std::move(options));
}

}  // namespace careen::io
