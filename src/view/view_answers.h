// What a replica has to show, for the view API.
#pragma once

#include <functional>
#include <string>

#include "io/task.h"
#include "web/view_api.h"

namespace careen::view {

class Changes;
struct Shown;

// `changes` and what is shown must outlive it. `plan` may be empty.
web::ViewAnswers view_answers(Shown shown, Changes& changes, std::function<io::Task<std::string>(int hours)> plan = {});

}  // namespace careen::view
