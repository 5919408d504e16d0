// One visitor of several lambdas, for std::visit.
#pragma once

namespace careen::io {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

}  // namespace careen::io
