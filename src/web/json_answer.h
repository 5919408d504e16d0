// Answers in JSON as all of careen's APIs give them: read at once, never kept, never taken for anything else.
#pragma once

#include <string>
#include <string_view>

#include "io/http_server.h"

namespace careen::web {

// 200, with that document as its body.
io::ServerResponse json_answer(std::string document = {});
// {"error":"…"}
io::ServerResponse json_error(int status, std::string_view text);

}  // namespace careen::web
