// The list alone: a program that has more controllers, such as one for tests, is linked with a list of its own.
#include "replica/controllers.h"

#include "controllers/machines/hosted.h"
#include "controllers/nodemaintenance/hosted.h"
#include "controllers/profiles/hosted.h"
#include "controllers/requests/hosted.h"

namespace careen::replica {

const std::vector<const controllers::Kind*>& controller_kinds() {
  static const std::vector<const controllers::Kind*> all = {
      &profiles::kind(),
      &nodemaintenance::kind(),
      &requests::kind(),
      &machines::kind(),
  };
  return all;
}

}  // namespace careen::replica
