#include "notify/mail_sender.h"

#include "io/mail.h"
#include "io/redact.h"

namespace careen::notify {

namespace {

SendError::Blame blame_of(io::ErrorKind kind) {
  const bool refused = kind == io::ErrorKind::protocol || kind == io::ErrorKind::invalid;
  return refused ? SendError::Blame::message : SendError::Blame::endpoint;
}

class MailSender final : public Sender {
 public:
  explicit MailSender(MailSettings settings) : settings_(std::move(settings)) {}

  std::string_view endpoint() const override { return settings_.address; }

  io::Task<Sent> send(Message message, Outside& outside) const override {
    io::Mail mail;
    mail.server = settings_.address;
    mail.from = settings_.from;
    mail.to = settings_.to;
    mail.subject = settings_.subject;
    mail.text = std::move(message.text);
    if (settings_.auth) mail.login = io::MailLogin{settings_.identity, settings_.user, settings_.password};
    const auto sent = co_await outside.mail.send(std::move(mail));
    if (sent) co_return Sent{};
    const io::Error& error = sent.error();
    co_return tl::make_unexpected(
        SendError{blame_of(error.kind), io::redact(error.message, {settings_.password}), std::nullopt});
  }

 private:
  MailSettings settings_;
};

}  // namespace

std::unique_ptr<Sender> make_mail_sender(MailSettings settings) {
  return std::make_unique<MailSender>(std::move(settings));
}

}  // namespace careen::notify
