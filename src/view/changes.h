// Changes: a listener gets the Fleet first and then what changes, at most four times a second, as server-sent events.
// Only rows that may have changed are rebuilt, a bounded number at a time: those of nodes that changed, and in turn all
// the rest when something they may depend on has changed. Without listeners nothing is done.
#pragma once

#include <cstddef>
#include <memory>

namespace careen::io {
class BodyStream;
class Loop;
}  // namespace careen::io

namespace careen::view {

struct Shown;

class Changes {
 public:
  // `loop` is that of the listeners, and may be another than the replica's, on the same thread. Both must outlive it.
  Changes(io::Loop& loop, Shown shown);
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  // The events as text. One that is not read for too long ends with an error.
  std::unique_ptr<io::BodyStream> listen();
  size_t listeners() const;
  // Rows made since it began, for tests and figures.
  size_t rows_made() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;  // streams that outlive us find it empty
};

}  // namespace careen::view
