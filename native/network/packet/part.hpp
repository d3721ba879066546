// Part: the devices, or links, of which a simulator handles the events, if it does not handle all.
#pragma once

#include <memory>
#include <vector>

#include "base/types.hpp"

namespace yantra::packet {

class Routes;

struct Part {
    u32 number = 0;
    u32 parts = 1;
    std::vector<u8> part_of = {};                // by device
    std::shared_ptr<Routes> routes = nullptr;    // those of the first part, all known
    u32 flows = 0;                               // that it sends, at most
    std::vector<u32> links = {};                 // that its packets cross; empty: any
};

}  // namespace yantra::packet
