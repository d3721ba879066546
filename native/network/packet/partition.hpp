// Partition: which devices go together in a thread (network/packet/windows.hpp), by predicted work.
// Groups that short links join are never cut, so that windows are long; hosts go with the switch that
// they talk to most; parts grow from the largest group on, along what most crosses, as region growing
// does for graphs. Trade-off: work is predicted for the whole run, not for each moment.
#pragma once

#include <string>
#include <vector>

#include "base/types.hpp"
#include "network/packet/settings.hpp"

namespace yantra::packet {

// What is asked for: 0 threads for as many as gain something.
struct Threads {
    u32 wanted = 1;
    u32 cores = 1;
    std::vector<u8> part_of = {};   // by device, instead; all numbers from 0 on
};

struct Demand {
    std::vector<u64> crossings;   // by link: packets, ACKs among them
    std::vector<u64> least;       // by link: ticks that any packet takes
    std::vector<std::pair<u32, u32>> together;   // devices, without a delay between them
    double span = 0.0;            // ticks of the run, at least
};

struct Partition {
    std::vector<u8> part_of;      // by device
    u32 parts = 1;
    u64 window = 0;               // ticks that whatever leaves a part takes, at least
    double gain = 1.0;            // of the time of one thread, as predicted
    std::string why;              // so many parts
};

inline constexpr const char* queues_in_one_order = "queues and rates over time are noted in one order";

// Empty, or why devices know of each other without a delay; the beginning of a sentence.
std::string why_one_thread(const Settings& settings);

Partition divide(const FabricSpec& fabric, const Demand& demand, const Threads& threads);

}  // namespace yantra::packet
