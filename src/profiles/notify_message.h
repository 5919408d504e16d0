// What all notification plugins share: a text from the template at the key `message`, and for some a title.
#pragma once

#include <memory>
#include <string_view>

#include "profiles/config_reader.h"
#include "profiles/notify.h"

namespace careen::profiles {

// `type` is a literal. `title`: the key of the title's template; empty: there is none.
std::unique_ptr<Notify> make_message_notify(std::string_view type, ConfigReader& config,
                                            std::unique_ptr<notify::Sender> sender, std::string_view title = {});

}  // namespace careen::profiles
