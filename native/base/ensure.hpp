// `ensure`: an assertion that throws and stays on in every build.
//
// Trade-off: one predictable branch per check. A violated `ensure` is our defect, never the user's;
// the Python side shows it as InternalError.
#pragma once

#include <stdexcept>

namespace yantra {

struct InternalFault : std::logic_error {
    using std::logic_error::logic_error;
};

inline void ensure(bool condition, const char* what) {
    if (!condition) [[unlikely]] {
        throw InternalFault(what);
    }
}

}  // namespace yantra
