// The list of controllers (replica/controllers.h) with one line more.
#include "replica/controllers.h"

#include "controllers/machines/hosted.h"
#include "controllers/nodemaintenance/hosted.h"
#include "controllers/profiles/hosted.h"
#include "controllers/requests/hosted.h"
#include "kind.h"

namespace careen::replica {

const std::vector<const controllers::Kind*>& controller_kinds() {
  static const std::vector<const controllers::Kind*> all = {
      &profiles::kind(), &nodemaintenance::kind(), &requests::kind(), &machines::kind(), &lantern::kind(),
  };
  return all;
}

}  // namespace careen::replica
