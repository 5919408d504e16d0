#include "io/mail.h"

#include <gtest/gtest.h>

namespace careen::io {
namespace {

constexpr const char* kHead = "From: a@x\r\nTo: b@x,c@x\r\nSubject: S\r\n\r\n";

// The conversation itself is tested against a real server in test/notify.
TEST(SmtpContentTest, LinesEndProperlyAndNoneEndsTheTextEarly) {
  const auto content = [](std::string text) {
    Mail mail;
    mail.from = "a@x";
    mail.to = {"b@x", "c@x"};
    mail.subject = "S";
    mail.text = std::move(text);
    const std::string whole = smtp_content(mail);
    EXPECT_TRUE(whole.starts_with(kHead));
    return whole.substr(std::string_view(kHead).size());
  };
  EXPECT_EQ(content(""), ".\r\n");
  EXPECT_EQ(content("a"), "a\r\n.\r\n");
  EXPECT_EQ(content("a\n"), "a\r\n.\r\n");
  EXPECT_EQ(content("a\r\n"), "a\r\n.\r\n");
  EXPECT_EQ(content("a\r\r\nb\r"), "a\r\n\r\nb\r\n.\r\n");
  EXPECT_EQ(content("."), "..\r\n.\r\n");
  EXPECT_EQ(content("a\r\n.\r\nQUIT\r.x a.b"), "a\r\n..\r\nQUIT\r\n..x a.b\r\n.\r\n");
}

}  // namespace
}  // namespace careen::io
