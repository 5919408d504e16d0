#include "controllers/profiles/plugins/notify_message.h"
#include "controllers/profiles/plugins/plugins.h"
#include "notify/mail_sender.h"

namespace careen::profiles {

namespace {
std::unique_ptr<Notify> make_mail_notify(config::ConfigReader& config) {
  notify::MailSettings settings;
  settings.auth = config.boolean("auth");
  settings.address = config.string("address", config::Required::yes);
  settings.from = config.string("from", config::Required::yes);
  settings.to = config.strings("to", config::Required::yes);
  settings.subject = config.string("subject", config::Required::yes);
  settings.identity = config.string("identity", config::Required::no);
  settings.user = config.string("user", config::Required::no);
  settings.password = config.string("password", config::Required::no);
  return make_message_notify("mail", config, notify::make_mail_sender(std::move(settings)));
}
}  // namespace

Plugin<Notify> mail_notify() {
  return {
      make_mail_notify,
      {"mail",
       "Sends a mail over SMTP, with STARTTLS if the server offers it",
       {
           {.name = "address", .text = "The server, host:port", .required = true},
           {.name = "from", .text = "Address of the sender", .required = true},
           {.name = "to", .type = config::KeyType::texts, .text = "Addresses of the recipients", .required = true},
           {.name = "subject", .text = "Subject line", .required = true},
           {.name = "message", .type = config::KeyType::message, .text = "Go template of the text", .required = true},
           {.name = "auth",
            .type = config::KeyType::boolean,
            .text = "Log in with AUTH PLAIN; the password leaves over TLS only, except to this machine",
            .otherwise = "false"},
           {.name = "identity", .text = "Whom to act for, if not the user"},
           {.name = "user", .text = "User to log in as"},
           {.name = "password", .text = "The user's password", .secret = true},
       },
       R"yaml(- name: maintenance_mail
  type: mail
  schedule:
    type: periodic
    config:
      interval: 24h
  config:
    auth: true
    address: smtp.example.com:587
    from: careen@example.com
    to: [operations@example.com]
    subject: Maintenance
    user: careen
    password: ${SMTP_PASSWORD:unset}
    message: "{{ .Node.Name }} is now {{ .State }} ({{ .Profile }})"
)yaml"}};
}

}  // namespace careen::profiles
