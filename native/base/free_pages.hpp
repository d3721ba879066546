// Free pages go back to the system, where much was freed and much will be asked for.
#pragma once

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace yantra {

inline void give_back_free_pages() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace yantra
