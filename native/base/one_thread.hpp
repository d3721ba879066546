// OneThread: thrown where a run on several threads cannot go on as one thread would; it then begins
// again on one.
#pragma once

#include <string>

namespace yantra {

struct OneThread {
    std::string why;   // the end of a sentence
};

}  // namespace yantra
