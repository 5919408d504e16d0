#include "controllers/profiles/plugins/notify_message.h"

#include "controllers/profiles/message_template.h"
#include "notify/sender.h"

namespace careen::profiles {

namespace {

using OptionalTemplate = std::optional<templates::Template>;

class MessageNotify final : public Notify {
 public:
  MessageNotify(std::string_view type, std::shared_ptr<const notify::Sender> sender, OptionalTemplate title,
                templates::Template message, PrintedValue printed)
      : type_(type),
        sender_(std::move(sender)),
        title_(std::move(title)),
        message_(std::move(message)),
        printed_(printed) {
    fields_ = message_.fields();
    if (!title_) return;
    const templates::NodeFields& more = title_->fields();
    fields_.whole |= more.whole;
    fields_.sections.insert(fields_.sections.end(), more.sections.begin(), more.sections.end());
  }

  std::string_view type() const override { return type_; }
  const templates::NodeFields& fields() const override { return fields_; }
  std::shared_ptr<const notify::Sender> sender() const override { return sender_; }

  io::Result<notify::Message> render(const templates::TemplateData& about) const override {
    templates::TemplateData data = about;
    data.printed = printed_;
    notify::Message message;
    if (title_) {
      auto title = title_->render(data);
      if (!title) return tl::make_unexpected(title.error());
      message.title = std::move(*title);
    }
    auto text = message_.render(data);
    if (!text) return tl::make_unexpected(text.error());
    message.text = std::move(*text);
    return message;
  }

 private:
  std::string_view type_;
  std::shared_ptr<const notify::Sender> sender_;
  OptionalTemplate title_;
  templates::Template message_;
  PrintedValue printed_;
  templates::NodeFields fields_;
};

}  // namespace

std::unique_ptr<Notify> make_message_notify(std::string_view type, config::ConfigReader& config,
                                            std::unique_ptr<notify::Sender> sender, std::string_view title,
                                            PrintedValue printed) {
  OptionalTemplate title_template;
  if (!title.empty()) title_template = read_template(config, title);
  OptionalTemplate message = read_template(config, "message");
  if (!message || (!title.empty() && !title_template)) return nullptr;
  return std::make_unique<MessageNotify>(type, std::move(sender), std::move(title_template), std::move(*message),
                                         printed);
}

}  // namespace careen::profiles
