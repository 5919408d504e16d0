#include "notify/mail_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "notify/test_support.h"

namespace careen::notify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

MailSettings settings() {
  return {true,
          "mail.example.org:25",
          "careen@example.org",
          {"a@example.org", "b@example.org"},
          "Maintenance",
          "id",
          "user",
          "hunter2"};
}

TEST(MailSenderTest, HandsEverythingToTheMailClient) {
  TestWorld world;
  ASSERT_TRUE(world.send(*make_mail_sender(settings()), {"", "text"}));
  ASSERT_EQ(world.mail.mails.size(), 1u);
  const io::Mail& mail = world.mail.mails[0];
  EXPECT_EQ(mail.server, "mail.example.org:25");
  EXPECT_EQ(mail.from, "careen@example.org");
  EXPECT_THAT(mail.to, ElementsAre("a@example.org", "b@example.org"));
  EXPECT_EQ(mail.subject, "Maintenance");
  EXPECT_EQ(mail.text, "text");
  ASSERT_TRUE(mail.login);
  EXPECT_EQ(mail.login->identity, "id");
  EXPECT_EQ(mail.login->user, "user");
  EXPECT_EQ(mail.login->password, "hunter2");
  EXPECT_EQ(make_mail_sender(settings())->endpoint(), "mail.example.org:25");
}

TEST(MailSenderTest, LogsInOnlyWhenToldTo) {
  TestWorld world;
  MailSettings open = settings();
  open.auth = false;
  ASSERT_TRUE(world.send(*make_mail_sender(open), {"", "text"}));
  EXPECT_FALSE(world.mail.mails[0].login);
}

TEST(MailSenderTest, TellsARefusedMailFromAServerThatIsDown) {
  TestWorld world;
  world.mail.answer = io::fail(io::ErrorKind::protocol, "550 no such user (password hunter2)");
  Sent sent = world.send(*make_mail_sender(settings()), {"", "text"});
  EXPECT_EQ(sent.error().blame, SendError::Blame::message);
  EXPECT_THAT(sent.error().text, HasSubstr("550 no such user"));
  EXPECT_THAT(sent.error().text, Not(HasSubstr("hunter2")));
  for (const auto kind : {io::ErrorKind::timeout, io::ErrorKind::connect, io::ErrorKind::closed, io::ErrorKind::tls}) {
    world.mail.answer = io::fail(kind, "down");
    sent = world.send(*make_mail_sender(settings()), {"", "text"});
    EXPECT_EQ(sent.error().blame, SendError::Blame::endpoint);
  }
}

}  // namespace
}  // namespace careen::notify
