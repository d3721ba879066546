// `ensure`: an assertion that throws, in every build. A violation is our defect, never the user's;
// Python shows it as InternalError.
#pragma once

#include <stdexcept>

namespace yantra {

struct InternalFault : std::logic_error {
    using std::logic_error::logic_error;
};

[[noreturn, gnu::noinline, gnu::cold]] inline void fail(const char* what) { throw InternalFault(what); }

inline void ensure(bool condition, const char* what) {
    if (!condition) [[unlikely]] {
        fail(what);
    }
}

}  // namespace yantra
