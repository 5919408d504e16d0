// What all notification plugins share: a text from the template at the key `message`, and for some a title.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/reader.h"
#include "controllers/profiles/notify.h"

namespace careen::profiles {

// What becomes of a value where a template prints it; null: it stays as it is.
using PrintedValue = std::string (*)(std::string value);

// `type` is a literal. `title`: the key of the title's template; empty: there is none.
std::unique_ptr<Notify> make_message_notify(std::string_view type, config::ConfigReader& config,
                                            std::unique_ptr<notify::Sender> sender, std::string_view title = {},
                                            PrintedValue printed = nullptr);

}  // namespace careen::profiles
