// A notification plugin: a configured way to tell people about a node. When it is due is the schedule's matter; what
// it says is rendered when it is due; how it is sent is the sender's.
#pragma once

#include <memory>
#include <string_view>

#include "io/result.h"

namespace careen::notify {
class Sender;
struct Message;
}  // namespace careen::notify

namespace careen::templates {
struct NodeFields;
struct TemplateData;
}  // namespace careen::templates

namespace careen::profiles {

class Notify {
 public:
  Notify() = default;
  Notify(const Notify&) = delete;
  Notify& operator=(const Notify&) = delete;
  virtual ~Notify() = default;

  // The plugin's name in the configuration file, such as slack.
  virtual std::string_view type() const = 0;
  virtual io::Result<notify::Message> render(const templates::TemplateData& data) const = 0;
  // Which fields of the node the texts name.
  virtual const templates::NodeFields& fields() const = 0;
  // Never null. It outlives the configuration as long as somebody holds it.
  virtual std::shared_ptr<const notify::Sender> sender() const = 0;
};

}  // namespace careen::profiles
